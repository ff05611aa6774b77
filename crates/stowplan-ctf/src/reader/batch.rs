//! What was made of events, so that it can go to another thread.

use super::map::EventMap;
use super::merge::Events;
use super::stream::{Item, Lost};
use crate::error::CtfError;

/// A batch is full with so many entries …
const MOST_ENTRIES: usize = 1024;
/// … or when so many bytes of events were read for it.
const MOST_BYTES: u64 = 64 << 10;

/// An event of which something was made.
#[derive(Debug, Clone, Copy)]
pub struct Decoded<'m, T> {
    /// Time of the event, nanoseconds since the epoch.
    pub timestamp_ns: i64,
    /// Index of its stream.
    pub stream: u32,
    /// What was made of it.
    pub value: &'m T,
}

/// Items of several streams in order of time.
#[derive(Debug)]
pub(super) struct Batch<T> {
    entries: Vec<Entry<T>>,
    /// The entry that is next.
    at: usize,
}

#[derive(Debug)]
struct Entry<T> {
    time_ns: i64,
    stream: u32,
    what: What<T>,
}

#[derive(Debug)]
enum What<T> {
    Event(T),
    Lost(Box<Lost>),
    /// Given once.
    Failure(Option<Box<Failure>>),
}

/// An error, and when its stream goes on, nanoseconds since the epoch.
pub(super) type Failure = (CtfError, Option<i64>);

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            at: 0,
        }
    }
}

impl<T> Batch<T> {
    /// Fills it anew; whether there is an entry.
    pub fn fill(&mut self, events: &mut Events<'_>, map: &mut impl EventMap<Made = T>) -> bool {
        self.entries.clear();
        self.at = 0;
        let mut bytes = 0;
        while self.entries.len() < MOST_ENTRIES && bytes < MOST_BYTES {
            let ((time_ns, stream), what) = match events.next_cursor(&mut |event| map.keeps(event))
            {
                Ok(None) => break,
                Ok(Some((time_ns, cursor))) => match cursor.item() {
                    Item::Event(event) => {
                        bytes += event.size();
                        ((time_ns, event.stream), What::Event(map.map(&event)))
                    }
                    Item::Lost(lost) => ((time_ns, lost.stream), What::Lost(Box::new(lost))),
                },
                Err(error) => {
                    let failure = Box::new((error, events.resumes_ns()));
                    // It follows the item before which its stream breaks.
                    (events.first_key(), What::Failure(Some(failure)))
                }
            };
            self.entries.push(Entry {
                time_ns,
                stream,
                what,
            });
        }
        if !self.has_next() {
            map.end();
        }
        self.has_next()
    }

    fn has_next(&self) -> bool {
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
        self.at += 1;
        self.has_next()
    }

    /// The entry; `Err` with a failure.
    #[inline]
    pub fn item(&mut self) -> Result<Option<Item<Decoded<'_, T>>>, Box<Failure>> {
        let Some(entry) = self.entries.get_mut(self.at) else {
            return Ok(None);
        };
        match &mut entry.what {
            What::Event(value) => Ok(Some(Item::Event(Decoded {
                timestamp_ns: entry.time_ns,
                stream: entry.stream,
                value,
            }))),
            What::Lost(lost) => Ok(Some(Item::Lost(**lost))),
            What::Failure(failure) => failure.take().map_or(Ok(None), Err),
        }
    }
}
