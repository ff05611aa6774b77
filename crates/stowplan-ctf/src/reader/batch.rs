//! Decoded events out of their packets, so that they can go to another thread.

use super::event::Event;
use super::merge::Events;
use super::stream::{Item, Lost};
use crate::error::CtfError;
use crate::plan::{EventClassInfo, UNSET};

/// A batch is full with so many entries …
const MOST_ENTRIES: usize = 1024;
/// … or with so many bytes of events.
const MOST_BYTES: usize = 64 << 10;

/// Items of several streams in order of time.
#[derive(Debug, Default)]
pub(super) struct Batch<'t> {
    entries: Vec<Entry<'t>>,
    /// The events one after another, each from the byte in which it begins.
    bytes: Vec<u8>,
    /// Their bases, from that byte.
    bases: Vec<u64>,
    /// The entry that is next, and where its bytes and bases begin.
    at: usize,
    byte: usize,
    base: usize,
}

#[derive(Debug)]
struct Entry<'t> {
    time_ns: i64,
    stream: u32,
    what: What<'t>,
}

#[derive(Debug)]
enum What<'t> {
    Event(Moved<'t>),
    Lost(Box<Lost>),
    /// An error, and when its stream goes on.
    Failure(Option<Box<Failure>>),
}

/// An error, and when its stream goes on, nanoseconds since the epoch.
pub(super) type Failure = (CtfError, Option<i64>);

/// An event without what the entry has.
#[derive(Debug, Clone, Copy)]
struct Moved<'t> {
    trace: u32,
    class_index: u32,
    cpu: Option<u32>,
    offset_ns: i64,
    class: &'t EventClassInfo,
    /// So many bytes of the batch.
    length: usize,
}

impl<'t> Batch<'t> {
    /// Fills it anew; whether there is more to come.
    pub fn fill(&mut self, events: &mut Events<'t>) -> bool {
        self.entries.clear();
        self.bytes.clear();
        self.bases.clear();
        (self.at, self.byte, self.base) = (0, 0, 0);
        while self.entries.len() < MOST_ENTRIES && self.bytes.len() < MOST_BYTES {
            let (key, what) = match events.next_cursor() {
                Ok(None) => return false,
                Ok(Some((time_ns, cursor))) => match cursor.item() {
                    Item::Event(event) => {
                        let class = cursor.class(event.class_index);
                        let moved = What::Event(self.copy(&event, class));
                        ((time_ns, event.stream), moved)
                    }
                    Item::Lost(lost) => ((time_ns, lost.stream), What::Lost(Box::new(lost))),
                },
                Err(error) => {
                    let failure = Box::new((error, events.resumes_ns()));
                    // It follows the item before which its stream breaks.
                    (events.first_key(), What::Failure(Some(failure)))
                }
            };
            let (time_ns, stream) = key;
            self.entries.push(Entry {
                time_ns,
                stream,
                what,
            });
        }
        true
    }

    fn copy(&mut self, event: &Event<'_>, class: &'t EventClassInfo) -> Moved<'t> {
        let bases = &event.bases[..class.bases];
        // Every event has a first run; it is not before the first byte of the event.
        let first = bases.first().copied().unwrap_or(0) / 8;
        let from = |base: u64| base.checked_sub(first * 8).unwrap_or(UNSET);
        let moved = |&base: &u64| if base == UNSET { UNSET } else { from(base) };
        self.bases.extend(bases.iter().map(moved));
        let bytes = usize::try_from(first).ok().and_then(|first| {
            let end = usize::try_from(event.end.div_ceil(8)).ok()?;
            event.data.get(first..end)
        });
        let bytes = bytes.unwrap_or_default();
        self.bytes.extend_from_slice(bytes);
        Moved {
            trace: event.trace,
            class_index: event.class_index,
            cpu: event.cpu,
            offset_ns: event.offset_ns,
            class,
            length: bytes.len(),
        }
    }

    /// Whether there is an entry.
    pub fn has_next(&self) -> bool {
        self.at < self.entries.len()
    }

    /// Time and stream of the entry: what decides which batch is next.
    #[inline]
    pub fn key(&self) -> (i64, u32) {
        let entry = self.entries.get(self.at);
        entry.map_or((i64::MAX, u32::MAX), |entry| (entry.time_ns, entry.stream))
    }

    /// Goes to the next entry; whether there is one.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if let Some(Entry {
            what: What::Event(event),
            ..
        }) = self.entries.get(self.at)
        {
            self.byte += event.length;
            self.base += event.class.bases;
        }
        self.at += 1;
        self.has_next()
    }

    /// The entry; `Err` with a failure, which is given once.
    #[inline]
    pub fn item(&mut self) -> Result<Option<Item<'_>>, Box<Failure>> {
        let Some(entry) = self.entries.get_mut(self.at) else {
            return Ok(None);
        };
        match &mut entry.what {
            What::Event(moved) => Ok(Some(Item::Event(Event {
                timestamp_ns: entry.time_ns,
                stream: entry.stream,
                trace: moved.trace,
                class_index: moved.class_index,
                cpu: moved.cpu,
                offset_ns: moved.offset_ns,
                class: moved.class,
                data: &self.bytes[self.byte..self.byte + moved.length],
                bases: &self.bases[self.base..self.base + moved.class.bases],
                end: moved.length as u64 * 8,
            }))),
            What::Lost(lost) => Ok(Some(Item::Lost(**lost))),
            What::Failure(failure) => failure.take().map_or(Ok(None), Err),
        }
    }
}
