//! Timer phases as they were measured: equal in all deployments of a block where they are re-based, and shown where they
//! are natural (MEASURING §3).

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_results::CallbackRow;

use crate::callbacks;
use crate::compare::has_natural_phases;
use crate::format::value;
use crate::report::Report;
use crate::tables::TextTable;

/// Phases of one timer in the deployments of a block may lie this far apart, ns.
const APART_NS: i64 = 100_000;

/// A timer and its phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimerPhases {
    /// `NODE/CALLBACK`.
    pub timer: String,
    /// Its period, ns.
    pub period_ns: i64,
    /// By id of the deployment and block: its first release after the arming instant, ns.
    pub by: BTreeMap<String, BTreeMap<u32, i64>>,
}

impl TimerPhases {
    /// The greatest distance of two deployments in one block, and which block that is; on the circle of a period.
    fn apart(&self, counts: impl Fn(&str) -> bool) -> Option<(i64, u32)> {
        let mut blocks: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for (_, phases) in self.by.iter().filter(|(id, _)| counts(id)) {
            for (block, phase) in phases {
                blocks.entry(*block).or_default().push(*phase);
            }
        }
        let of_block = blocks.into_iter().map(|(block, phases)| {
            let pairs = phases
                .iter()
                .flat_map(|a| phases.iter().map(move |b| (a - b).abs()));
            let apart = pairs
                .map(|linear| linear.min(self.period_ns - linear))
                .max();
            (apart.unwrap_or_default(), block)
        });
        of_block.max_by_key(|(apart, block)| (*apart, std::cmp::Reverse(*block)))
    }
}

/// The phases of all timers, by name.
pub(crate) fn of_timers(rows: &[CallbackRow]) -> Vec<TimerPhases> {
    let mut all: BTreeMap<String, TimerPhases> = BTreeMap::new();
    for row in rows {
        let Some((phase_ns, period_ns)) = row.phase_ns.zip(row.period_ns) else {
            continue;
        };
        let timer = callbacks::name(row);
        let phases = all.entry(timer.clone()).or_insert_with(|| TimerPhases {
            timer,
            period_ns,
            by: BTreeMap::new(),
        });
        let of_deployment = phases.by.entry(row.deployment.to_string()).or_default();
        of_deployment.insert(row.block, phase_ns);
    }
    all.into_values().collect()
}

/// Says so where the phases of a block were not equal though they had to be.
pub(crate) fn warning(report: &Report) -> Option<String> {
    if has_natural_phases(report) {
        return None;
    }
    let counts = |id: &str| {
        let deployment = report.experiment.deployment(id);
        deployment.is_some_and(|d| d.injected.is_none())
    };
    let found = report.phases.iter().filter_map(|timer| {
        let (apart, block) = timer.apart(counts)?;
        (apart > APART_NS).then_some((apart, block, &timer.timer))
    });
    let all: Vec<(i64, u32, &String)> = found.collect();
    let (apart, block, timer) = all.iter().max()?;
    Some(format!(
        "the phases of {} timers are not equal in the deployments of a block, those of {timer} in block {block} by {}",
        all.len(),
        ms(*apart)
    ))
}

/// Says so where a timer had other phases in the blocks of one report than in the same blocks of another, though its period
/// is the same.
pub(crate) fn apart(before: &Report, after: &Report) -> Option<String> {
    let found = after.phases.iter().filter_map(|timer| {
        let mut same = before.phases.iter();
        let same = same.find(|b| b.timer == timer.timer && b.period_ns == timer.period_ns)?;
        let mut both = timer.clone();
        let named = same.by.iter();
        let named = named.map(|(id, phases)| (format!("{id} (before)"), phases.clone()));
        both.by.extend(named);
        let (apart, block) = both.apart(|_| true)?;
        (apart > APART_NS).then_some((apart, block, &timer.timer))
    });
    let (apart, block, timer) = found.max()?;
    Some(format!(
        "timer phases before and after were not equal, those of {timer} in block {block} by {}",
        ms(apart)
    ))
}

/// The timers on chains, where nobody set their phases; none where they were set.
pub(crate) fn shown(report: &Report) -> Vec<&TimerPhases> {
    let on_chain = |timer: &String| {
        let mut chains = report.experiment.stack.chain_callbacks.values();
        chains.any(|callbacks| callbacks.contains(timer))
    };
    let all = report.phases.iter();
    all.filter(|timer| has_natural_phases(report) && on_chain(&timer.timer))
        .collect()
}

/// Their phases.
pub(crate) fn table(report: &Report) -> TextTable {
    let mut table = TextTable::new(
        "Timer phases",
        "First release after the window begins, in each block, as the start of the nodes happened to give it. Data waits for \
         the next release of a timer on its chain: other phases are another idle and another end-to-end latency.",
        &["Timer", "Deployment"],
        &["Period", "Phase by block"],
    );
    for timer in shown(report) {
        for (deployment, phases) in &timer.by {
            let phases: Vec<String> = phases.values().map(|phase| ms(*phase)).collect();
            table.rows.push(vec![
                timer.timer.clone(),
                report.label(deployment).to_owned(),
                ms(timer.period_ns),
                phases.join(", "),
            ]);
        }
    }
    table
}

fn ms(ns: i64) -> String {
    value("ns", Some(ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(phases: &[(&str, u32, i64)]) -> TimerPhases {
        let mut by: BTreeMap<String, BTreeMap<u32, i64>> = BTreeMap::new();
        for (deployment, block, phase) in phases {
            let of_deployment = by.entry((*deployment).to_owned()).or_default();
            of_deployment.insert(*block, *phase);
        }
        TimerPhases {
            timer: "planner/timer".to_owned(),
            period_ns: 1_000,
            by,
        }
    }

    #[test]
    fn phases_are_held_against_those_of_their_block_on_a_circle() {
        let equal = timer(&[("a", 1, 10), ("b", 1, 10), ("a", 2, 500), ("b", 2, 500)]);
        assert_eq!(equal.apart(|_| true), Some((0, 1)));
        let around = timer(&[("a", 1, 10), ("b", 1, 990), ("a", 2, 0), ("b", 2, 15)]);
        assert_eq!(around.apart(|_| true), Some((20, 1)));
        assert_eq!(around.apart(|id| id == "a"), Some((0, 1)));
        assert_eq!(timer(&[]).apart(|_| true), None);
    }
}
