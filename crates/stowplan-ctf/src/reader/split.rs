//! Dealing streams to readers of their own.

use std::cmp::Reverse;

use super::merge::{Events, Next};
use super::stream::Cursor;

impl Events<'_> {
    /// Deals the streams to `parts`, so that each gets about as many bytes at any time.
    pub(super) fn split(self, parts: usize) -> Vec<Self> {
        let mut times = vec![None; self.cursors.len()];
        for next in &self.heap {
            times[next.cursor()] = Some(next.time_ns());
        }
        let begins = times.iter().map(|time| time.unwrap_or(i64::MAX));
        let sizes = self.cursors.iter().map(Cursor::size);
        let streams: Vec<(i64, usize)> = begins.zip(sizes).collect();
        let owners = deal(&streams, parts);
        let first = self.heap.first().map(|first| first.cursor());
        let mut split: Vec<Self> = (0..parts).map(|_| Self::default()).collect();
        // Each part keeps their order, by which items of one time are merged.
        for (at, cursor) in self.cursors.into_iter().enumerate() {
            let part = &mut split[owners[at]];
            let here = u32::try_from(part.cursors.len()).unwrap_or(u32::MAX);
            part.heap
                .extend(times[at].map(|time| Next::new(time, here)));
            part.taken |= self.taken && first == Some(at);
            part.cursors.push(cursor);
        }
        for part in &mut split {
            // A sorted list is a heap.
            part.heap.sort_unstable();
        }
        split
    }
}

/// Streams of one recording begin within this, nanoseconds.
const TOGETHER_NS: i64 = 1_000_000_000;

/// Whose each is, by their begins and sizes: of those that begin together the largest first, to the one that has least.
fn deal(streams: &[(i64, usize)], parts: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..streams.len()).collect();
    order.sort_by_key(|&at| {
        let (begin_ns, size) = streams[at];
        (begin_ns.div_euclid(TOGETHER_NS), Reverse(size))
    });
    let mut dealt = vec![0; parts];
    let mut owners = vec![0; streams.len()];
    for at in order {
        if let Some(least) = (0..parts).min_by_key(|&part| dealt[part]) {
            dealt[least] += streams[at].1;
            owners[at] = least;
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_about_as_much() {
        let at_once = |sizes: &[usize]| sizes.iter().map(|&size| (5, size)).collect::<Vec<_>>();
        assert_eq!(deal(&at_once(&[1, 9, 4, 4, 2]), 2), [0, 0, 1, 1, 1]);
        assert_eq!(deal(&at_once(&[5, 5]), 3), [0, 1]);
        assert_eq!(deal(&[], 2), [0; 0]);
    }

    #[test]
    fn each_has_some_at_any_time() {
        let later = TOGETHER_NS;
        let streams = [(0, 9), (0, 8), (later, 9), (later, 8)];
        assert_eq!(deal(&streams, 2), [0, 1, 1, 0]);
    }
}
