//! Events of the kernel's scheduler in a folder beside those of ROS 2, as `lttng` writes them with a
//! kernel session: what a callback got of the CPUs.
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use stowplan_ctf::events::ros2::{CallbackEnd, CallbackStart, RclInit};
use stowplan_ctf::schema::Handle;
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text};
use stowplan_trace::{Overview, Reading};

const PACKET: usize = 4096;
const BOOT: [u8; 16] = *b"boot-of-the-host";
const OFFSET_NS: i64 = 1_700_000_000_000_000_000;
const TID: i32 = 100;
const CALLBACK: Handle = Handle(0x50);

/// Calls of one callback on one thread: from, to.
fn ros(folder: &Path, calls: &[(u64, u64)]) {
    fs::create_dir(folder).unwrap();
    let uuid = [1; 16];
    let info = TraceInfo {
        uuid,
        clock_uuid: BOOT,
        clock_offset_ns: OFFSET_NS,
        hostname: "vehicle".to_owned(),
        tracer_version: (0, 1),
        env: Vec::new(),
    };
    fs::write(folder.join("metadata"), metadata_text(&info)).unwrap();
    let mut words = vec![0_u64; PACKET / 8];
    // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
    let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
    let header = PacketHeader {
        uuid,
        stream_instance: 0,
        sequence: 0,
        cpu: 0,
        timestamp_begin_ns: 1,
        discarded: 0,
    };
    let mut writer = PacketWriter::begin(bytes, &header).unwrap();
    let context = EventContext::new(TID, TID, "filter");
    let start = RclInit {
        context_handle: Handle(1),
        version: "8.2.3",
    };
    assert!(writer.event(1, &context, &start));
    for &(from, to) in calls {
        let began = CallbackStart {
            callback: CALLBACK,
            is_intra_process: 0,
        };
        assert!(writer.event(from, &context, &began));
        let ended = CallbackEnd { callback: CALLBACK };
        assert!(writer.event(to, &context, &ended));
    }
    let end = calls.last().unwrap().1;
    writer.finish(end);
    fs::write(folder.join("stream"), bytes).unwrap();
}

/// `sched_switch`: time, thread that had the CPU, its state, thread that gets it, its name.
type Switch = (u64, i32, i64, i32, &'static str);

fn kernel_metadata() -> String {
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    };
    let uuid = |bytes: &[u8; 16]| {
        let parts = [0..4, 4..6, 6..8, 8..10, 10..16].map(|range| hex(&bytes[range]));
        parts.join("-")
    };
    let integer = |size: u32, signed: bool, more: &str| {
        format!("integer {{ size = {size}; align = 8; signed = {signed}; {more}}}")
    };
    let (u16, u32, u64) = (
        integer(16, false, ""),
        integer(32, false, ""),
        integer(64, false, ""),
    );
    let (u8, i32, i64) = (
        integer(8, false, ""),
        integer(32, true, ""),
        integer(64, true, ""),
    );
    let letter = integer(8, false, "encoding = UTF8; ");
    let time = integer(64, false, "map = clock.monotonic.value; ");
    format!(
        "/* CTF 1.8 */\n\
         trace {{ major = 1; minor = 8; uuid = \"{trace}\"; byte_order = le;\n\
         packet.header := struct {{ {u32} magic; {u8} uuid[16]; {u32} stream_id; }}; }};\n\
         env {{ hostname = \"vehicle\"; domain = \"kernel\"; }};\n\
         clock {{ name = \"monotonic\"; uuid = \"{clock}\"; freq = 1000000000; offset = {OFFSET_NS}; }};\n\
         stream {{ id = 0; event.header := struct {{ {u16} id; {time} timestamp; }};\n\
         packet.context := struct {{ {time} timestamp_begin; {time} timestamp_end; {u64} content_size;\n\
         {u64} packet_size; {u64} packet_seq_num; {u64} events_discarded; {u32} cpu_id; }}; }};\n\
         event {{ name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct {{ {letter} _prev_comm[16];\n\
         {i32} _prev_tid; {i32} _prev_prio; {i64} _prev_state; {letter} _next_comm[16]; {i32} _next_tid; {i32} _next_prio; }}; }};\n",
        trace = uuid(&[2; 16]),
        clock = uuid(&BOOT),
    )
}

fn kernel(folder: &Path, switches: &[Switch]) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("metadata"), kernel_metadata()).unwrap();
    let mut events = Vec::new();
    for &(time, from, state, to, name) in switches {
        let letters = |name: &str| {
            let mut letters = [0_u8; 16];
            letters[..name.len()].copy_from_slice(name.as_bytes());
            letters
        };
        events.extend(0_u16.to_le_bytes());
        events.extend(time.to_le_bytes());
        events.extend(letters("before"));
        events.extend(from.to_le_bytes());
        events.extend(20_i32.to_le_bytes());
        events.extend(state.to_le_bytes());
        events.extend(letters(name));
        events.extend(to.to_le_bytes());
        events.extend(20_i32.to_le_bytes());
    }
    let size = (4 + 16 + 4 + 6 * 8 + 4 + events.len()) as u64 * 8;
    let mut packet = Vec::new();
    packet.extend(0xC1FC_1FC1_u32.to_le_bytes());
    packet.extend([2; 16]);
    packet.extend(0_u32.to_le_bytes());
    let (first, last) = (switches[0].0, switches[switches.len() - 1].0);
    for number in [first, last, size, size, 0, 0] {
        packet.extend(number.to_le_bytes());
    }
    packet.extend(0_u32.to_le_bytes());
    packet.extend(events);
    fs::write(folder.join("channel0_0"), packet).unwrap();
}

#[test]
fn a_callback_has_its_cpu_time_and_behind_whom_it_waited() {
    let folder = tempfile::tempdir().unwrap();
    ros(
        &folder.path().join("ust"),
        &[(1000, 2000), (3000, 3400), (4000, 4100)],
    );
    let planner = (200, "planner");
    let filter = (TID, "filter");
    kernel(
        &folder.path().join("kernel"),
        &[
            (500, 0, 0, filter.0, filter.1),
            // Preempted, as LTTng says it since Linux 4.14 (TASK_REPORT_MAX).
            (1200, TID, 0x100, planner.0, planner.1),
            (1500, planner.0, 1, filter.0, filter.1),
            // Asleep in a call: no CPU time, and not preempted.
            (3100, TID, 1, 0, "swapper/0"),
            (3300, 0, 0, filter.0, filter.1),
            // The last event: what ends later is not covered.
            (4050, TID, 0, planner.0, planner.1),
        ],
    );
    let reading = Reading::default();
    has_cpu_time(&Overview::from_ctf(folder.path(), reading).unwrap());
    has_cpu_time(&Overview::of_callbacks(folder.path(), reading).unwrap());
}

fn has_cpu_time(overview: &Overview) {
    let callbacks = overview.callback_summaries();
    assert_eq!(callbacks.len(), 1);
    assert_eq!(callbacks[0].count, 3);
    let callback = callbacks[0].callback;
    let cpu = &overview.marks.callback_cpu[&callback];
    assert_eq!((cpu.calls, cpu.cpu_ns), (2, 700 + 200));
    let scheduled = &overview.marks.scheduled[&callback];
    let preempted = scheduled.preempted().unwrap();
    assert_eq!((preempted.min_ns, preempted.max_ns), (0, 300));
    assert_eq!(scheduled.behind_ns["planner"], 300);
    // Spans, processes and rates are of ROS 2's events.
    assert_eq!(overview.contents.other_events, 6);
    assert_eq!(overview.graph.processes.len(), 1);
    let extent = overview.extent.unwrap();
    assert_eq!((extent.from_ns, extent.to_ns), (1, 4100));
}
