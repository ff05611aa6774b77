//! Streams merged by time.

use super::event::Event;
use super::join::{Overlap, Streams};
use super::stream::{Cursor, Item};
use crate::error::CtfError;
use crate::metadata::Metadata;
use crate::release::Behind;

/// A trace as bytes: its metadata and its stream files, in any order.
#[derive(Debug, Clone)]
pub struct TraceInput<'t> {
    /// The parsed metadata.
    pub metadata: &'t Metadata,
    /// Name, for errors, and content of each stream file.
    pub files: Vec<(&'t str, &'t [u8])>,
}

/// A stream of a trace: for LTTng what one CPU recorded in one channel, for
/// Stowplan what one thread recorded. Snapshots and rotated chunks of one trace
/// ([`Metadata::is_same_trace`]) hold parts of the same streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// Index of the trace that holds its first packets.
    pub trace: u32,
    /// Number of the stream's class in the metadata.
    pub class_id: u64,
    /// Number of the stream in its trace, where packets carry one.
    pub instance: Option<u64>,
    /// Its files in order of time.
    pub files: Vec<String>,
}

/// When the next item of a cursor is, and which cursor: one number, so that comparing
/// takes no branch, which would be one that no processor can foresee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Next(u128);

impl Next {
    pub fn new(time_ns: i64, cursor: u32) -> Self {
        let ascending = time_ns.cast_unsigned() ^ (1 << 63);
        Self((u128::from(ascending) << 32) | u128::from(cursor))
    }

    pub fn time_ns(self) -> i64 {
        ((self.0 >> 32) as u64 ^ (1 << 63)).cast_signed()
    }

    /// The same cursor at another time.
    fn at(self, time_ns: i64) -> Self {
        Self::new(time_ns, self.0 as u32)
    }

    /// Index of the cursor.
    pub fn cursor(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The items of all streams in order of time.
///
/// Not an [`Iterator`], because an event borrows what the next one overwrites.
#[derive(Debug, Default)]
pub struct Events<'t> {
    pub(super) cursors: Vec<Cursor<'t>>,
    streams: Vec<StreamInfo>,
    overlaps: Vec<Overlap>,
    /// A binary heap, earliest first.
    pub(super) heap: Vec<Next>,
    /// Whether the first of the heap was handed out already.
    pub(super) taken: bool,
}

impl<'t> Events<'t> {
    /// Begins to read traces. Only the first packet of each file is looked at here, and
    /// the headers of all packets of a stream that has files in several traces: a packet
    /// that several of them hold is read once.
    ///
    /// Traces whose clocks have one uuid are merged by the readings of that clock: all
    /// get the offset that the first of them has.
    ///
    /// # Errors
    /// If the first packet of a file cannot be read.
    pub fn new(traces: &[TraceInput<'t>]) -> Result<Self, CtfError> {
        Self::giving_back(traces, |_| None)
    }

    /// As [`Events::new`]; `behind` says how pages of a file can be given back once they were read.
    pub(crate) fn giving_back(
        traces: &[TraceInput<'t>],
        behind: impl Fn(&[u8]) -> Option<Behind<'t>>,
    ) -> Result<Self, CtfError> {
        let mut events = Self::default();
        let mut streams = Streams::default();
        for (trace, input) in (0u32..).zip(traces) {
            streams.add(trace, input, &behind)?;
        }
        let (joined, overlaps) = streams.join();
        events.overlaps = overlaps;
        for (index, stream) in (0u32..).zip(joined) {
            events.streams.push(stream.info());
            let cursor = Cursor::new(stream.instance, index, stream.parts);
            events.cursors.extend(cursor);
        }
        for (index, cursor) in (0u32..).zip(&mut events.cursors) {
            if let Some(time) = cursor.advance(&mut |_| true)? {
                events.heap.push(Next::new(time, index));
            }
            cursor.rest();
        }
        // A sorted list is a heap.
        events.heap.sort_unstable();
        Ok(events)
    }

    /// The streams; [`Event::stream`](super::Event::stream) is an index into it.
    pub fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    /// Packets that several traces hold.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// The next item in order of time, `None` after the last. Times never decrease,
    /// neither within a stream nor over all.
    ///
    /// # Errors
    /// With file and byte, where a stream is broken. What was read before holds, and
    /// reading can go on: the stream with its next packet, if that can be found.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<Event<'_>>>, CtfError> {
        Ok(self
            .next_cursor(&mut |_| true)?
            .map(|(_, cursor)| cursor.item()))
    }

    /// The cursor that is at the next item that is kept, and the item's time.
    #[inline]
    pub(super) fn next_cursor(
        &mut self,
        keeps: &mut impl FnMut(&Event<'_>) -> bool,
    ) -> Result<Option<(i64, &Cursor<'t>)>, CtfError> {
        if self.taken {
            self.taken = false;
            self.advance_first(keeps)?;
        }
        let Some(&first) = self.heap.first() else {
            return Ok(None);
        };
        self.taken = true;
        let cursor = self.cursors.get(first.cursor());
        Ok(cursor.map(|cursor| (first.time_ns(), cursor)))
    }

    /// Time and stream of the first item.
    pub(super) fn first_key(&self) -> (i64, u32) {
        let first = self.heap.first();
        let key = |next: &Next| (next.time_ns(), self.cursors[next.cursor()].index());
        first.map_or((i64::MAX, u32::MAX), key)
    }

    /// The streams, which are no longer here.
    pub(super) fn take_streams(&mut self) -> Vec<StreamInfo> {
        std::mem::take(&mut self.streams)
    }

    fn advance_first(
        &mut self,
        keeps: &mut impl FnMut(&Event<'_>) -> bool,
    ) -> Result<(), CtfError> {
        let Some(first) = self.heap.first_mut() else {
            return Ok(());
        };
        let cursor = &mut self.cursors[first.cursor()];
        match cursor.advance(keeps) {
            Ok(Some(time)) => *first = first.at(time),
            Ok(None) => {
                self.heap.swap_remove(0);
            }
            Err(error) => {
                // The next call goes on with the same stream.
                self.taken = true;
                return Err(error);
            }
        }
        self.sift_down();
        Ok(())
    }

    /// After an error: when the stream that is broken goes on, nanoseconds since the
    /// epoch; `None` if it ends there.
    pub fn resumes_ns(&self) -> Option<i64> {
        self.cursors.get(self.heap.first()?.cursor())?.resumes_ns()
    }

    /// Moves the first of the heap to where it belongs.
    #[inline]
    fn sift_down(&mut self) {
        let heap = self.heap.as_mut_slice();
        let Some(&first) = heap.first() else {
            return;
        };
        let last = heap.len() - 1;
        let mut at = 0;
        while 2 * at < last {
            let left = 2 * at + 1;
            // Where there is no right one, the left one is compared with itself.
            let right = (left + 1).min(last);
            let least = left + usize::from(heap[right] < heap[left]);
            if first <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = first;
    }
}
