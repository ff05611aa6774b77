//! One stream, packet after packet.

use super::clock::Scale;
use super::event::Event;
use super::header::Header;
use crate::error::{CtfError, Fault};
use crate::metadata::Metadata;
use crate::packet::{self, Packet};
use crate::plan::{Frame, StreamPlan, UNSET, walk};
use crate::release::Behind;

/// What a trace consists of; `E` is an [`Event`] or what was made of one.
#[derive(Debug, Clone, Copy)]
pub enum Item<E> {
    /// Something was recorded.
    Event(E),
    /// Something was not.
    Lost(Lost),
}

/// A loss: the tracer says how much a stream lacks and between when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Index of the stream.
    pub stream: u32,
    /// Index of the trace.
    pub trace: u32,
    /// What was lost.
    pub kind: LostKind,
    /// How many.
    pub count: u64,
    /// From the end of the packet before, nanoseconds since the epoch; `None` if
    /// packets have no times.
    pub begin_ns: Option<i64>,
    /// To the end of the packet that reports it (events), or to its begin (packets).
    pub end_ns: Option<i64>,
}

/// What a [`Lost`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostKind {
    /// Events that found no room.
    Events,
    /// Whole packets, with an unknown number of events.
    Packets,
}

/// Packets of a stream that follow each other in one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'t> {
    /// Of the folder that has the file: streams of a trace may lie in several.
    pub metadata: &'t Metadata,
    /// Index of that folder's trace.
    pub trace: u32,
    /// Index of the stream class there.
    pub class: usize,
    pub scale: Scale,
    /// Name of the file, for errors.
    pub name: &'t str,
    /// Content of the file.
    pub data: &'t [u8],
    /// Where the first of the packets begins, bytes.
    pub begin: usize,
    /// Where the last of them ends, bytes.
    pub end: usize,
    /// Where pages of the file can be given back.
    pub behind: Option<Behind<'t>>,
}

/// Where a stream is.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    metadata: &'t Metadata,
    plan: &'t StreamPlan,
    header: Header<'t>,
    scale: Scale,
    class: usize,
    instance: Option<u64>,
    index: u32,
    trace: u32,
    /// In order of time.
    parts: Vec<Part<'t>>,
    part: usize,
    /// Where the next packet begins in the file, bytes.
    next_packet: usize,
    /// Where this packet begins in the file, bytes.
    packet_at: usize,
    data: &'t [u8],
    end: u64,
    at: u64,
    clock: u64,
    cpu: Option<u32>,
    last_ns: i64,
    before: Option<Packet>,
    /// The largest count of discarded events that a packet had: the counter never falls, but LTTng-UST writes 0
    /// into a packet that it begins, and the count only when it ends it.
    discarded: u64,
    bases: Vec<u64>,
    scratch: Vec<u64>,
    /// What the packet says is missing, the next last.
    lost: Vec<Lost>,
    item: Pending,
    /// Where in the packet to look again at what lies behind, bits.
    look_at: u64,
}

#[derive(Debug, Clone, Copy)]
enum Pending {
    Event(u32),
    Lost(Lost),
}

impl<'t> Cursor<'t> {
    /// `parts` hold the packets of the stream in order of time.
    pub fn new(instance: Option<u64>, index: u32, parts: Vec<Part<'t>>) -> Option<Self> {
        let first = parts.first()?;
        let metadata = first.metadata;
        let plan = metadata.plan.streams.get(first.class)?;
        Some(Self {
            metadata,
            plan,
            header: Header::new(plan),
            scale: first.scale,
            class: first.class,
            instance,
            index,
            trace: first.trace,
            next_packet: first.begin,
            parts,
            part: 0,
            packet_at: 0,
            data: &[],
            end: 0,
            at: 0,
            clock: 0,
            cpu: None,
            last_ns: i64::MIN,
            before: None,
            discarded: 0,
            bases: vec![UNSET; plan.bases],
            scratch: Vec::new(),
            lost: Vec::new(),
            item: Pending::Event(0),
            look_at: u64::MAX,
        })
    }

    /// Reading comes back later: gives back what was looked at.
    pub fn rest(&self) {
        let part = self.parts.get(self.part);
        if let Some(behind) = part.and_then(|part| part.behind.as_ref()) {
            behind.rest();
        }
    }

    /// Gives back what lies behind.
    #[cold]
    fn look_behind(&mut self) {
        let part = self.parts.get_mut(self.part);
        let next = part.and_then(|part| part.behind.as_mut()).map(|behind| {
            let at = self.packet_at + usize::try_from(self.at / 8).unwrap_or(usize::MAX);
            behind.passed(at).saturating_sub(self.packet_at) as u64
        });
        self.look_at = next.map_or(u64::MAX, |bytes| bytes.saturating_mul(8));
    }

    /// Goes to the next item that is kept; its time, or `None` at the end.
    #[inline]
    pub fn advance(
        &mut self,
        keeps: &mut impl FnMut(&Event<'_>) -> bool,
    ) -> Result<Option<i64>, CtfError> {
        loop {
            if let Some(lost) = self.lost.pop() {
                self.item = Pending::Lost(lost);
                return Ok(Some(self.last_ns));
            }
            if self.at < self.end {
                if self.at >= self.look_at {
                    self.look_behind();
                }
                let start = self.at;
                match self.event() {
                    Ok(class) if keeps(&self.at_event(class)) => return Ok(Some(self.last_ns)),
                    Ok(_) => continue,
                    Err(fault) => {
                        let error = self.error(self.packet_at, self.at.max(start), fault);
                        // The next packet may be whole.
                        self.at = self.end;
                        return Err(error);
                    }
                }
            }
            match self.packet() {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    // Where the next one of the file begins is not known.
                    self.next_part();
                    return Err(error);
                }
            }
        }
    }

    /// When the packet after a broken one begins, nanoseconds since the epoch; `None`
    /// if there is none or it does not say.
    pub fn resumes_ns(&self) -> Option<i64> {
        let here = self.parts.get(self.part)?;
        let (part, at) = if self.next_packet < here.end {
            (here, self.next_packet)
        } else {
            let next = self.parts.get(self.part + 1)?;
            (next, next.begin)
        };
        let (plan, uuid) = (&part.metadata.plan, part.metadata.uuid.as_ref());
        let read = packet::read(plan, uuid, part.data.get(at..)?, &mut Vec::new());
        Some(part.scale.epoch_ns(read.ok()?.begin?))
    }

    /// Goes to the part after this one.
    fn next_part(&mut self) {
        self.part += 1;
        self.next_packet = self.parts.get(self.part).map_or(0, |part| part.begin);
    }

    /// Reads as the metadata of the part says.
    fn enter(&mut self, part: &Part<'t>) {
        if let Some(plan) = part.metadata.plan.streams.get(part.class) {
            self.metadata = part.metadata;
            self.plan = plan;
            self.header = Header::new(plan);
            self.scale = part.scale;
            self.class = part.class;
            self.trace = part.trace;
            self.bases.clear();
            self.bases.resize(plan.bases, UNSET);
        }
    }

    /// Number of the stream.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Bytes of all its parts.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.end - part.begin).sum()
    }

    /// The item that [`Cursor::advance`] went to.
    #[inline]
    pub fn item(&self) -> Item<Event<'_>> {
        match self.item {
            Pending::Lost(lost) => Item::Lost(lost),
            Pending::Event(class) => Item::Event(self.at_event(class)),
        }
    }

    /// The event that was read last, of the class of this index.
    #[inline]
    fn at_event(&self, class: u32) -> Event<'_> {
        Event {
            timestamp_ns: self.last_ns,
            stream: self.index,
            trace: self.trace,
            class_index: class,
            cpu: self.cpu,
            offset_ns: self.scale.offset_ns,
            class: &self.metadata.plan.classes[class as usize],
            data: self.data,
            bases: &self.bases,
            end: self.at,
        }
    }

    /// Reads the next event; the index of its class.
    #[inline]
    fn event(&mut self) -> Result<u32, Fault> {
        let start = self.at;
        let frame = Frame {
            data: self.data,
            end: self.end,
        };
        let (at, bases, clock) = (&mut self.at, &mut self.bases, &mut self.clock);
        let id = self.header.read(frame, at, bases, clock)?;
        let fault = Fault::UnknownEvent { id };
        let index = self.plan.class(id).ok_or(fault)?;
        let class = self
            .metadata
            .plan
            .classes
            .get(index as usize)
            .ok_or(fault)?;
        walk(&class.runs, frame, &mut self.at, &mut self.bases)?;
        if self.at == start {
            return Err(Fault::Empty);
        }
        let now = self.scale.epoch_ns(self.clock);
        if now < self.last_ns {
            return Err(Fault::TimeBack {
                before_ns: self.last_ns,
                after_ns: now,
            });
        }
        self.last_ns = now;
        self.item = Pending::Event(index);
        Ok(index)
    }

    /// Opens the next packet; `false` if there is none.
    fn packet(&mut self) -> Result<bool, CtfError> {
        let rest = loop {
            let Some(part) = self.parts.get_mut(self.part) else {
                return Ok(false);
            };
            if self.next_packet < part.end {
                let part = *part;
                if part.trace != self.trace {
                    self.enter(&part);
                }
                break &part.data[self.next_packet..];
            }
            if let Some(behind) = &mut part.behind {
                behind.all();
            }
            self.next_part();
        };
        let uuid = self.metadata.uuid.as_ref();
        self.packet_at = self.next_packet;
        let read = packet::read(&self.metadata.plan, uuid, rest, &mut self.scratch);
        let packet = read.map_err(|(at, fault)| self.error(self.packet_at, at, fault))?;
        if (packet.stream, packet.instance) != (self.class, self.instance) {
            return Err(self.error(self.packet_at, 0, Fault::MixedStreams));
        }
        self.data = &rest[..packet.bytes];
        self.next_packet += packet.bytes;
        self.look_at = 0;
        self.at = packet.events_at;
        self.end = packet.content_bits;
        self.cpu = packet.cpu;
        if let Some(begin) = packet.begin {
            self.clock = begin;
        }
        self.note_losses(&packet);
        self.before = Some(packet);
        Ok(true)
    }

    fn note_losses(&mut self, packet: &Packet) {
        let ns = |reading: Option<u64>| reading.map(|reading| self.scale.epoch_ns(reading));
        let before = self.before.as_ref();
        let begin_ns = ns(before.and_then(|before| before.end).or(packet.begin));
        let lost = |kind, count, end_ns| {
            (count > 0).then_some(Lost {
                stream: self.index,
                trace: self.trace,
                kind,
                count,
                begin_ns,
                end_ns,
            })
        };
        // The counters only grow; the first packets of a ring that was overwritten are no loss.
        let packets = before
            .and_then(|before| before.sequence)
            .zip(packet.sequence)
            .and_then(|(before, now)| now.checked_sub(before)?.checked_sub(1))
            .unwrap_or(0);
        let counted = packet.discarded.unwrap_or(0).max(self.discarded);
        let events = counted - self.discarded;
        let events = lost(LostKind::Events, events, ns(packet.end));
        let packets = lost(LostKind::Packets, packets, ns(packet.begin));
        self.lost.extend(events);
        self.lost.extend(packets);
        self.discarded = counted;
        if self.last_ns == i64::MIN
            && let Some(begin_ns) = begin_ns
        {
            self.last_ns = begin_ns;
        }
    }

    fn error(&self, packet_at: usize, bits: u64, fault: Fault) -> CtfError {
        CtfError::Stream {
            file: self
                .parts
                .get(self.part)
                .map_or_else(String::new, |part| part.name.to_owned()),
            offset: packet_at as u64 + bits / 8,
            fault,
        }
    }
}
