//! Which packets are a stream, when its files lie in several folders.
//!
//! LTTng's session rotation cuts a trace into chunks, and each snapshot is a copy of what
//! the buffers hold at its time: the metadata of all parts names one trace, and numbers of
//! streams, of packets and of what was lost go on from one to the next. Two snapshots may
//! hold the same packet. It is read once, as babeltrace2 does.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::clock::Scale;
use super::merge::{StreamInfo, TraceInput};
use super::stream::Part;
use crate::error::CtfError;
use crate::metadata::Metadata;
use crate::packet::{self, Packet};
use crate::release::Behind;

/// Two traces that are parts of one and hold the same time of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// Indices of the two traces, the smaller first.
    pub traces: (u32, u32),
    /// What they share.
    pub shared: Shared,
}

/// What two parts of a trace share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// So many packets, which are read once.
    Packets(u64),
    /// Packets of one time that are not equal: both are read, each part as a trace of its own.
    Contradiction,
}

/// The packets of a stream.
#[derive(Debug)]
pub(super) struct Stream<'t> {
    pub class_id: u64,
    pub instance: Option<u64>,
    pub parts: Vec<Part<'t>>,
}

/// The files of all streams, by stream.
#[derive(Debug, Default)]
pub(super) struct Streams<'t> {
    /// Of each trace, the first that is a part of the same.
    firsts: Vec<(u32, &'t Metadata)>,
    /// Offset of each clock, by its uuid.
    offsets: HashMap<[u8; 16], i64>,
    files: BTreeMap<Key<'t>, Vec<Opened<'t>>>,
}

/// What tells a stream: its trace, its class, its number there, and without a number the file.
type Key<'t> = (u32, u64, Option<u64>, &'t str);

/// A file and its first packet.
type Opened<'t> = (Packet, Part<'t>);

impl<'t> Streams<'t> {
    /// Looks at the first packet of each file of a trace.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn add(
        &mut self,
        trace: u32,
        input: &TraceInput<'t>,
        behind: impl Fn(&[u8]) -> Option<Behind<'t>>,
    ) -> Result<(), CtfError> {
        let metadata = input.metadata;
        let mut known = self.firsts.iter();
        let known = known.find(|(_, other)| metadata.is_same_trace(other));
        let first = known.map_or(trace, |(first, _)| *first);
        if first == trace {
            self.firsts.push((trace, metadata));
        }
        for clock in &metadata.clocks {
            if let Some(uuid) = clock.uuid {
                self.offsets.entry(uuid).or_insert(clock.offset_ns);
            }
        }
        let mut scratch = Vec::new();
        for &(name, data) in input.files.iter().filter(|(_, data)| !data.is_empty()) {
            let packet = packet::read(&metadata.plan, metadata.uuid.as_ref(), data, &mut scratch)
                .map_err(|(bits, fault)| CtfError::Stream {
                file: name.to_owned(),
                offset: bits / 8,
                fault,
            })?;
            let plan = &metadata.plan.streams[packet.stream];
            let alone = packet.instance.map_or_else(|| file_name(name), |_| "");
            let behind = behind(data);
            if let Some(behind) = &behind {
                behind.rest();
            }
            let part = Part {
                metadata,
                trace,
                class: packet.stream,
                scale: self.scale(metadata, plan.clock),
                name,
                data,
                begin: 0,
                end: data.len(),
                behind,
            };
            let files = self.files.entry((first, plan.id, packet.instance, alone));
            files.or_default().push((packet, part));
        }
        Ok(())
    }

    /// Converts readings of a clock; all clocks of one uuid are one.
    fn scale(&self, metadata: &Metadata, clock: Option<usize>) -> Scale {
        let clock = clock.and_then(|index| metadata.clocks.get(index));
        let mut scale = Scale::new(clock);
        if let Some(uuid) = clock.and_then(|clock| clock.uuid) {
            let first = self.offsets.get(&uuid);
            scale.offset_ns = first.copied().unwrap_or(scale.offset_ns);
        }
        scale
    }

    /// The streams in the order of their traces, and what several traces hold.
    pub fn join(self) -> (Vec<Stream<'t>>, Vec<Overlap>) {
        let mut streams = Vec::new();
        let mut shared: BTreeMap<(u32, u32), Shared> = BTreeMap::new();
        for ((_, class_id, instance, _), mut files) in self.files {
            files.sort_by_key(|(packet, part)| (packet.begin, packet.sequence, part.name));
            let mut take = |parts: Vec<Part<'t>>| {
                streams.push(Stream {
                    class_id,
                    instance,
                    parts,
                });
            };
            match in_order(&files, &mut shared) {
                Ok(parts) => take(parts),
                Err(traces) => {
                    shared.insert(traces, Shared::Contradiction);
                    let mut by_trace: BTreeMap<u32, Vec<Part<'t>>> = BTreeMap::new();
                    for (_, part) in files {
                        by_trace.entry(part.trace).or_default().push(part);
                    }
                    by_trace.into_values().for_each(take);
                }
            }
        }
        let overlaps = shared.into_iter();
        let overlaps = overlaps.map(|(traces, shared)| Overlap { traces, shared });
        (streams, overlaps.collect())
    }
}

impl Stream<'_> {
    pub fn info(&self) -> StreamInfo {
        let mut files: Vec<String> = Vec::new();
        for part in &self.parts {
            if files.last().is_none_or(|last| last != part.name) {
                files.push(part.name.to_owned());
            }
        }
        StreamInfo {
            trace: self.parts.first().map_or(0, |part| part.trace),
            class_id: self.class_id,
            instance: self.instance,
            files,
        }
    }
}

/// Name of a file without its folder: a snapshot repeats it.
fn file_name(name: &str) -> &str {
    let last = Path::new(name).file_name();
    last.and_then(|last| last.to_str()).unwrap_or(name)
}

/// Packets of one file in a stream that has several files.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Index of the file.
    file: usize,
    /// From where to where, bytes.
    begin: usize,
    end: usize,
    /// The packet there; `None` for what cannot be read.
    packet: Option<Packet>,
}

/// The parts of a stream in order of time, each packet once.
///
/// # Errors
/// The traces that contradict each other, if there are such.
fn in_order<'t>(
    files: &[Opened<'t>],
    shared: &mut BTreeMap<(u32, u32), Shared>,
) -> Result<Vec<Part<'t>>, (u32, u32)> {
    let first = files.first().map_or(0, |(_, part)| part.trace);
    let Some((_, other)) = files.iter().find(|(_, part)| part.trace != first) else {
        return Ok(files.iter().map(|(_, part)| *part).collect());
    };
    let mut kept: Vec<Place> = Vec::new();
    let mut twice = Vec::new();
    for place in sorted(files).ok_or((first.min(other.trace), first.max(other.trace)))? {
        let Some((at, last)) = last_packet(&kept) else {
            kept.push(place);
            continue;
        };
        let traces = |a: Place, b: Place| {
            let [a, b] = [a, b].map(|place| files[place.file].1.trace);
            (a.min(b), a.max(b))
        };
        let before = kept[at];
        match place.packet {
            Some(packet) if are_equal(files, (before, last), (place, packet)) => {
                // A packet may have been copied before it was full: the longer one has all.
                if packet.content_bits > last.content_bits {
                    kept[at] = place;
                }
                twice.push(traces(before, place));
            }
            Some(packet) if !follows(&last, &packet) => return Err(traces(before, place)),
            _ => kept.push(place),
        }
    }
    for traces in twice {
        match shared.entry(traces).or_insert(Shared::Packets(0)) {
            Shared::Packets(count) => *count += 1,
            Shared::Contradiction => {}
        }
    }
    let mut parts: Vec<Part<'t>> = Vec::new();
    let mut file = None;
    for place in kept {
        match parts.last_mut() {
            Some(part) if file == Some(place.file) && part.end == place.begin => {
                part.end = place.end
            }
            _ => parts.push(Part {
                begin: place.begin,
                end: place.end,
                ..files[place.file].1
            }),
        }
        file = Some(place.file);
    }
    Ok(parts)
}

/// The last that can be read, and where it is.
fn last_packet(kept: &[Place]) -> Option<(usize, Packet)> {
    let mut places = kept.iter().enumerate().rev();
    places.find_map(|(at, place)| Some((at, place.packet?)))
}

/// All packets of the files in order of time; `None` if one does not say when it began.
fn sorted(files: &[Opened<'_>]) -> Option<Vec<Place>> {
    let mut places: Vec<(Packet, Place)> = Vec::new();
    let mut scratch = Vec::new();
    for (file, (first, part)) in files.iter().enumerate() {
        let (plan, uuid) = (&part.metadata.plan, part.metadata.uuid.as_ref());
        let (mut begin, mut last) = (0, *first);
        while begin < part.data.len() {
            let read = packet::read(plan, uuid, &part.data[begin..], &mut scratch);
            let same = |p: &Packet| (p.stream, p.instance) == (first.stream, first.instance);
            let packet = read.ok().filter(same);
            packet.map_or(Some(0), |packet| packet.begin)?;
            // What cannot be read is met where it would follow: an error then, and the next part goes on.
            last = packet.unwrap_or(last);
            let end = packet.map_or(part.data.len(), |packet| begin + packet.bytes);
            let place = Place {
                file,
                begin,
                end,
                packet,
            };
            places.push((last, place));
            begin = end;
        }
    }
    places.sort_by_key(|(packet, place)| {
        (
            packet.begin,
            packet.sequence,
            packet.end,
            place.file,
            place.begin,
        )
    });
    Some(places.into_iter().map(|(_, place)| place).collect())
}

/// Whether two packets are one, of which one copy may have been made before it was full.
fn are_equal(files: &[Opened<'_>], a: (Place, Packet), b: (Place, Packet)) -> bool {
    let ((place_a, a), (place_b, b)) = (a, b);
    if place_a.file == place_b.file || (a.begin, a.sequence) != (b.begin, b.sequence) {
        return false;
    }
    // Headers are as good as equal now. Only of such packets the events are compared: numbers of packets were not
    // always unique (LTTng before 2.14 repeated one in snapshots).
    let events = |place: Place, packet: &Packet| {
        let packet_bytes = files[place.file].1.data.get(place.begin..)?;
        let from = usize::try_from(packet.events_at / 8).ok()?;
        let to = usize::try_from(packet.content_bits / 8).ok()?;
        packet_bytes.get(from..to.max(from))
    };
    match (events(place_a, &a), events(place_b, &b)) {
        (Some(a), Some(b)) => {
            let both = a.len().min(b.len());
            a[..both] == b[..both]
        }
        _ => false,
    }
}

/// Whether a packet can come after another in one stream.
fn follows(before: &Packet, packet: &Packet) -> bool {
    let counted = before.sequence.zip(packet.sequence);
    let in_time = before.end.zip(packet.begin);
    counted.is_some_and(|(before, now)| before < now)
        || (in_time.is_none_or(|(end, begin)| end <= begin)
            && counted.is_none_or(|(before, now)| before == now))
}
