//! Decoding ahead of the caller, on threads of its own.
//!
//! The streams are dealt to workers. Each merges its own by time and hands over
//! batches of events, copied out of their packets; the caller merges those. Time and
//! number of the stream decide alone which item is next, so that the order does not
//! depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::batch::Batch;
use super::merge::{Events, StreamInfo};
use super::stream::Item;
use crate::error::CtfError;

/// Batches of a worker that may wait for the caller.
const AHEAD: usize = 2;

/// The items of all streams in order of time, whoever decodes them.
///
/// Not an [`Iterator`], because an event borrows what the next one overwrites.
#[derive(Debug)]
pub struct Merged<'t> {
    streams: Vec<StreamInfo>,
    source: Source<'t>,
}

#[derive(Debug)]
enum Source<'t> {
    /// The caller decodes.
    Here(Events<'t>),
    Ahead {
        groups: Vec<Group<'t>>,
        /// Whose item was handed out.
        taken: Option<usize>,
        resumes_ns: Option<i64>,
    },
}

/// What a worker decodes.
#[derive(Debug)]
struct Group<'t> {
    full: Receiver<Batch<'t>>,
    empty: Sender<Batch<'t>>,
    batch: Batch<'t>,
}

impl<'t> Events<'t> {
    /// Gives `consume` the items, decoded by up to `threads` threads: the caller's
    /// and others, which decode ahead of it by a bounded number of events. Items and
    /// their order are the same for any number.
    pub fn with_threads<R>(
        mut self,
        threads: NonZeroUsize,
        consume: impl FnOnce(&mut Merged<'t>) -> R,
    ) -> R {
        let streams = self.take_streams();
        let workers = (threads.get() - 1).min(streams.len());
        if workers == 0 {
            let source = Source::Here(self);
            return consume(&mut Merged { streams, source });
        }
        thread::scope(|scope| {
            let groups = self.split(workers).into_iter().map(|events| {
                let (full, filled) = sync_channel(AHEAD);
                let (empty, emptied) = channel();
                scope.spawn(move || decode(events, &full, &emptied));
                Group {
                    full: filled,
                    empty,
                    batch: Batch::default(),
                }
            });
            let source = Source::Ahead {
                groups: groups.collect(),
                taken: None,
                resumes_ns: None,
            };
            let mut merged = Merged { streams, source };
            merged.begin();
            // It is gone before the scope ends: nobody takes what workers still decode.
            consume(&mut merged)
        })
    }
}

/// What a worker does.
fn decode<'t>(mut events: Events<'t>, full: &SyncSender<Batch<'t>>, empty: &Receiver<Batch<'t>>) {
    loop {
        let mut batch = empty.try_recv().unwrap_or_default();
        let more = batch.fill(&mut events);
        if full.send(batch).is_err() || !more {
            return;
        }
    }
}

impl<'t> Merged<'t> {
    /// The streams; [`Event::stream`](super::Event::stream) is an index into it.
    pub fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    /// Waits for the first batch of each worker.
    fn begin(&mut self) {
        if let Source::Ahead { groups, .. } = &mut self.source {
            groups.retain_mut(Group::refill);
        }
    }

    /// As [`Events::next_item`].
    ///
    /// # Errors
    /// As [`Events::next_item`].
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, CtfError> {
        match &mut self.source {
            Source::Here(events) => events.next_item(),
            Source::Ahead {
                groups,
                taken,
                resumes_ns,
            } => {
                if let Some(at) = taken.take()
                    && !groups[at].advance()
                {
                    groups.swap_remove(at);
                }
                let keys = groups.iter().map(|group| group.batch.key());
                let Some((at, _)) = keys.enumerate().min_by_key(|(_, key)| *key) else {
                    return Ok(None);
                };
                *taken = Some(at);
                groups[at].batch.item().map_err(|failure| {
                    let (error, resumes) = *failure;
                    *resumes_ns = resumes;
                    error
                })
            }
        }
    }

    /// As [`Events::resumes_ns`].
    pub fn resumes_ns(&self) -> Option<i64> {
        match &self.source {
            Source::Here(events) => events.resumes_ns(),
            Source::Ahead { resumes_ns, .. } => *resumes_ns,
        }
    }
}

impl Group<'_> {
    /// Goes to the next entry; whether there is one.
    #[inline]
    fn advance(&mut self) -> bool {
        self.batch.advance() || self.refill()
    }

    /// Gets the next batch that is not empty.
    fn refill(&mut self) -> bool {
        while let Ok(batch) = self.full.recv() {
            let used = std::mem::replace(&mut self.batch, batch);
            // A worker that has ended needs it no more.
            let _ = self.empty.send(used);
            if self.batch.has_next() {
                return true;
            }
        }
        false
    }
}
