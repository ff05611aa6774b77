//! Means over blocks of time, in bounded memory.
//!
//! The spread of a figure over blocks of time says how much of a difference between two traces means nothing. Blocks are
//! as wide as a power of two of nanoseconds and begin at multiples of it. When there would be too many, each two become
//! one: their number has a limit, whatever the length of the trace.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::graph::Graph;
use crate::ids::{CallbackId, Id};
use crate::window::Window;

/// Most blocks of a trace.
const MOST: i64 = 32;
/// Width of the narrowest blocks: about a millisecond, as a power of two of nanoseconds.
const NARROWEST: u32 = 20;

/// Values of one thing, summed by block.
#[derive(Debug, Default)]
struct Blocks {
    /// Width of a block, as a power of two of nanoseconds.
    shift: u32,
    /// Number of the first block: time divided by width.
    first: i64,
    /// By block, how many values and their sum.
    sums: VecDeque<(u32, i64)>,
}

impl Blocks {
    fn add(&mut self, time_ns: i64, value: i64) {
        if self.sums.is_empty() {
            self.shift = NARROWEST;
            self.first = time_ns >> self.shift;
        }
        let mut at = time_ns >> self.shift;
        while self.last().max(at) - self.first.min(at) >= MOST {
            self.widen(self.shift + 1);
            at = time_ns >> self.shift;
        }
        for _ in at..self.first {
            self.sums.push_front((0, 0));
        }
        self.first = self.first.min(at);
        let index = (at - self.first) as usize;
        if self.sums.len() <= index {
            self.sums.resize(index + 1, (0, 0));
        }
        let (count, sum) = &mut self.sums[index];
        *count = count.saturating_add(1);
        *sum = sum.saturating_add(value);
    }

    fn last(&self) -> i64 {
        self.first + (self.sums.len() as i64 - 1).max(0)
    }

    /// Makes blocks as wide as this, if they are narrower.
    fn widen(&mut self, shift: u32) {
        while self.shift < shift && !self.sums.is_empty() {
            let mut wider: VecDeque<(u32, i64)> = VecDeque::with_capacity(MOST as usize);
            for (index, of) in self.sums.iter().enumerate() {
                let at = ((self.first + index as i64) >> 1) - (self.first >> 1);
                if wider.len() as i64 <= at {
                    wider.push_back((0, 0));
                }
                let into = &mut wider[at as usize];
                into.0 = into.0.saturating_add(of.0);
                into.1 = into.1.saturating_add(of.1);
            }
            self.sums = wider;
            self.first >>= 1;
            self.shift += 1;
        }
    }

    /// Count and sum of the blocks that have any, of those that begin after `from_ns` and end before `to_ns`, all as
    /// wide as this.
    fn whole(mut self, shift: u32, from_ns: i64, to_ns: i64) -> Vec<(f64, f64)> {
        self.widen(shift);
        let whole = (from_ns >> shift) + 1..to_ns >> shift;
        let sums = self.sums.iter().enumerate();
        sums.filter(|(index, of)| of.0 > 0 && whole.contains(&(self.first + *index as i64)))
            .map(|(_, of)| (f64::from(of.0), of.1 as f64))
            .collect()
    }
}

/// The width at which this span has at most [`MOST`] blocks.
fn width_of(extent: Window) -> u32 {
    let mut shift = NARROWEST;
    while (extent.to_ns >> shift) - (extent.from_ns >> shift) >= MOST {
        shift += 1;
    }
    shift
}

/// Means over blocks of the time from the first to the last of these values (time, value), both in nanoseconds. The first
/// and the last block, which are not whole, are left out.
#[must_use]
pub fn block_means(values: impl IntoIterator<Item = (i64, i64)>) -> Vec<f64> {
    let mut blocks = Blocks::default();
    let mut extent: Option<Window> = None;
    for (time_ns, value) in values {
        blocks.add(time_ns, value);
        let of = extent.get_or_insert(Window {
            from_ns: time_ns,
            to_ns: time_ns,
        });
        of.from_ns = of.from_ns.min(time_ns);
        of.to_ns = of.to_ns.max(time_ns);
    }
    let Some(extent) = extent else {
        return Vec::new();
    };
    let shift = width_of(extent);
    means(blocks.whole(shift, extent.from_ns, extent.to_ns))
}

fn means(blocks: Vec<(f64, f64)>) -> Vec<f64> {
    blocks.into_iter().map(|(count, sum)| sum / count).collect()
}

/// A callback so far.
#[derive(Debug, Default)]
struct OfCallback {
    first_ns: Option<i64>,
    last_ns: i64,
    longest_ns: i64,
    /// By the start of a call: time since the call before.
    intervals: Blocks,
    durations: Blocks,
}

/// Callbacks and edges by block of time, while a trace is read.
#[derive(Debug, Default)]
pub(crate) struct ByBlock {
    callbacks: Vec<OfCallback>,
    edges: FxHashMap<(CallbackId, CallbackId), (i64, Blocks)>,
}

impl ByBlock {
    /// A call began; `whole(from, to)` says whether no event between these times was lost. Calls of a callback come in
    /// the order in which they began.
    pub fn began(&mut self, callback: CallbackId, at_ns: i64, whole: impl Fn(i64, i64) -> bool) {
        let of = self.callback(callback);
        match of.first_ns {
            None => of.first_ns = Some(at_ns),
            Some(_) if whole(of.last_ns, at_ns) => {
                let interval = at_ns - of.last_ns;
                of.longest_ns = of.longest_ns.max(interval);
                of.intervals.add(at_ns, interval);
            }
            Some(_) => {}
        }
        of.last_ns = at_ns;
    }

    /// A call that counts has ended.
    pub fn ended(&mut self, callback: CallbackId, began_ns: i64, duration_ns: i64) {
        let of = self.callback(callback);
        of.durations.add(began_ns, duration_ns);
    }

    /// A message got from a callback to another.
    pub fn arrived(&mut self, ends: (CallbackId, CallbackId), at_ns: i64, latency_ns: i64) {
        let (first_ns, blocks) = self.edges.entry(ends).or_insert((at_ns, Blocks::default()));
        *first_ns = at_ns.min(*first_ns);
        blocks.add(at_ns, latency_ns);
    }

    fn callback(&mut self, callback: CallbackId) -> &mut OfCallback {
        let index = callback.index();
        if self.callbacks.len() <= index {
            self.callbacks.resize_with(index + 1, OfCallback::default);
        }
        &mut self.callbacks[index]
    }
}

/// A callback over whole blocks of time: from the one after its first call to the last but one of the trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallbackBlocks {
    /// Mean duration of the calls that began in a block, nanoseconds; of blocks in which any did.
    pub durations_ns: Vec<f64>,
    /// Calls per second: one over the mean time since the call before. Zero in blocks at the end of a process that lie
    /// further after the last call than any two calls before lay apart.
    pub rates_per_s: Vec<f64>,
}

/// Means of callbacks and edges over blocks of time, all of equal width: at most 32 over the trace.
#[derive(Debug, Default)]
pub struct TimeBlocks {
    callbacks: Vec<CallbackBlocks>,
    edges: FxHashMap<(CallbackId, CallbackId), Vec<f64>>,
}

impl TimeBlocks {
    /// `extent`: the first and the last event of the trace.
    pub(crate) fn of(by_block: ByBlock, graph: &Graph, extent: Option<Window>) -> Self {
        let Some(extent) = extent else {
            return Self::default();
        };
        let shift = width_of(extent);
        let ids = graph.callbacks.ids();
        let callbacks = ids.zip(by_block.callbacks).map(|(id, of)| {
            let process = &graph.processes[graph.callbacks[id].process];
            of.blocks(shift, extent.to_ns, process.last_ns)
        });
        let edges = by_block
            .edges
            .into_iter()
            .map(|(ends, (first_ns, of))| (ends, means(of.whole(shift, first_ns, extent.to_ns))));
        Self {
            callbacks: callbacks.collect(),
            edges: edges.collect(),
        }
    }

    /// A callback that was called; `None` of one that was not.
    #[must_use]
    pub fn callback(&self, callback: CallbackId) -> Option<&CallbackBlocks> {
        self.callbacks.get(callback.index())
    }

    /// Mean time in nanoseconds from publication to callback, by block.
    #[must_use]
    pub fn edge(&self, from: CallbackId, to: CallbackId) -> Option<&[f64]> {
        self.edges.get(&(from, to)).map(Vec::as_slice)
    }
}

impl OfCallback {
    fn blocks(self, shift: u32, trace_to_ns: i64, process_to_ns: i64) -> CallbackBlocks {
        let Some(first_ns) = self.first_ns else {
            return CallbackBlocks::default();
        };
        let intervals = self.intervals.whole(shift, first_ns, trace_to_ns);
        let rates = intervals.into_iter().map(|(count, sum)| count * 1e9 / sum);
        let silent_from_ns = self.last_ns.saturating_add(self.longest_ns);
        let silent = (process_to_ns >> shift) - (silent_from_ns >> shift) - 1;
        let silent = std::iter::repeat_n(0.0, silent.max(0) as usize);
        CallbackBlocks {
            durations_ns: means(self.durations.whole(shift, first_ns, trace_to_ns)),
            rates_per_s: rates
                .filter(|rate| rate.is_finite())
                .chain(silent)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn blocks_stay_few_and_lose_nothing() {
        let mut blocks = Blocks::default();
        let mut total = 0;
        // Later, earlier and far later than what is there.
        for time in (0..1000)
            .map(|i| 5 * SECOND + i * 7_000_003)
            .chain([4 * SECOND, 3_600 * SECOND])
        {
            blocks.add(time, time % 1000);
            total += time % 1000;
            assert!(blocks.sums.len() as i64 <= MOST);
        }
        let (count, sum) = blocks
            .sums
            .iter()
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert_eq!((count, sum), (1002, total));
    }

    /// By hand: values of each second are its number; the blocks are 2^30 ns wide.
    #[test]
    fn means_are_of_whole_blocks() {
        let values = (0..20 * 10).map(|i| (i * SECOND / 10, 100 * ((i * SECOND / 10) >> 30)));
        let expected: Vec<f64> = (1..18).map(|second| f64::from(second) * 100.0).collect();
        assert_eq!(block_means(values), expected);
        assert_eq!(block_means([]), [0.0; 0]);
    }

    #[test]
    fn a_callback_that_stops_has_blocks_without_calls() {
        let mut of = OfCallback::default();
        let mut by = ByBlock::default();
        let id = CallbackId::new(0);
        for call in 0..50 {
            by.began(id, call * SECOND / 10, |_, _| true);
            by.ended(id, call * SECOND / 10, 1_000);
        }
        std::mem::swap(&mut of, &mut by.callbacks[0]);
        let blocks = of.blocks(29, 20 * SECOND, 20 * SECOND);
        let (calls, silent): (Vec<f64>, Vec<f64>) =
            blocks.rates_per_s.iter().partition(|rate| **rate > 0.0);
        assert!(calls.iter().all(|rate| (rate - 10.0).abs() < 1e-9));
        assert_eq!((calls.len(), silent.len()), (9, 27));
        assert_eq!(blocks.durations_ns, [1_000.0; 9]);
    }

    #[test]
    fn a_hole_is_no_interval() {
        let mut by = ByBlock::default();
        let id = CallbackId::new(0);
        for call in (0..50).chain(90..200) {
            by.began(id, call * SECOND / 10, |from, to| to - from < SECOND);
        }
        let of = by.callbacks.remove(0);
        let blocks = of.blocks(29, 20 * SECOND, 20 * SECOND);
        assert!(
            blocks
                .rates_per_s
                .iter()
                .all(|rate| (rate - 10.0).abs() < 1e-9)
        );
    }
}
