//! Timer phases as they were measured: equal in all deployments of a block where they are re-based, and shown where they
//! are natural (docs/measuring.md §3).

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_results::CallbackRow;

use crate::callbacks;
use crate::format::value;

/// Phases of one timer in the deployments of a block may lie this far apart, ns.
const APART_NS: i64 = 100_000;

/// A timer and its phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimerPhases {
    /// `NODE/CALLBACK`.
    pub timer: String,
    /// Its period, ns.
    pub period_ns: i64,
    /// When its first release after the arming instant was due, ns.
    pub by: ByDeployment,
    /// The same, later by as much as the promptest of its calls began after it was due, ns; the page does not show it.
    #[serde(skip)]
    pub began: ByDeployment,
}

/// By id of the deployment and block.
type ByDeployment = BTreeMap<String, BTreeMap<u32, i64>>;

impl TimerPhases {
    /// The greatest distance of two deployments in one block, and which block that is; on the circle of a period.
    fn apart(&self, by: &ByDeployment, counts: impl Fn(&str) -> bool) -> Option<(i64, u32)> {
        let mut blocks: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for (_, phases) in by.iter().filter(|(id, _)| counts(id)) {
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
            began: BTreeMap::new(),
        });
        let id = row.deployment.to_string();
        if let Some(late_ns) = row.late_min_ns {
            let of_deployment = phases.began.entry(id.clone()).or_default();
            of_deployment.insert(row.block, phase_ns + late_ns);
        }
        let of_deployment = phases.by.entry(id).or_default();
        of_deployment.insert(row.block, phase_ns);
    }
    all.into_values().collect()
}

/// Says so where the phases of a block were not equal though they had to be: as timers were due, and as their calls
/// began. The least delay of a call in a window is what waking up takes, unless there was no call that did not wait for its
/// executor or for a CPU; then nothing shows that the release was where it was due.
pub(crate) fn warnings(timers: &[TimerPhases], counts: impl Fn(&str) -> bool) -> Vec<String> {
    let due = worst(timers, |timer| timer.apart(&timer.by, &counts));
    let due = due.map(|(timers, told)| {
        format!(
            "the phases of {timers} timers are not equal in the deployments of a block, those of {told}"
        )
    });
    let began = worst(timers, |timer| timer.apart(&timer.began, &counts));
    let began = began.map(|(timers, told)| {
        format!(
            "the calls of {timers} timers did not begin at equal phases in the deployments of a block, not even their \
             promptest ones, those of {told}: they waited for a CPU or their executor"
        )
    });
    due.into_iter().chain(began).collect()
}

/// How many timers are too far apart, and the one that is farthest.
fn worst(
    timers: &[TimerPhases],
    apart: impl Fn(&TimerPhases) -> Option<(i64, u32)>,
) -> Option<(usize, String)> {
    let found = timers.iter().filter_map(|timer| {
        let (apart, block) = apart(timer)?;
        (apart > APART_NS).then_some((apart, block, &timer.timer))
    });
    let all: Vec<(i64, u32, &String)> = found.collect();
    let (apart, block, timer) = all.iter().max()?;
    let told = format!("{timer} in block {block} by {}", ms(*apart));
    Some((all.len(), told))
}

/// Says so where a timer had other phases in the blocks of one result than in the same blocks of another, though its period
/// is the same.
pub(crate) fn apart(before: &[TimerPhases], after: &[TimerPhases]) -> Option<String> {
    let found = after.iter().filter_map(|timer| {
        let mut same = before.iter();
        let same = same.find(|b| b.timer == timer.timer && b.period_ns == timer.period_ns)?;
        let mut both = timer.clone();
        let named = same.by.iter();
        let named = named.map(|(id, phases)| (format!("{id} (before)"), phases.clone()));
        both.by.extend(named);
        let (apart, block) = both.apart(&both.by, |_| true)?;
        (apart > APART_NS).then_some((apart, block, &timer.timer))
    });
    let (apart, block, timer) = found.max()?;
    Some(format!(
        "timer phases before and after were not equal, those of {timer} in block {block} by {}",
        ms(apart)
    ))
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
            began: BTreeMap::new(),
        }
    }

    #[test]
    fn phases_are_held_against_those_of_their_block_on_a_circle() {
        let equal = timer(&[("a", 1, 10), ("b", 1, 10), ("a", 2, 500), ("b", 2, 500)]);
        assert_eq!(equal.apart(&equal.by, |_| true), Some((0, 1)));
        let around = timer(&[("a", 1, 10), ("b", 1, 990), ("a", 2, 0), ("b", 2, 15)]);
        assert_eq!(around.apart(&around.by, |_| true), Some((20, 1)));
        assert_eq!(around.apart(&around.by, |id| id == "a"), Some((0, 1)));
        let none = timer(&[]);
        assert_eq!(none.apart(&none.by, |_| true), None);
    }

    #[test]
    fn a_phase_is_observed_where_the_promptest_call_began() {
        let row = |deployment: &str, phase_ns, late_min_ns| CallbackRow {
            phase_ns,
            late_min_ns,
            period_ns: Some(1_000),
            node: Some("planner".into()),
            ..CallbackRow::new((1, 1, deployment.into()), "timer".into())
        };
        let rows = [
            row("a", Some(990), Some(5)),
            row("b", Some(990), Some(30)),
            row("c", Some(990), None),
            row("d", None, Some(400)),
        ];
        let [timer] = &of_timers(&rows)[..] else {
            panic!("one timer");
        };
        assert_eq!(timer.timer, "planner/timer");
        assert_eq!(timer.apart(&timer.by, |_| true), Some((0, 1)));
        assert_eq!(
            timer.apart(&timer.began, |_| true),
            Some((25, 1)),
            "995 and 20"
        );
        assert_eq!(timer.began.len(), 2, "what is not known is left out");
    }

    #[test]
    fn the_timer_that_is_farthest_apart_is_named() {
        let named = |name: &str, apart| TimerPhases {
            timer: name.to_owned(),
            period_ns: 50_000_000,
            ..timer(&[("a", 3, 0), ("b", 3, apart)])
        };
        let timers = [
            named("near", APART_NS),
            named("far", 300_000),
            named("far", 200_000),
        ];
        let told = worst(&timers, |timer| timer.apart(&timer.by, |_| true));
        assert_eq!(told, Some((2, "far in block 3 by 0.300 ms".to_owned())));
        assert_eq!(
            worst(&timers[..1], |timer| timer.apart(&timer.by, |_| true)),
            None
        );
    }
}
