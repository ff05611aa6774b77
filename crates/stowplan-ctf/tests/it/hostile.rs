//! Broken input gives an error, or fewer events, but never a panic, a hang or
//! memory that the input did not pay for.

use proptest::prelude::*;
use proptest::sample::Index;
use stowplan_ctf::CtfError;
use stowplan_ctf::events::{ros2::*, stowplan::NodeLoaded};
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Events, Item, TraceInput};
use stowplan_ctf::schema::{Gid, Handle};
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, metadata_text};

use crate::common;

/// A stream of two packets with a few events each.
fn stream() -> Vec<u8> {
    let mut words = vec![0u64; 128];
    let context = EventContext::new(1, 2, "process");
    for (sequence, packet) in words.chunks_mut(64).enumerate() {
        // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
        let (_, bytes, _) = unsafe { packet.align_to_mut::<u8>() };
        let now = 10 * sequence as u64;
        let header = PacketHeader {
            uuid: common::info().uuid,
            stream_instance: 1,
            sequence: sequence as u64,
            cpu: 0,
            timestamp_begin_ns: now,
            discarded: sequence as u64,
        };
        let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
        let callback = Handle(7);
        let wrote = [
            writer.event(
                now + 1,
                &context,
                &CallbackStart {
                    callback,
                    is_intra_process: 0,
                },
            ),
            writer.event(
                now + 1,
                &context,
                &NodeLoaded {
                    node: "/a",
                    module: "m",
                },
            ),
            writer.event(
                now + 2,
                &context,
                &RmwPublisherInit {
                    rmw_publisher_handle: callback,
                    gid: Gid([9; 24]),
                },
            ),
            writer.event(now + 3, &context, &CallbackEnd { callback }),
        ];
        assert_eq!(wrote, [true; 4]);
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Reads everything that can be read; the number of events.
fn read_all(metadata: &Metadata, stream: &[u8]) -> Result<u64, CtfError> {
    let input = TraceInput {
        metadata,
        files: vec![("stream", stream)],
    };
    let mut events = Events::new(&[input])?;
    let (mut count, mut last) = (0, i64::MIN);
    while let Some(item) = events.next_item()? {
        let Item::Event(event) = item else { continue };
        assert!(event.timestamp_ns >= last);
        last = event.timestamp_ns;
        let class = event.class();
        for field in class.contexts.iter().chain(&class.fields) {
            let field = field.field;
            let _ = (event.u64(field), event.i64(field), event.f64(field));
            let _ = (event.text(field), event.bytes(field));
            if let Some(elements) = event.integers(field) {
                assert!(elements.count() <= stream.len() * 8);
            }
        }
        let _ = (
            event.vpid(),
            event.vtid(),
            event.procname(),
            event.clock_ns(),
        );
        count += 1;
    }
    Ok(count)
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    Repeat(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        any::<Index>().prop_map(Damage::Cut),
        (any::<Index>(), 1usize..40).prop_map(|(at, length)| Damage::Remove(at, length)),
        (any::<Index>(), 1usize..40).prop_map(|(at, length)| Damage::Repeat(at, length)),
    ]
}

fn apply<T: Clone>(damage: &Damage, items: &mut Vec<T>, change: impl Fn(&T, &Damage) -> T) {
    if items.is_empty() {
        return;
    }
    let (Damage::Flip(at, _)
    | Damage::Set(at, _)
    | Damage::Cut(at)
    | Damage::Remove(at, _)
    | Damage::Repeat(at, _)) = damage;
    let at = at.index(items.len());
    match damage {
        Damage::Flip(..) | Damage::Set(..) => items[at] = change(&items[at], damage),
        Damage::Cut(_) => items.truncate(at),
        Damage::Remove(_, length) => {
            items.drain(at..items.len().min(at + length));
        }
        Damage::Repeat(_, length) => {
            let again = items[at..items.len().min(at + length)].to_vec();
            items.splice(at..at, again);
        }
    }
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        apply(damage, &mut bytes, |byte, damage| match damage {
            Damage::Flip(_, bit) => byte ^ (1 << bit),
            Damage::Set(_, byte) => *byte,
            _ => *byte,
        });
    }
    bytes
}

/// Words in place of others: gets further into the parser than bytes do.
fn garbled(text: &str, damages: &[Damage]) -> String {
    let others: Vec<&str> = text.split_whitespace().collect();
    let mut words = others.clone();
    for damage in damages {
        apply(damage, &mut words, |word, damage| match damage {
            Damage::Flip(at, _) => others[at.index(others.len() / 2)],
            Damage::Set(_, byte) => ["18446744073709551615", "0", "-", "struct", "[", "{", "}"]
                .get(usize::from(*byte) % 7)
                .unwrap_or(word),
            _ => word,
        });
    }
    words.join(" ")
}

const NESTED: &str = include_str!("data/nested.tsdl");

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_streams(damages in prop::collection::vec(damage(), 1..6)) {
        let metadata = Metadata::parse(metadata_text(&common::info()).as_bytes()).unwrap();
        prop_assert_eq!(read_all(&metadata, &stream()).unwrap(), 8);
        let bytes = damaged(stream(), &damages);
        let _ = read_all(&metadata, &bytes);
    }

    #[test]
    fn damaged_metadata(damages in prop::collection::vec(damage(), 1..6)) {
        let bytes = damaged(metadata_text(&common::info()).into_bytes(), &damages);
        if let Ok(metadata) = Metadata::parse(&bytes) {
            let _ = read_all(&metadata, &stream());
        }
    }

    #[test]
    fn garbled_metadata(damages in prop::collection::vec(damage(), 1..4), random: [u8; 256]) {
        if let Ok(metadata) = Metadata::parse(garbled(NESTED, &damages).as_bytes()) {
            let mut stream = 0xC1FC_1FC1u32.to_be_bytes().to_vec();
            stream.extend(7u32.to_be_bytes());
            stream.extend(random);
            let _ = read_all(&metadata, &stream);
        }
    }

    #[test]
    fn random_events_of_every_kind(random in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = NESTED.replace("uint32_t content_size; uint32_t packet_size;", "");
        let metadata = Metadata::parse(text.as_bytes()).unwrap();
        let mut stream = 0xC1FC_1FC1u32.to_be_bytes().to_vec();
        stream.extend(7u32.to_be_bytes());
        stream.extend([0; 16]);
        // Class 1 is the one with everything in it.
        stream.extend([1 << 3, 0, 0, 0, 0, 0, 0, 0]);
        stream.extend(random);
        let _ = read_all(&metadata, &stream);
    }
}

#[test]
fn every_truncation_is_an_error_or_whole_packets() {
    let metadata = Metadata::parse(metadata_text(&common::info()).as_bytes()).expect("valid");
    let whole = stream();
    for length in 0..whole.len() {
        match read_all(&metadata, &whole[..length]) {
            Ok(events) => {
                assert_eq!(length % 512, 0);
                assert_eq!(events, length as u64 / 512 * 4);
            }
            Err(CtfError::Stream { file, offset, .. }) => {
                assert_eq!(file, "stream");
                assert!(offset <= length as u64);
            }
            Err(other) => panic!("{other}"),
        }
    }
}
