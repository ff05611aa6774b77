//! Broken traces take no more memory than their size pays for.

mod counting;
#[path = "it/common/info.rs"]
mod info;

use proptest::prelude::*;
use proptest::sample::Index;
use std::num::NonZeroUsize;
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Event, Events, Item, TraceInput};
use stowplan_ctf::writer::{PacketHeader, PacketWriter, metadata_text};

/// A field of a declared event takes some hundred bytes, and takes some to declare; so do
/// contexts, which every event has.
const PER_BYTE: usize = 64;
/// What an empty trace may take: buffers, the threads of the workers.
const FIXED: usize = 256 << 10;

fn counted(events: usize) -> Vec<u8> {
    let mut words = vec![0_u64; 32 * (events + 4)];
    // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
    let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
    let header = PacketHeader {
        uuid: info::info().uuid,
        stream_instance: 1,
        sequence: 0,
        cpu: 0,
        timestamp_begin_ns: 1,
        discarded: 0,
    };
    let context = stowplan_ctf::writer::EventContext::new(1, 1, "process");
    let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
    for number in 0..events as u64 {
        let gid = stowplan_ctf::schema::Gid([7; 24]);
        let rmw_publisher_handle = stowplan_ctf::schema::Handle(number);
        let record = stowplan_ctf::events::ros2::RmwPublisherInit {
            rmw_publisher_handle,
            gid,
        };
        assert!(writer.event(number + 2, &context, &record));
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Reads with one thread and with two; the number of events.
fn read(metadata: &[u8], stream: &[u8]) -> u64 {
    let mut count = 0;
    let Ok(metadata) = Metadata::parse(metadata) else {
        return 0;
    };
    for threads in [1, 2] {
        let input = TraceInput {
            metadata: &metadata,
            files: vec![("stream", stream)],
        };
        let Ok(events) = Events::new(&[input]) else {
            continue;
        };
        let threads = NonZeroUsize::new(threads).expect("at least one");
        let fields = |event: &Event<'_>| {
            let class = event.class();
            for field in class.contexts.iter().chain(&class.fields) {
                let _ = (event.u64(field.field), event.text(field.field));
            }
        };
        events.with_threads(threads, fields, |events| {
            // A stream that is broken goes on with its next packet.
            loop {
                match events.next_item() {
                    Ok(None) => return,
                    Ok(Some(Item::Event(_))) => count += 1,
                    Ok(Some(Item::Lost(_))) | Err(_) => {}
                }
            }
        });
    }
    count
}

fn changed(mut bytes: Vec<u8>, flips: &[(Index, u8)], cut: Option<Index>) -> Vec<u8> {
    for (at, bit) in flips {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len() + 1));
    }
    bytes
}

fn flips() -> impl Strategy<Value = Vec<(Index, u8)>> {
    prop::collection::vec((any::<Index>(), 0_u8..8), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_broken_trace_takes_no_more_than_its_size(
        in_metadata in flips(),
        in_stream in flips(),
        cut_metadata: Option<Index>,
        cut_stream: Option<Index>,
    ) {
        let alone = counting::alone();
        // Mostly only one of the two is broken: else little is ever read.
        let metadata = metadata_text(&info::info()).into_bytes();
        let metadata = if in_stream.len() % 2 == 0 {
            changed(metadata, &in_metadata, cut_metadata)
        } else {
            metadata
        };
        let stream = changed(counted(200), &in_stream, cut_stream);
        let size = metadata.len() + stream.len();
        let (_, peak) = counting::peak(&alone, || read(&metadata, &stream));
        prop_assert!(peak <= PER_BYTE * size + FIXED, "{peak} bytes for {size}");
    }
}

#[test]
fn what_is_counted_is_what_is_allocated() {
    let alone = counting::alone();
    let ((), peak) = counting::peak(&alone, || drop(vec![0_u8; 10 << 20]));
    assert!((10 << 20..11 << 20).contains(&peak), "{peak}");
    let metadata = metadata_text(&info::info());
    let (events, _) = counting::peak(&alone, || read(metadata.as_bytes(), &counted(200)));
    assert_eq!(events, 400);
}

/// Most that is allocated for events which one thread has decoded ahead of the other.
const AHEAD: usize = 2 << 20;

/// Memory that reading takes does not follow the length.
#[test]
fn a_longer_stream_takes_no_more() {
    let alone = counting::alone();
    let metadata = metadata_text(&info::info());
    let stream = counted(160_000);
    let (events, peak) = counting::peak(&alone, || read(metadata.as_bytes(), &stream));
    assert_eq!(events, 320_000);
    assert!(peak < AHEAD && 16 * AHEAD < stream.len(), "{peak} bytes");
}
