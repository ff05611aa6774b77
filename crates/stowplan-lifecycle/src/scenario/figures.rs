//! What a played timeline says, as figures.

use stowplan_spec::{Scenario, Strategy};

use crate::figures::{Figure, STANDING_MEMORY};

use super::latency::{Around, Outputs, between};
use super::player::{Played, Started};

/// The metric of the time from the request of a start until the service is ready.
pub const READY: &str = "on_demand_ready";

/// Names of all metrics, the primary one first.
pub(crate) fn metrics() -> Vec<&'static str> {
    let around = Around::ALL.into_iter();
    let around = around.flat_map(|one| [one.median(), one.largest()]);
    [READY, STANDING_MEMORY].into_iter().chain(around).collect()
}

/// What a row of a start is of.
#[must_use]
pub fn start_subject(strategy: Strategy, service: &str, event: &str) -> String {
    format!("{strategy}, {service}, {event}")
}

/// What a row of a chain around a start is of.
#[must_use]
pub fn around_subject(strategy: Strategy, chain: &str, event: &str) -> String {
    format!("{strategy}, {chain}, {event}")
}

/// What a row of a waiting service is of.
#[must_use]
pub fn memory_subject(strategy: Strategy, service: &str) -> String {
    format!("{strategy}, {service}")
}

/// Figures of a strategy that was played.
pub(crate) fn played(
    scenario: &Scenario,
    strategy: Strategy,
    played: &Played,
    outputs: &Outputs,
) -> Vec<Figure> {
    let mut all = Vec::new();
    for (service, bytes) in &played.standing {
        let subject = memory_subject(strategy, service);
        all.push(figure(STANDING_MEMORY, subject, bytes.clone()));
    }
    for started in &played.starts {
        let subject = start_subject(strategy, &started.service, &started.event);
        let took = started.ready_ns.clone();
        let took = took.map(|ns| ns.saturating_sub(started.asked_ns));
        all.push(figure(READY, subject, took));
    }
    for step in scenario.timeline.iter().filter(|s| !s.start.is_empty()) {
        let of_step = |one: &&Started| one.event == step.event;
        let started: Vec<&Started> = played.starts.iter().filter(of_step).collect();
        let Some(first) = started.first() else {
            continue;
        };
        let ready = started.iter().filter_map(|one| one.ready_ns.clone().ok());
        let ready = ready.max().unwrap_or(first.asked_ns);
        for (chain, outputs) in outputs {
            for around in Around::ALL {
                let subject = around_subject(strategy, chain, &step.event);
                let window = around.window(first.asked_ns, ready, scenario.window_ns);
                let found = between(outputs, window);
                let (median, largest) = (
                    found.clone().map(|(median, _)| median),
                    found.map(|(_, largest)| largest),
                );
                all.push(figure(around.median(), subject.clone(), median));
                all.push(figure(around.largest(), subject, largest));
            }
        }
    }
    all
}

/// Figures of a strategy that a place does not have.
pub(crate) fn without(scenario: &Scenario, strategy: Strategy, why: &str) -> Vec<Figure> {
    let mut all = Vec::new();
    for step in &scenario.timeline {
        for service in &step.start {
            let subject = start_subject(strategy, service, &step.event);
            all.push(figure(READY, subject, Err(why.to_owned())));
        }
    }
    for service in scenario.waiting_first() {
        let subject = memory_subject(strategy, service);
        all.push(figure(STANDING_MEMORY, subject, Err(why.to_owned())));
    }
    all
}

fn figure(metric: &'static str, subject: String, value: Result<u64, String>) -> Figure {
    Figure {
        metric,
        subject: Some(subject),
        value,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::latency::Output;
    use super::*;

    fn value(all: &[Figure], metric: &str, subject: &str) -> Result<u64, String> {
        let found = all
            .iter()
            .find(|f| f.metric == metric && f.subject.as_deref() == Some(subject));
        found
            .unwrap_or_else(|| panic!("{metric} {subject}: {all:#?}"))
            .value
            .clone()
    }

    #[test]
    fn a_chain_is_looked_at_around_each_start() {
        let (mut scenario, _) = stowplan_spec::find_scenario("parking-to-intersection").unwrap();
        scenario.window_ns = 100;
        let start = |event: &str, service: &str, asked_ns, ready_ns| Started {
            event: event.to_owned(),
            service: service.to_owned(),
            asked_ns,
            ready_ns,
        };
        let late = Err("not ready before the timeline ended".to_owned());
        let seen = Played {
            standing: vec![("intersection".to_owned(), Ok(5))],
            starts: vec![
                start("leaves the parking lot", "traffic_light", 1_000, Ok(1_200)),
                start("reaches the intersection", "intersection", 4_000, late),
            ],
        };
        let outputs = (0..60).map(|n| Output {
            at_ns: n * 100 + 50,
            e2e_ns: n,
        });
        let outputs = BTreeMap::from([("c".to_owned(), outputs.collect())]);
        let all = played(&scenario, Strategy::Cold, &seen, &outputs);
        assert_eq!(value(&all, STANDING_MEMORY, "cold, intersection"), Ok(5));
        let ready = value(&all, READY, "cold, traffic_light, leaves the parking lot");
        assert_eq!(ready, Ok(200));
        let ready = value(&all, READY, "cold, intersection, reaches the intersection");
        assert!(ready.is_err());
        let of = |metric| value(&all, metric, "cold, c, leaves the parking lot");
        let medians = Around::ALL.map(|around| of(around.median()).unwrap());
        assert_eq!(medians, [9, 11, 12]);
        assert_eq!(of("during_start_e2e_max"), Ok(11));
    }
}
