//! A written trace is opened by the reference implementation without a complaint.

use std::collections::BTreeMap;
use std::fs;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::events::{ros2::*, stowplan::*};
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Events, Item, LostKind, TraceInput};
use stowplan_ctf::schema::{Gid, Handle, Record};
use stowplan_ctf::writer::{
    EnvValue, EventContext, PacketHeader, PacketInfo, PacketWriter, TraceInfo, metadata_text,
};

use crate::common;

const PACKET: usize = 4096;

/// Packets of one stream, as a recorder would fill them.
struct Stream {
    packets: Vec<u64>,
    instance: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Stream {
    fn new(instance: u64, packets: usize) -> Self {
        Self {
            packets: vec![0; packets * PACKET / 8],
            instance,
            counts: BTreeMap::new(),
        }
    }

    /// Writes rounds of a callback until the packets are full, then discards `discard` events.
    fn fill(&mut self, discard: u64) {
        let context = EventContext::new(
            42,
            40 + i32::try_from(self.instance).expect("small"),
            "component_container",
        );
        let mut now = 1_000_000 * self.instance;
        let last = self.packets.len() * 8 / PACKET - 1;
        for (sequence, words) in self.packets.chunks_mut(PACKET / 8).enumerate() {
            let header = PacketHeader {
                uuid: common::info().uuid,
                stream_instance: self.instance,
                sequence: sequence as u64,
                cpu: 0,
                timestamp_begin_ns: now,
                discarded: 0,
            };
            let bytes = bytes_of(words);
            let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
            let counts = &mut self.counts;
            let full = loop {
                now += 1_000;
                let wrote = if sequence == 0 && counts.is_empty() {
                    one_of_each(&mut writer, counts, now, &context)
                } else {
                    put(
                        &mut writer,
                        counts,
                        now,
                        &context,
                        &CallbackStart {
                            callback: Handle(0x7f00_0000_1000),
                            is_intra_process: 0,
                        },
                    )
                };
                if !wrote {
                    break writer;
                }
            };
            let mut writer = full;
            if sequence == last {
                (0..discard).for_each(|_| writer.discard(now));
            }
            // The last packet is left as a killed process leaves it.
            if sequence != last {
                writer.finish(now);
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.packets
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }
}

fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
    unsafe { words.align_to_mut::<u8>().1 }
}

fn put<R: Record>(
    writer: &mut PacketWriter<'_>,
    counts: &mut BTreeMap<&'static str, u64>,
    now: u64,
    context: &EventContext,
    record: &R,
) -> bool {
    let wrote = writer.event(now, context, record);
    if wrote {
        *counts.entry(R::CLASS.name).or_insert(0) += 1;
    }
    wrote
}

/// Kinds of fields that the loop does not write.
fn one_of_each(
    writer: &mut PacketWriter<'_>,
    counts: &mut BTreeMap<&'static str, u64>,
    now: u64,
    context: &EventContext,
) -> bool {
    let handle = Handle(0xffff_8000_0000_0001);
    put(
        writer,
        counts,
        now,
        context,
        &RclInit {
            context_handle: handle,
            version: "8.2.2",
        },
    ) && put(
        writer,
        counts,
        now,
        context,
        &RmwPublisherInit {
            rmw_publisher_handle: handle,
            gid: Gid(std::array::from_fn(|index| index as u8)),
        },
    ) && put(
        writer,
        counts,
        now,
        context,
        &RmwTake {
            rmw_subscription_handle: handle,
            message: handle,
            source_timestamp: -1,
            taken: 1,
        },
    ) && put(
        writer,
        counts,
        now,
        context,
        &EndpointsMatched { count: 12 },
    ) && put(
        writer,
        counts,
        now,
        context,
        &NodeLoaded {
            node: "/sensing/lidar \u{e9}",
            module: "",
        },
    ) && put(writer, counts, now, context, &Disarmed {})
}

#[test]
fn babeltrace2_opens_a_trace_and_counts_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let info = TraceInfo {
        env: vec![
            ("run".into(), EnvValue::Text("r\\1 \"x\"\n".into())),
            ("host pid".into(), EnvValue::Int(-1)),
        ],
        ..common::info()
    };
    fs::write(folder.path().join("metadata"), metadata_text(&info)).unwrap();
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for instance in 1..=2 {
        let mut stream = Stream::new(instance, 3);
        stream.fill(0);
        for (name, count) in &stream.counts {
            *expected.entry((*name).to_owned()).or_insert(0) += count;
        }
        fs::write(
            folder.path().join(format!("stream_{instance}")),
            stream.bytes(),
        )
        .unwrap();
    }
    let trace = TraceFolder::open(folder.path()).unwrap();
    let (lines, lost) = common::read(&trace);
    assert_eq!(
        (common::names(lines.iter().map(String::as_str)), lost),
        (expected, 0)
    );
    assert_eq!(
        trace.traces()[0].metadata().env_text("run"),
        Some("r\\1 \"x\"\n")
    );
    assert_eq!(
        trace.traces()[0].metadata().env("host_pid"),
        Some(&EnvValue::Int(-1))
    );
    if let Some(reference) = common::babeltrace(folder.path()) {
        assert_eq!(reference.complaints, "");
        assert_eq!(lines, reference.lines());
    }
}

#[test]
fn discarded_events_are_counted_with_their_span() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("metadata"),
        metadata_text(&common::info()),
    )
    .unwrap();
    let mut stream = Stream::new(1, 2);
    stream.fill(5);
    fs::write(folder.path().join("stream_1"), stream.bytes()).unwrap();
    let trace = TraceFolder::open(folder.path()).unwrap();
    let mut events = trace.events().unwrap();
    let mut found = None;
    while let Some(item) = events.next_item().unwrap() {
        if let Item::Lost(lost) = item {
            assert!(found.replace(lost).is_none());
        }
    }
    let packets: Vec<PacketInfo> = stream
        .bytes()
        .chunks(PACKET)
        .map(|packet| PacketInfo::read(packet).unwrap())
        .collect();
    let epoch = |ns: u64| {
        i64::try_from(ns)
            .ok()
            .map(|ns| ns + common::info().clock_offset_ns)
    };
    let lost = found.unwrap();
    assert_eq!((lost.kind, lost.count), (LostKind::Events, 5));
    assert_eq!(lost.begin_ns, epoch(packets[0].timestamp_end_ns));
    assert_eq!(lost.end_ns, epoch(packets[1].timestamp_end_ns));
    assert_eq!(trace.summary().unwrap().discarded_events, 5);
    if let Some(reference) = common::babeltrace(folder.path()) {
        assert!(
            reference.complaints.contains("discarded 5 events"),
            "{}",
            reference.complaints
        );
    }
}

#[test]
fn the_collector_finds_every_packet() {
    let mut stream = Stream::new(9, 2);
    stream.fill(5);
    let bytes = stream.bytes();
    let packets: Vec<PacketInfo> = bytes
        .chunks(PACKET)
        .map(|packet| PacketInfo::read(packet).unwrap())
        .collect();
    assert_eq!(packets[0].sequence, 0);
    assert_eq!(packets[1].sequence, 1);
    assert_eq!((packets[0].discarded, packets[1].discarded), (0, 5));
    assert!(packets.iter().all(|packet| packet.stream_instance == 9));
    assert!(packets[0].timestamp_end_ns <= packets[1].timestamp_begin_ns);
}

#[test]
fn a_trace_is_readable_after_every_event() {
    let metadata = Metadata::parse(metadata_text(&common::info()).as_bytes()).unwrap();
    let context = EventContext::new(1, 1, "killed");
    for recorded in 0..20 {
        let mut words = vec![u64::MAX; PACKET / 8];
        let header = PacketHeader {
            uuid: common::info().uuid,
            stream_instance: 1,
            sequence: 0,
            cpu: 0,
            timestamp_begin_ns: 5,
            discarded: 0,
        };
        let mut writer = PacketWriter::begin(bytes_of(&mut words), &header).unwrap();
        for sequence in 0..recorded {
            let message = Message {
                rmw_subscription_handle: Handle(1),
                publisher_id: 2,
                sequence,
                origin_ns: 3,
                stamp_ns: 4,
            };
            assert!(writer.event(5 + sequence, &context, &message));
        }
        let input = TraceInput {
            metadata: &metadata,
            files: vec![("stream", bytes_of(&mut words))],
        };
        let mut events = Events::new(&[input]).unwrap();
        let mut found = 0;
        while let Some(Item::Event(event)) = events.next_item().unwrap() {
            assert_eq!(event.u64("sequence"), Some(found));
            assert_eq!(event.procname().as_deref(), Some("killed"));
            found += 1;
        }
        assert_eq!(found, recorded);
    }
}
