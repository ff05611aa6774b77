//! The latency of a chain around a start.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_measure::RunError;
use stowplan_measure::collect::{RingFile, collect};
use stowplan_model::Chain;
use stowplan_trace::{Analysis, ChainSpec, Window};

/// Where an output of a chain lies in time, seen from a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Around {
    /// In the window before the request.
    Before,
    /// From the request until everything of the step is ready, and at least for a window.
    During,
    /// In the window after that.
    After,
}

impl Around {
    /// All of them, in order of time.
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    /// Metric of the median.
    #[must_use]
    pub const fn median(self) -> &'static str {
        match self {
            Self::Before => "before_start_e2e",
            Self::During => "during_start_e2e",
            Self::After => "after_start_e2e",
        }
    }

    /// Metric of the largest.
    #[must_use]
    pub const fn largest(self) -> &'static str {
        match self {
            Self::Before => "before_start_e2e_max",
            Self::During => "during_start_e2e_max",
            Self::After => "after_start_e2e_max",
        }
    }

    /// From when to when it is, for a start that was asked for and ready at these instants.
    pub(crate) fn window(self, asked_ns: u64, ready_ns: u64, window_ns: u64) -> (u64, u64) {
        let ready_ns = ready_ns.max(asked_ns + window_ns);
        match self {
            Self::Before => (asked_ns.saturating_sub(window_ns), asked_ns),
            Self::During => (asked_ns, ready_ns),
            Self::After => (ready_ns, ready_ns + window_ns),
        }
    }
}

/// An input's first output: when it came, and its end-to-end latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) at_ns: u64,
    pub(crate) e2e_ns: u64,
}

/// Outputs of each chain, by its name.
pub(crate) type Outputs = BTreeMap<String, Vec<Output>>;

/// Reads what was recorded in these buffers between two instants.
pub(crate) fn outputs(
    rings: &[RingFile],
    scratch: &Path,
    chains: &[Chain],
    (from_ns, to_ns): (u64, u64),
) -> Result<Outputs, RunError> {
    collect(rings, scratch)?;
    let analysis = Analysis::from_ctf(scratch).map_err(|error| {
        let why = stowplan_host::chain(&error);
        RunError::new(format!("cannot read the run's own trace: {why}"))
    })?;
    let window = Window {
        from_ns: from_ns.cast_signed(),
        to_ns: to_ns.cast_signed(),
    };
    let mut all = Outputs::new();
    for chain in chains {
        let found = analysis.chain(&ChainSpec::of_stack(chain), window);
        let found = found.map_err(|error| RunError::new(error.to_string()))?;
        // In order of time: the first of an input is the one that counts.
        let mut first: BTreeMap<usize, Output> = BTreeMap::new();
        for instance in &found.instances {
            first.entry(instance.input).or_insert(Output {
                at_ns: instance.output_ns.unsigned_abs(),
                e2e_ns: instance.e2e_ns.unsigned_abs(),
            });
        }
        all.insert(chain.name.to_string(), first.into_values().collect());
    }
    Ok(all)
}

/// Median and largest of the outputs between two instants, or why there are none.
pub(crate) fn between(
    outputs: &[Output],
    (from_ns, to_ns): (u64, u64),
) -> Result<(u64, u64), String> {
    let inside = outputs.iter();
    let inside = inside.filter(|one| (from_ns..to_ns).contains(&one.at_ns));
    let mut all: Vec<u64> = inside.map(|one| one.e2e_ns).collect();
    all.sort_unstable();
    match (all.get(all.len() / 2), all.last()) {
        (Some(median), Some(largest)) => Ok((*median, *largest)),
        _ => Err("the chain had no output in this time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_takes_as_long_as_it_does_and_a_window_at_least() {
        let slow = Around::ALL.map(|around| around.window(100, 150, 20));
        assert_eq!(slow, [(80, 100), (100, 150), (150, 170)]);
        let quick = Around::ALL.map(|around| around.window(100, 101, 20));
        assert_eq!(quick, [(80, 100), (100, 120), (120, 140)]);
    }

    #[test]
    fn outputs_count_where_they_come() {
        let outputs: Vec<Output> = [(1, 10), (2, 30), (3, 20), (9, 99)]
            .map(|(at_ns, e2e_ns)| Output { at_ns, e2e_ns })
            .to_vec();
        assert_eq!(between(&outputs, (1, 9)), Ok((20, 30)));
        assert_eq!(between(&outputs, (9, 10)), Ok((99, 99)));
        let none = between(&outputs, (4, 9)).unwrap_err();
        assert_eq!(none, "the chain had no output in this time");
    }
}
