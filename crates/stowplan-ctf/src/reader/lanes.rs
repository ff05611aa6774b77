//! Who decodes what next, when several threads do.
//!
//! The streams lie in lanes, each with a source that makes batches of its items in their order. Whoever has time decodes
//! the next batch of the lane that has least in store: workers ahead of the caller, and the caller itself rather than
//! wait. A lane's source is with one thread at a time, so that its batches stay in order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::batch::Batch;

/// Batches of all lanes that may wait for the caller: to wake a thread takes as long as several batches, and with few of
/// them caller and workers would sleep in turn.
const AHEAD: usize = 32;
/// Of each lane at least so many.
const LEAST_AHEAD: usize = 2;
/// How often the caller looks again before it sleeps: a batch is decoded sooner than a thread wakes.
const LOOKS: u32 = 64;

/// Lanes that threads share. `S` puts the next batch in the place of one that is used up, and tells whether there is one.
#[derive(Debug)]
pub(super) struct Lanes<S, T> {
    board: Mutex<Board<S, T>>,
    /// There is room for a batch, or nothing to do any more.
    room: Condvar,
    /// A batch is there that the caller waits for.
    filled: Condvar,
}

#[derive(Debug)]
struct Board<S, T> {
    lanes: Vec<Lane<S, T>>,
    /// Batches to be filled anew.
    empty: Vec<Batch<T>>,
    /// Batches of a lane that may wait.
    ahead: usize,
    /// Workers that sleep.
    idle: usize,
    /// The caller sleeps.
    waits: bool,
    /// The caller wants no more.
    closed: bool,
}

#[derive(Debug)]
struct Lane<S, T> {
    /// `None` while a thread decodes, and at the end.
    source: Option<S>,
    full: VecDeque<Batch<T>>,
    ended: bool,
}

type Locked<'l, S, T> = MutexGuard<'l, Board<S, T>>;

impl<S: FnMut(&mut Batch<T>) -> bool, T> Lanes<S, T> {
    pub fn new(sources: impl IntoIterator<Item = S>) -> Self {
        let lane = |source| Lane {
            source: Some(source),
            full: VecDeque::new(),
            ended: false,
        };
        let lanes: Vec<_> = sources.into_iter().map(lane).collect();
        Self {
            board: Mutex::new(Board {
                ahead: (AHEAD / lanes.len().max(1)).max(LEAST_AHEAD),
                lanes,
                empty: Vec::new(),
                idle: 0,
                waits: false,
                closed: false,
            }),
            room: Condvar::new(),
            filled: Condvar::new(),
        }
    }

    /// Nobody panics with the lock.
    fn lock(&self) -> Locked<'_, S, T> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes until there is nothing more to decode, or the caller wants no more.
    pub fn work(&self) {
        let mut board = self.lock();
        while !board.closed && board.lanes.iter().any(|lane| !lane.ended) {
            if let Some(lane) = board.emptiest() {
                board = self.decode(board, lane);
                if std::mem::take(&mut board.waits) {
                    self.filled.notify_one();
                }
            } else {
                board.idle += 1;
                let woken = self.room.wait(board);
                board = woken.unwrap_or_else(PoisonError::into_inner);
                board.idle -= 1;
            }
        }
    }

    /// Puts the next batch of a lane in the place of one that is used up; whether there is one.
    pub fn next(&self, lane: usize, batch: &mut Batch<T>) -> bool {
        let mut board = self.lock();
        board.empty.push(std::mem::take(batch));
        let mut looks = 0;
        loop {
            if let Some(next) = board.lanes[lane].full.pop_front() {
                *batch = next;
                // They sleep until there is enough to do.
                if board.idle > 0 && board.lanes[lane].full.len() <= board.ahead / 2 {
                    self.room.notify_one();
                }
                return true;
            }
            if board.lanes[lane].ended {
                return false;
            }
            let free = board.lanes[lane].source.is_some().then_some(lane);
            if let Some(free) = free.or_else(|| board.emptiest()) {
                board = self.decode(board, free);
            } else if looks < LOOKS {
                looks += 1;
                drop(board);
                thread::yield_now();
                board = self.lock();
            } else {
                board.waits = true;
                let woken = self.filled.wait(board);
                board = woken.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Decodes a batch of a lane whose source is here; others go on meanwhile.
    fn decode<'l>(&'l self, mut board: Locked<'l, S, T>, lane: usize) -> Locked<'l, S, T> {
        let Some(mut source) = board.lanes[lane].source.take() else {
            return board;
        };
        let mut batch = board.empty.pop().unwrap_or_default();
        drop(board);
        let unless_it_panics = End { lanes: self, lane };
        let is_filled = source(&mut batch);
        if !is_filled {
            drop(unless_it_panics);
            return self.lock();
        }
        std::mem::forget(unless_it_panics);
        let mut board = self.lock();
        board.lanes[lane].source = Some(source);
        board.lanes[lane].full.push_back(batch);
        board
    }

    /// The caller wants no more, once this is dropped.
    pub fn close_later(&self) -> Close<'_, S, T> {
        Close(self)
    }
}

impl<S, T> Board<S, T> {
    /// The lane that has least in store, of those that have room and that nobody is at.
    fn emptiest(&self) -> Option<usize> {
        let lanes = self.lanes.iter().enumerate();
        let open = lanes.filter(|(_, lane)| lane.source.is_some() && lane.full.len() < self.ahead);
        open.min_by_key(|(_, lane)| lane.full.len())
            .map(|(at, _)| at)
    }
}

/// Ends a lane, also when what decodes it panics: else the caller would wait for ever.
struct End<'l, S, T> {
    lanes: &'l Lanes<S, T>,
    lane: usize,
}

impl<S, T> Drop for End<'_, S, T> {
    fn drop(&mut self) {
        let board = self.lanes.board.lock();
        let mut board = board.unwrap_or_else(PoisonError::into_inner);
        board.lanes[self.lane].ended = true;
        board.waits = false;
        drop(board);
        self.lanes.filled.notify_one();
        self.lanes.room.notify_all();
    }
}

/// See [`Lanes::close_later`].
pub(super) struct Close<'l, S, T>(&'l Lanes<S, T>);

impl<S, T> Drop for Close<'_, S, T> {
    fn drop(&mut self) {
        let board = self.0.board.lock();
        board.unwrap_or_else(PoisonError::into_inner).closed = true;
        self.0.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Source = Box<dyn FnMut(&mut Batch<()>) -> bool + Send>;

    fn panicking() -> Source {
        Box::new(|_| panic!("a source that panics"))
    }

    #[test]
    fn a_lane_whose_source_panics_ends() {
        let lanes = Lanes::new([panicking()]);
        let worker = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lanes.work()));
        assert!(worker.is_err());
        assert!(!lanes.next(0, &mut Batch::default()));
    }

    #[test]
    fn a_worker_ends_with_the_caller() {
        let endless: Source = Box::new(|_| true);
        let lanes = Lanes::new([endless]);
        thread::scope(|scope| {
            scope.spawn(|| lanes.work());
            let _close = lanes.close_later();
            assert!(lanes.next(0, &mut Batch::default()));
        });
    }
}
