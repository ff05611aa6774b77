//! Decoding ahead of the caller, on threads of its own.
//!
//! The streams are dealt to workers. Each merges its own by time, makes of every event
//! what the caller wants of it, and hands over batches of that; the caller merges those.
//! Time and number of the stream decide alone which item is next, so that the order does
//! not depend on the number of threads.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use super::batch::{Batch, Decoded};
use super::event::Event;
use super::merge::{Events, StreamInfo};
use super::stream::Item;
use crate::error::CtfError;

/// Batches of all workers that may wait for the caller: to wake a thread takes as long as
/// several batches, and with few of them caller and workers would sleep in turn.
const AHEAD: usize = 32;
/// Of each worker at least so many.
const LEAST_AHEAD: usize = 2;

/// The items of all streams in order of time, whoever decodes them, with what was made of
/// each event.
///
/// Not an [`Iterator`], because an item borrows what the next one overwrites.
#[derive(Debug)]
pub struct Merged<'s, T> {
    streams: Vec<StreamInfo>,
    groups: Vec<Group<'s, T>>,
    /// Whose item was handed out.
    taken: Option<usize>,
    resumes_ns: Option<i64>,
}

/// Puts the next batch in the place of one that is used up; whether there is one.
type Refill<'s, T> = dyn FnMut(&mut Batch<T>) -> bool + 's;

/// What one thread decodes.
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
    /// and others, which decode ahead of it by a bounded number of events. `make` is
    /// called for every event by the thread that decodes it, which has a `make` of its
    /// own. Items and their order are the same for any number.
    pub fn with_threads<T: Send, R>(
        mut self,
        threads: NonZeroUsize,
        mut make: impl FnMut(&Event<'_>) -> T + Clone + Send,
        consume: impl FnOnce(&mut Merged<'_, T>) -> R,
    ) -> R {
        let streams = self.take_streams();
        let workers = (threads.get() - 1).min(streams.len());
        if workers == 0 {
            let here = Group::new(move |batch| batch.fill(&mut self, &mut make));
            return consume(&mut Merged::new(streams, vec![here]));
        }
        let ahead = (AHEAD / workers).max(LEAST_AHEAD);
        thread::scope(|scope| {
            let groups = self.split(workers).into_iter().map(|events| {
                let (full, filled) = sync_channel(ahead);
                let (empty, emptied) = channel();
                let make = make.clone();
                scope.spawn(move || decode(events, make, &full, &emptied));
                Group::new(move |batch| {
                    let next: Option<Batch<T>> = filled.recv().ok();
                    let used = next.map(|next| std::mem::replace(batch, next));
                    // A worker that has ended needs it no more.
                    used.map(|used| empty.send(used)).is_some()
                })
            });
            // It is gone before the scope ends: nobody takes what workers still decode.
            consume(&mut Merged::new(streams, groups.collect()))
        })
    }
}

/// What a worker does.
fn decode<T>(
    mut events: Events<'_>,
    mut make: impl FnMut(&Event<'_>) -> T,
    full: &SyncSender<Batch<T>>,
    empty: &Receiver<Batch<T>>,
) {
    loop {
        let mut batch = empty.try_recv().unwrap_or_default();
        if !batch.fill(&mut events, &mut make) || full.send(batch).is_err() {
            return;
        }
    }
}

impl<'s, T> Merged<'s, T> {
    fn new(streams: Vec<StreamInfo>, mut groups: Vec<Group<'s, T>>) -> Self {
        groups.retain_mut(Group::refill);
        Self {
            streams,
            groups,
            taken: None,
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
        if let Some(at) = self.taken.take()
            && !self.groups[at].advance()
        {
            self.groups.swap_remove(at);
        }
        let keys = self.groups.iter().map(|group| group.batch.key());
        let Some((at, _)) = keys.enumerate().min_by_key(|(_, key)| *key) else {
            return Ok(None);
        };
        self.taken = Some(at);
        let resumes_ns = &mut self.resumes_ns;
        self.groups[at].batch.item().map_err(|failure| {
            let (error, resumes) = *failure;
            *resumes_ns = resumes;
            error
        })
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
