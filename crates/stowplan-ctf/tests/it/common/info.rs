//! What traces that are written here say of themselves.

use stowplan_ctf::writer::TraceInfo;

pub fn info() -> TraceInfo {
    TraceInfo {
        uuid: *b"trace-identifier",
        clock_uuid: *b"clock-identifier",
        clock_offset_ns: 1_795_166_614_731_197_351,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    }
}
