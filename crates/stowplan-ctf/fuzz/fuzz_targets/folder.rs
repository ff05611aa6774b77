//! A folder of traces: each file is a byte for its place, two for its length, its bytes.
//! Broken streams go on with their next packets, on two threads.
#![no_main]

use std::fs;
use std::num::NonZeroUsize;

use libfuzzer_sys::fuzz_target;
use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::Event;
use stowplan_ctf::writer::{TraceInfo, metadata_text};

fn info() -> TraceInfo {
    TraceInfo {
        uuid: *b"trace-identifier",
        clock_uuid: *b"clock-identifier",
        clock_offset_ns: 1,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    }
}

fuzz_target!(|data: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let mut rest = data;
    for number in 0..8 {
        let Some((&[place, low, high], after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_le_bytes([low, high])).min(after.len());
        let (content, after) = after.split_at(length);
        rest = after;
        let trace = folder
            .path()
            .join(["a", "a/b", "c"][usize::from(place % 3)]);
        fs::create_dir_all(&trace).expect("a folder");
        // A trace without metadata of its own gets one that can be read.
        let metadata = trace.join("metadata");
        if place & 0x40 != 0 {
            fs::write(metadata, content).expect("a file");
            continue;
        }
        if !metadata.exists() {
            fs::write(metadata, metadata_text(&info())).expect("a file");
        }
        fs::write(trace.join(format!("stream_{number}")), content).expect("a file");
    }
    let mut damage = Vec::new();
    let Ok(traces) = TraceFolder::open_readable(folder.path(), &mut damage) else {
        return;
    };
    let Ok(events) = traces.readable_events(&mut damage) else {
        return;
    };
    let mut last = i64::MIN;
    let two = NonZeroUsize::new(2).expect("two");
    events.with_threads(two, |_: &Event<'_>| (), |events| {
        loop {
            match events.next_item() {
                Ok(None) => return,
                Ok(Some(stowplan_ctf::reader::Item::Event(event))) => {
                    assert!(event.timestamp_ns >= last);
                    last = event.timestamp_ns;
                }
                Ok(Some(_)) => {}
                Err(_) => drop(events.resumes_ns()),
            }
        }
    });
});
