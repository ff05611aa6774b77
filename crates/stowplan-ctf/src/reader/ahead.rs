//! Decoding ahead of the caller, on threads of its own.
//!
//! The streams are dealt to lanes. A lane is merged by time, and of every event is made
//! what the caller wants of it, batch after batch ([`Lanes`]); the caller merges lanes.
//! Time and number of the stream decide alone which item is next, so that the order does
//! not depend on the number of threads.

use std::fmt;
use std::num::NonZeroUsize;
use std::thread;

use super::batch::{Batch, Decoded};
use super::lanes::Lanes;
use super::map::EventMap;
use super::merge::{Events, StreamInfo};
use super::stream::Item;
use crate::error::CtfError;

/// The items of all streams in order of time, whoever decodes them, with what was made of
/// each event.
///
/// Not an [`Iterator`], because an item borrows what the next one overwrites.
#[derive(Debug)]
pub struct Merged<'s, T> {
    streams: Vec<StreamInfo>,
    groups: Vec<Group<'s, T>>,
    /// Whether the item of the first group was handed out.
    taken: bool,
    /// The group that is first …
    first: usize,
    /// … up to this time and stream: those of the group after it.
    until: (i64, u32),
    resumes_ns: Option<i64>,
}

/// Puts the next batch in the place of one that is used up; whether there is one.
type Refill<'s, T> = dyn FnMut(&mut Batch<T>) -> bool + 's;

/// What is decoded together.
struct Group<'s, T> {
    batch: Batch<T>,
    refill: Box<Refill<'s, T>>,
}

impl<T> fmt::Debug for Group<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").finish_non_exhaustive()
    }
}

impl Events<'_> {
    /// Gives `consume` the items, decoded by up to `threads` threads: the caller's
    /// and others, which decode ahead of it by a bounded number of events. `map` gets
    /// every event on the thread that decodes it; every lane of streams has a `map` of
    /// its own. Items and their order are the same for any number.
    pub fn with_threads<T: Send, R>(
        mut self,
        threads: NonZeroUsize,
        mut map: impl EventMap<Made = T> + Clone + Send,
        consume: impl FnOnce(&mut Merged<'_, T>) -> R,
    ) -> R {
        let streams = self.take_streams();
        let workers = (threads.get() - 1).min(streams.len());
        if workers == 0 {
            let here = Group::new(move |batch| batch.fill(&mut self, &mut map));
            return consume(&mut Merged::new(streams, vec![here]));
        }
        let number = threads.get().min(streams.len());
        let sources = self.split(number).into_iter().map(|mut events| {
            let mut map = map.clone();
            move |batch: &mut Batch<T>| batch.fill(&mut events, &mut map)
        });
        let lanes = &Lanes::new(sources);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| lanes.work());
            }
            // Nobody takes what workers would still decode.
            let _close = lanes.close_later();
            let groups = 0..number;
            let groups = groups.map(|lane| Group::new(move |batch| lanes.next(lane, batch)));
            consume(&mut Merged::new(streams, groups.collect()))
        })
    }
}

impl<'s, T> Merged<'s, T> {
    fn new(streams: Vec<StreamInfo>, mut groups: Vec<Group<'s, T>>) -> Self {
        groups.retain_mut(Group::refill);
        Self {
            streams,
            groups,
            taken: false,
            first: 0,
            until: (i64::MIN, 0),
            resumes_ns: None,
        }
    }

    /// The streams; [`Decoded::stream`] is an index into it.
    pub fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    /// As [`Events::next_item`].
    ///
    /// # Errors
    /// As [`Events::next_item`].
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<Decoded<'_, T>>>, CtfError> {
        if std::mem::take(&mut self.taken) && !self.groups[self.first].advance() {
            self.groups.swap_remove(self.first);
            self.find_first();
        }
        let first = self.groups.get(self.first);
        if first.is_none_or(|group| group.batch.key() > self.until) {
            self.find_first();
        }
        let Some(group) = self.groups.get_mut(self.first) else {
            return Ok(None);
        };
        self.taken = true;
        let resumes_ns = &mut self.resumes_ns;
        group.batch.item().map_err(|failure| {
            let (error, resumes) = *failure;
            *resumes_ns = resumes;
            error
        })
    }

    /// Finds the group that is first, and until when.
    fn find_first(&mut self) {
        self.until = (i64::MAX, u32::MAX);
        let mut least = (i64::MAX, u32::MAX);
        for (at, group) in self.groups.iter().enumerate() {
            let key = group.batch.key();
            if at == 0 || key < least {
                self.until = if at == 0 { self.until } else { least };
                (self.first, least) = (at, key);
            } else {
                self.until = self.until.min(key);
            }
        }
    }

    /// As [`Events::resumes_ns`].
    pub fn resumes_ns(&self) -> Option<i64> {
        self.resumes_ns
    }
}

impl<'s, T> Group<'s, T> {
    fn new(refill: impl FnMut(&mut Batch<T>) -> bool + 's) -> Self {
        Self {
            batch: Batch::default(),
            refill: Box::new(refill),
        }
    }

    /// Goes to the next entry; whether there is one.
    #[inline]
    fn advance(&mut self) -> bool {
        self.batch.advance() || self.refill()
    }

    fn refill(&mut self) -> bool {
        (self.refill)(&mut self.batch)
    }
}
