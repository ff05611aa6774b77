//! The recorder, the collector and babeltrace2 agree, with more than a million events.

use std::fs::File;
use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::events::ros2::{CallbackEnd, CallbackStart, RclcppCallbackRegister, RmwTake};
use stowplan_ctf::schema::Handle;
use stowplan_measure::collect::{CollectReport, RingFile, collect};
use stowplan_wire::ring;

use super::{Buffer, Counts, now, thread, totals};

#[path = "../../../stowplan-ctf/tests/it/common/lines.rs"]
mod lines;

/// Records so many rounds of four events on one thread.
fn rounds(buffer: &Buffer, count: u64) {
    let callback = Handle(0x10);
    thread::event(
        buffer,
        now(),
        &RclcppCallbackRegister {
            callback,
            symbol: "Node::on_points",
        },
    );
    for message in 0..count {
        thread::event(
            buffer,
            now(),
            &RmwTake {
                rmw_subscription_handle: Handle(0x20),
                message: Handle(message),
                source_timestamp: 1,
                taken: 1,
            },
        );
        let is_intra_process = 0;
        thread::event(
            buffer,
            now(),
            &CallbackStart {
                callback,
                is_intra_process,
            },
        );
        thread::event(buffer, now(), &CallbackEnd { callback });
    }
}

/// Records on several threads into a buffer of so many bytes and collects it to `folder/trace`.
fn recorded(
    folder: &Path,
    bytes: u64,
    threads: u64,
    count: u64,
) -> (Counts, Counts, CollectReport) {
    let path = folder.join("driving.ring");
    let file = File::create(&path).unwrap();
    file.set_len(ring::file_bytes(bytes)).unwrap();
    let buffer = Buffer::open(&path, "hello", "driving").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| rounds(&buffer, count));
        }
    });
    let (recorded, discarded) = totals(buffer.live());
    let file = RingFile {
        path,
        service: "hello".into(),
        process: "driving".into(),
    };
    let report = collect(&[file], &folder.join("trace")).unwrap();
    (recorded, discarded, report)
}

#[test]
fn a_million_events_are_all_there() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let (recorded, discarded, report) = recorded(folder.path(), 96 << 20, 4, 84_000);
    assert!(recorded.values().sum::<u64>() > 1_000_000);
    assert!(discarded.is_empty());
    assert_eq!(report.processes[0].recorded, recorded);
    assert_eq!(report.processes[0].threads, 4);
    assert_eq!(report.discarded(), 0);
    if let Some(reference) = lines::babeltrace(&folder.path().join("trace")) {
        assert_eq!(reference.names(), recorded);
        assert_eq!(reference.complaints, "");
    }
}

#[test]
fn a_full_buffer_says_what_it_lost() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    // Fewer packets than threads: some threads get none.
    let (recorded, discarded, report) = recorded(folder.path(), 3 << 16, 5, 1_000);
    let sum = |counts: &Counts| counts.values().sum::<u64>();
    assert_eq!(sum(&recorded) + sum(&discarded), 5 * 3_001);
    assert_eq!(report.processes[0].recorded, recorded);
    assert_eq!(report.processes[0].discarded, discarded);
    assert_eq!(report.processes[0].packets, 3);
    assert!(!report.processes[0].closed);
    let trace = folder.path().join("trace");
    let (ours, lost) = lines::read(&TraceFolder::open(&trace).unwrap());
    assert_eq!(lost, sum(&discarded));
    if let Some(reference) = lines::babeltrace(&trace) {
        assert_eq!(reference.names(), recorded);
        assert_eq!(ours, reference.lines());
        let warnings = reference.complaints;
        let told: u64 = warnings
            .split("Tracer discarded ")
            .skip(1)
            .map(|rest| {
                rest.split_whitespace()
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            })
            .sum();
        assert_eq!(told, sum(&discarded), "{warnings}");
    }
}

/// What one event costs with its clock reading; run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a check"]
fn cost_of_an_event() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("cost.ring");
    let file = File::create(&path).unwrap();
    file.set_len(ring::file_bytes(256 << 20)).unwrap();
    let buffer = Buffer::open(&path, "hello", "cost").unwrap();
    for _ in 0..5 {
        let begin = now();
        rounds(&buffer, 100_000);
        println!("{:.1} ns an event", (now() - begin) as f64 / 300_001.0);
        let begin = now();
        for _ in 0..300_000 {
            std::hint::black_box(now());
        }
        println!(
            "{:.1} ns a clock reading",
            (now() - begin) as f64 / 300_000.0
        );
    }
    assert!(totals(buffer.live()).1.is_empty());
}
