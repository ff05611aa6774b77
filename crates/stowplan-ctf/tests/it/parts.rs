//! Traces that lie in several folders: rotated chunks, snapshots, and folders that are no trace.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use stowplan_ctf::CtfError;
use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::events::ros2::CallbackEnd;
use stowplan_ctf::metadata::EnvValue;
use stowplan_ctf::reader::{Item, Lost, LostKind, Overlap, Shared};
use stowplan_ctf::schema::Handle;
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text};

use crate::common;

const PACKET: usize = 1024;

/// A packet with events at these times.
fn packet(sequence: u64, discarded: u64, times: &[u64]) -> Vec<u8> {
    let mut words = vec![0_u64; PACKET / 8];
    // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
    let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
    let header = PacketHeader {
        uuid: common::info().uuid,
        stream_instance: 3,
        sequence,
        cpu: 0,
        timestamp_begin_ns: times[0],
        discarded,
    };
    let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
    let context = EventContext::new(7, 7, "process");
    for &time in times {
        let event = CallbackEnd {
            callback: Handle(time),
        };
        assert!(writer.event(time, &context, &event));
    }
    bytes.to_vec()
}

fn save(folder: &Path, info: &TraceInfo, packets: &[Vec<u8>]) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("metadata"), metadata_text(info)).expect("metadata");
    fs::write(folder.join("stream_0"), packets.concat()).expect("a stream");
}

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    /// Times of the events by the trace's clock.
    times: Vec<i64>,
    lost: Vec<Lost>,
    errors: usize,
    streams: usize,
    overlaps: Vec<Overlap>,
}

fn read(folder: &Path) -> Read {
    let traces = TraceFolder::open(folder).expect("traces");
    let mut events = traces.events().expect("streams");
    let mut read = Read {
        streams: events.streams().len(),
        overlaps: events.overlaps().to_vec(),
        ..Read::default()
    };
    loop {
        match events.next_item() {
            Ok(Some(Item::Event(event))) => {
                let time = event.clock_ns();
                assert_eq!(event.u64("callback"), Some(time.cast_unsigned()));
                read.times.push(time);
            }
            Ok(Some(Item::Lost(lost))) => read.lost.push(lost),
            Ok(None) => return read,
            Err(_) => read.errors += 1,
        }
    }
}

/// Traces of one session, in folders of their own.
fn parts(parts: &[&[Vec<u8>]]) -> (tempfile::TempDir, Read) {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, packets) in parts.iter().enumerate() {
        let name = folder.path().join(format!("part-{number}"));
        save(&name, &common::info(), packets);
    }
    let found = read(folder.path());
    (folder, found)
}

fn counts(lost: &[Lost]) -> Vec<(LostKind, u64)> {
    lost.iter().map(|lost| (lost.kind, lost.count)).collect()
}

fn packets_of_both(packets: u64) -> Vec<Overlap> {
    vec![Overlap {
        traces: (0, 1),
        shared: Shared::Packets(packets),
    }]
}

/// As babeltrace2 does, too, where it is there.
fn events_of_babeltrace(folder: &Path, events: usize) {
    if let Some(reference) = common::babeltrace(folder) {
        assert_eq!(reference.lines().len(), events);
    }
}

#[test]
fn chunks_of_a_rotated_session_are_one_trace() {
    let (folder, read) = parts(&[
        &[packet(0, 0, &[1, 2]), packet(1, 3, &[10])],
        &[packet(2, 3, &[20, 21]), packet(3, 5, &[30])],
    ]);
    assert_eq!(read.times, [1, 2, 10, 20, 21, 30]);
    // The counter goes on: what was lost in the first chunk is not lost again in the second.
    let events = LostKind::Events;
    assert_eq!(counts(&read.lost), [(events, 3), (events, 2)]);
    assert_eq!((read.streams, read.overlaps), (1, vec![]));
    events_of_babeltrace(folder.path(), 6);
}

#[test]
fn packets_of_two_snapshots_are_read_once() {
    let both = || [packet(1, 0, &[10, 11]), packet(2, 0, &[20])];
    let [first, last] = [packet(0, 0, &[1]), packet(3, 0, &[30])];
    let [a, b] = both();
    let [c, d] = both();
    let (folder, read) = parts(&[&[first, a, b], &[c, d, last]]);
    assert_eq!(read.times, [1, 10, 11, 20, 30]);
    assert_eq!(read.overlaps, packets_of_both(2));
    assert_eq!(read.lost, []);
    events_of_babeltrace(folder.path(), 5);
}

#[test]
fn a_packet_that_was_copied_before_it_was_full_is_read_where_it_is_longer() {
    let full = || packet(1, 0, &[10, 11, 12]);
    let part = || packet(1, 0, &[10]);
    for [first, second] in [[part(), full()], [full(), part()]] {
        let (_folder, read) =
            parts(&[&[packet(0, 0, &[1]), first], &[second, packet(2, 0, &[20])]]);
        assert_eq!(read.times, [1, 10, 11, 12, 20]);
        assert_eq!(read.overlaps, packets_of_both(1));
        assert_eq!((read.lost, read.errors), (vec![], 0));
    }
}

#[test]
fn what_was_overwritten_between_two_snapshots_is_lost() {
    let (_folder, read) = parts(&[
        &[packet(4, 0, &[1])],
        &[packet(7, 0, &[20]), packet(8, 0, &[30])],
    ]);
    assert_eq!(read.times, [1, 20, 30]);
    assert_eq!(counts(&read.lost), [(LostKind::Packets, 2)]);
}

#[test]
fn a_counter_of_discarded_events_that_falls_back_counts_nothing_again() {
    let (_folder, read) = parts(&[&[
        packet(0, 0, &[1]),
        packet(1, 10, &[10]),
        packet(2, 0, &[20]),
        packet(3, 10, &[30]),
        packet(4, 11, &[40]),
    ]]);
    let events = LostKind::Events;
    assert_eq!(counts(&read.lost), [(events, 10), (events, 1)]);
    let begin = |lost: &Lost| lost.begin_ns.map(|ns| ns - common::info().clock_offset_ns);
    let begins: Vec<_> = read.lost.iter().map(begin).collect();
    assert_eq!(begins, [Some(1), Some(30)]);
}

/// Two devices of one barectf configuration have one uuid, and equal numbers.
#[test]
fn packets_that_contradict_each_other_are_all_read() {
    let (_folder, read) = parts(&[
        &[packet(0, 0, &[1, 15]), packet(1, 0, &[20, 35])],
        &[packet(0, 0, &[2, 16]), packet(1, 0, &[21, 36])],
    ]);
    assert_eq!(read.times, [1, 2, 15, 16, 20, 21, 35, 36]);
    assert_eq!((read.errors, read.streams), (0, 2));
    let shared = Shared::Contradiction;
    assert_eq!(
        read.overlaps,
        [Overlap {
            traces: (0, 1),
            shared
        }]
    );
}

#[test]
fn two_sessions_are_two_traces_whatever_their_uuid() {
    let folder = tempfile::tempdir().expect("a folder");
    for session in ["a", "b"] {
        let mut info = common::info();
        let name = ("trace_name".to_owned(), EnvValue::Text(session.to_owned()));
        info.env.push(name);
        save(&folder.path().join(session), &info, &[packet(0, 0, &[5])]);
    }
    let read = read(folder.path());
    assert_eq!((read.times, read.streams), (vec![5, 5], 2));
    assert_eq!(read.overlaps, []);
}

/// The clock's offset is measured anew for each trace.
#[test]
fn traces_of_one_clock_are_merged_by_its_readings() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, offset, times) in [("a", 0, [10, 30]), ("b", 1_000_000, [20, 40])] {
        let mut info = common::info();
        info.clock_offset_ns += offset;
        info.env
            .push(("trace_name".to_owned(), EnvValue::Text(name.to_owned())));
        save(&folder.path().join(name), &info, &[packet(0, 0, &times)]);
    }
    assert_eq!(read(folder.path()).times, [10, 20, 30, 40]);
}

#[test]
fn a_broken_chunk_does_not_end_its_stream() {
    let mut broken = packet(1, 0, &[10]);
    broken[0] ^= 0xff;
    let (_folder, read) = parts(&[&[packet(0, 0, &[1]), broken], &[packet(2, 0, &[20])]]);
    assert_eq!((read.times, read.errors), (vec![1, 20], 1));
    assert_eq!(counts(&read.lost), [(LostKind::Packets, 1)]);
}

#[test]
fn streams_without_metadata_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("a/64-bit");
    save(&whole, &common::info(), &[packet(0, 0, &[1])]);
    let lacking = folder.path().join("b/64-bit");
    save(&lacking, &common::info(), &[packet(0, 0, &[2])]);
    fs::write(lacking.join("notes.txt"), "no stream").expect("a file");
    fs::remove_file(lacking.join("metadata")).expect("a file");
    let is_told = |error: &CtfError| matches!(error, CtfError::NoMetadata { path, files: 1 } if *path == lacking);
    assert!(is_told(&TraceFolder::open(folder.path()).unwrap_err()));
    let mut damage = Vec::new();
    let traces = TraceFolder::open_readable(folder.path(), &mut damage).expect("a trace");
    assert_eq!((traces.traces().len(), damage.len()), (1, 1));
    assert!(is_told(&damage[0]));
    let alone = TraceFolder::open_readable(&lacking, &mut damage).unwrap_err();
    assert!(is_told(&alone), "{alone}");
}

/// Times of what two threads read, and the number of errors.
fn read_by_two(folder: &Path) -> (Vec<i64>, usize) {
    let traces = TraceFolder::open(folder).expect("traces");
    let mut damage = Vec::new();
    let Ok(events) = traces.readable_events(&mut damage) else {
        return (Vec::new(), damage.len());
    };
    let two = NonZeroUsize::new(2).expect("two");
    let time = |event: &stowplan_ctf::reader::Event<'_>| event.clock_ns();
    let (mut times, mut errors) = (Vec::new(), damage.len());
    events.with_threads(two, time, |events| {
        loop {
            match events.next_item() {
                Ok(Some(Item::Event(event))) => times.push(*event.value),
                Ok(Some(Item::Lost(_))) => {}
                Ok(None) => break,
                Err(_) => errors += 1,
            }
        }
    });
    (times, errors)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Of packets in any snapshots, each once: whichever hold them, and in whichever order the folders are.
    #[test]
    fn any_snapshots_together_give_every_packet_once(
        spans in prop::collection::vec((0_usize..8, 1_usize..8), 2..5),
    ) {
        let all: Vec<Vec<u8>> = (0..16).map(|n| packet(n, 0, &[10 * n + 1, 10 * n + 2])).collect();
        let snapshots: Vec<&[Vec<u8>]> =
            spans.iter().map(|&(from, count)| &all[from..from + count]).collect();
        let (folder, read) = parts(&snapshots);
        let held = |n: &u64| spans.iter().any(|&(from, count)| (from..from + count).contains(&(*n as usize)));
        let wanted: Vec<i64> = (0..16).filter(held).flat_map(|n| [10 * n as i64 + 1, 10 * n as i64 + 2]).collect();
        prop_assert_eq!(&read.times, &wanted);
        prop_assert_eq!((read.streams, read.errors), (1, 0));
        prop_assert_eq!(read_by_two(folder.path()), (wanted, 0));
    }

    /// Whatever is broken, reading ends, and time does not go back.
    #[test]
    fn broken_snapshots_are_read_to_their_end(
        broken in prop::collection::vec((any::<Index>(), any::<u8>()), 1..12),
        cut: Index,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut packets: Vec<Vec<u8>> = (0..6).map(|n| packet(n, n / 2, &[10 * n + 1, 10 * n + 2])).collect();
        save(&folder.path().join("a"), &common::info(), &packets[..4]);
        let length = packets.concat().len();
        for (at, value) in broken {
            let at = at.index(length);
            packets[at / PACKET][at % PACKET] = value;
        }
        save(&folder.path().join("b"), &common::info(), &packets[2..]);
        let stream = folder.path().join("b/stream_0");
        let bytes = fs::read(&stream).expect("a stream");
        fs::write(&stream, &bytes[..=cut.index(bytes.len() - 1)]).expect("a stream");
        let (times, _) = read_by_two(folder.path());
        prop_assert!(times.is_sorted());
    }
}
