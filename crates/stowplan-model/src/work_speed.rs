//! How long an iteration of the work kernel takes on a machine, by the working set that it walks over.

use std::collections::BTreeMap;

use crate::stack::Stack;

/// Working set in bytes that every core's first-level cache holds: up to it an iteration takes equally long.
pub const FIRST_LEVEL_BYTES: u64 = 16 << 10;

/// Working set in bytes beyond what a core has for itself of any cache; larger ones are taken for this.
const LARGEST_BYTES: u64 = 64 << 20;

/// Time of an iteration of the work kernel, by working set.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkSpeed {
    ns: f64,
    larger: Vec<(u64, f64)>,
}

impl WorkSpeed {
    /// The same time, in nanoseconds, for all working sets.
    #[must_use]
    pub const fn everywhere(ns: f64) -> Self {
        Self {
            ns,
            larger: Vec::new(),
        }
    }

    /// Nanoseconds within the first-level cache, and those of larger working sets by their size in bytes.
    #[must_use]
    pub fn new(ns: f64, larger: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut larger: Vec<(u64, f64)> = larger.into_iter().collect();
        larger.sort_by_key(|(bytes, _)| *bytes);
        Self { ns, larger }
    }

    /// Nanoseconds of an iteration within the first-level cache.
    #[must_use]
    pub fn ns(&self) -> f64 {
        self.ns
    }

    /// Nanoseconds of an iteration over so many bytes: as measured with the smallest working set that holds them, else
    /// with the largest.
    #[must_use]
    pub fn ns_of(&self, working_set_bytes: u64) -> f64 {
        if working_set_bytes <= FIRST_LEVEL_BYTES {
            return self.ns;
        }
        let mut larger = self.larger.iter();
        let holds = larger.find(|(bytes, _)| *bytes >= working_set_bytes);
        holds.or(self.larger.last()).map_or(self.ns, |(_, ns)| *ns)
    }

    /// Nanoseconds of an iteration by working set in bytes, ascending, for those beyond the first-level cache.
    #[must_use]
    pub fn larger(&self) -> &[(u64, f64)] {
        &self.larger
    }

    /// The working sets in bytes to measure for a stack, ascending, the first [`FIRST_LEVEL_BYTES`]. Those of the
    /// callbacks with work are grouped by powers of two, and the largest of each group stands for it.
    #[must_use]
    pub fn sizes(stack: &Stack) -> Vec<u64> {
        let callbacks = stack.nodes.iter().flat_map(|node| &node.callbacks);
        let working = callbacks.filter(|callback| callback.work.iterations.mean() > 0.0);
        let mut groups: BTreeMap<u64, u64> = BTreeMap::new();
        for callback in working {
            let bytes = callback.work.working_set_bytes.min(LARGEST_BYTES);
            if bytes > FIRST_LEVEL_BYTES {
                let largest = groups.entry(bytes.next_power_of_two()).or_default();
                *largest = bytes.max(*largest);
            }
        }
        let larger = groups.into_values();
        [FIRST_LEVEL_BYTES].into_iter().chain(larger).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_set_takes_as_long_as_the_smallest_that_holds_it() {
        let speed = WorkSpeed::new(1.0, [(2 << 20, 4.0), (100_000, 2.0)]);
        let ns = [0, FIRST_LEVEL_BYTES, 20_000, 100_000, 100_001, 1 << 30];
        assert_eq!(
            ns.map(|bytes| speed.ns_of(bytes)),
            [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
        );
        assert_eq!(speed.larger(), [(100_000, 2.0), (2 << 20, 4.0)]);
        assert_eq!(WorkSpeed::everywhere(1.5).ns_of(1 << 20), 1.5);
    }
}
