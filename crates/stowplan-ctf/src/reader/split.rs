//! Dealing streams to readers of their own.

use std::cmp::Reverse;

use super::merge::{Events, Next};
use super::stream::Cursor;

impl Events<'_> {
    /// Deals the streams to `parts`, so that each gets about as many bytes.
    pub(super) fn split(self, parts: usize) -> Vec<Self> {
        let sizes: Vec<usize> = self.cursors.iter().map(Cursor::size).collect();
        let owners = deal(&sizes, parts);
        let mut times = vec![None; sizes.len()];
        for next in &self.heap {
            times[next.cursor()] = Some(next.time_ns());
        }
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

/// Whose each is: the largest first, to the one that has least.
fn deal(sizes: &[usize], parts: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| Reverse(sizes[at]));
    let mut dealt = vec![0; parts];
    let mut owners = vec![0; sizes.len()];
    for at in order {
        if let Some(least) = (0..parts).min_by_key(|&part| dealt[part]) {
            dealt[least] += sizes[at];
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
        assert_eq!(deal(&[1, 9, 4, 4, 2], 2), [0, 0, 1, 1, 1]);
        assert_eq!(deal(&[5, 5], 3), [0, 1]);
        assert_eq!(deal(&[], 2), [0; 0]);
    }
}
