//! Latency of the instances of a chain over the time of the trace.

use serde::Serialize;
use stowplan_trace::{Analysis, ChainResult};

/// Most points of a chain: of more instances the fastest and the slowest of each stretch stand for it.
const MOST: usize = 600;

/// Points in order of time.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct OverTime {
    /// Instances that the points are of.
    of: usize,
    /// When the outputs were published, ns since the first event of the trace, each less the one before.
    at: Vec<i64>,
    /// End to end from the start of the first callback, ns.
    start: Vec<i64>,
    /// From the first publication, ns; null where that was not found.
    publication: Vec<Option<i64>>,
}

/// `origin_ns`: first event of the trace.
pub(super) fn of(analysis: &Analysis, chain: &ChainResult, origin_ns: i64) -> OverTime {
    let e2e: Vec<i64> = chain.instances.iter().map(|i| i.e2e_ns).collect();
    let mut over_time = OverTime {
        of: e2e.len(),
        at: Vec::new(),
        start: Vec::new(),
        publication: Vec::new(),
    };
    let mut before_ns = origin_ns;
    for index in kept(&e2e, MOST) {
        let instance = &chain.instances[index];
        over_time.at.push(instance.output_ns - before_ns);
        before_ns = instance.output_ns;
        over_time.start.push(instance.e2e_ns);
        let publication = analysis.since_publication_ns(instance);
        over_time.publication.push(publication);
    }
    over_time
}

/// Which values are kept: all of a few, else the least and the largest of stretches of equal length.
fn kept(values: &[i64], most: usize) -> Vec<usize> {
    if values.len() <= most {
        return (0..values.len()).collect();
    }
    let stretches = most / 2;
    let mut kept = Vec::with_capacity(most);
    for stretch in 0..stretches {
        let range = stretch * values.len() / stretches..(stretch + 1) * values.len() / stretches;
        let least = range.clone().min_by_key(|&at| values[at]);
        let largest = range.max_by_key(|&at| values[at]);
        if let (Some(least), Some(largest)) = (least, largest) {
            kept.push(least.min(largest));
            if least != largest {
                kept.push(least.max(largest));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_largest_of_each_stretch_are_kept() {
        assert_eq!(kept(&[5, 1, 9], 4), [0, 1, 2]);
        assert_eq!(kept(&[5, 1, 9, 4, 4, 4, 7, 2], 4), [1, 2, 6, 7]);
        assert_eq!(kept(&[4, 4, 4, 4, 4, 4], 2), [0, 5]);
        assert_eq!(kept(&[], 4), [0; 0]);
    }
}
