//! Deadlines met and missed, the chains around each start, and memory beside it, by deployment.

use stowplan_results::{Results, ResultsError};
use stowplan_spec::{Scenario, Strategy};

use crate::figures::STANDING_MEMORY;
use crate::summary::{Cell, Samples, measured, samples};

use super::figures::{READY, around_subject, memory_subject, start_subject};
use super::latency::Around;

/// Starts of a service by one strategy at one deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct StartCell {
    /// From the request until it is ready.
    pub ready: Cell,
    /// How many were ready within the deadline.
    pub met: usize,
    /// Memory while it waits; `None` where it runs from the beginning.
    pub memory: Option<Cell>,
}

impl StartCell {
    /// How many were not ready within the deadline; none where the strategy cannot be had.
    #[must_use]
    pub fn missed(&self) -> usize {
        self.ready.n - self.met
    }
}

/// A start of a service by one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRow {
    /// How it waits.
    pub strategy: Strategy,
    /// Which service.
    pub service: String,
    /// What the vehicle does.
    pub event: String,
    /// Longest time until it is ready, ns.
    pub deadline_ns: u64,
    /// By deployment; `None` where no run has it.
    pub cells: Vec<Option<StartCell>>,
}

/// A chain around the starts of one step by one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainRow {
    /// How the services wait.
    pub strategy: Strategy,
    /// What the vehicle does.
    pub event: String,
    /// Which chain.
    pub chain: String,
    /// By deployment: median and largest before, during and after; `None` where no run has it.
    pub cells: Vec<Option<[(Cell, Cell); 3]>>,
}

/// What a scenario showed.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioSummary {
    /// Id and label of every deployment that was measured.
    pub deployments: Vec<(String, String)>,
    /// Starts, in the order of the timeline and of the strategies.
    pub starts: Vec<StartRow>,
    /// Chains around them.
    pub chains: Vec<ChainRow>,
}

impl ScenarioSummary {
    /// Reads the figures of the runs that finished.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn read(results: &Results, scenario: &Scenario) -> Result<Self, ResultsError> {
        let samples = samples(results)?;
        Ok(Self::of(measured(results), scenario, &samples))
    }

    fn of(deployments: Vec<(String, String)>, scenario: &Scenario, samples: &Samples) -> Self {
        let chains = chains(scenario, samples);
        let (mut starts, mut around) = (Vec::new(), Vec::new());
        for step in scenario.timeline.iter().filter(|s| !s.start.is_empty()) {
            for service in &step.start {
                for strategy in scenario.strategies.iter().copied() {
                    let deadline_ns = scenario.deadlines.get(service).copied().unwrap_or(0);
                    let of = (strategy, service.as_str(), step.event.as_str());
                    let cells = deployments.iter();
                    let cells = cells.map(|(id, _)| start(samples, scenario, id, of));
                    starts.push(StartRow {
                        strategy,
                        service: service.clone(),
                        event: step.event.clone(),
                        deadline_ns,
                        cells: cells.collect(),
                    });
                }
            }
            for chain in &chains {
                for strategy in scenario.strategies.iter().copied() {
                    let subject = around_subject(strategy, chain, &step.event);
                    let cells = deployments.iter().map(|(id, _)| {
                        let cell = |metric| cell(samples, metric, &subject, id);
                        let all = Around::ALL;
                        let all = all.map(|one| Some((cell(one.median())?, cell(one.largest())?)));
                        let [before, during, after] = all;
                        Some([before?, during?, after?])
                    });
                    around.push(ChainRow {
                        strategy,
                        event: step.event.clone(),
                        chain: chain.clone(),
                        cells: cells.collect(),
                    });
                }
            }
        }
        Self {
            deployments,
            starts,
            chains: around,
        }
    }
}

/// Names of the chains that were looked at.
fn chains(scenario: &Scenario, samples: &Samples) -> Vec<String> {
    let metric = Around::During.median();
    let subjects = samples.keys().filter(|(of, _, _)| of == metric);
    let names = subjects.filter_map(|(_, subject, _)| {
        let subject = subject.as_deref()?;
        let mut strategies = scenario.strategies.iter();
        let rest = strategies.find_map(|one| subject.strip_prefix(&format!("{one}, ")))?;
        let mut steps = scenario.timeline.iter();
        steps.find_map(|step| rest.strip_suffix(&format!(", {}", step.event)))
    });
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn start(
    samples: &Samples,
    scenario: &Scenario,
    id: &str,
    (strategy, service, event): (Strategy, &str, &str),
) -> Option<StartCell> {
    let subject = start_subject(strategy, service, event);
    let key = (READY.to_owned(), Some(subject), id.to_owned());
    let (values, reasons) = samples.get(&key)?;
    let deadline = *scenario.deadlines.get(service)? as f64;
    let waits = scenario.waiting_first().contains(&service);
    let memory = waits.then(|| {
        cell(
            samples,
            STANDING_MEMORY,
            &memory_subject(strategy, service),
            id,
        )
    });
    Some(StartCell {
        met: values.iter().filter(|took| **took <= deadline).count(),
        ready: Cell::of(values.clone(), reasons),
        memory: memory.flatten(),
    })
}

fn cell(samples: &Samples, metric: &str, subject: &str, id: &str) -> Option<Cell> {
    let key = (metric.to_owned(), Some(subject.to_owned()), id.to_owned());
    let (values, reasons) = samples.get(&key)?;
    Some(Cell::of(values.clone(), reasons))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_met_or_missed_by_each_start() {
        let (scenario, _) = stowplan_spec::find_scenario("parking-to-intersection").unwrap();
        let mut samples = Samples::new();
        let mut add = |metric: &str, subject: &str, values: &[f64], reasons: &[&str]| {
            let reasons = reasons.iter().map(|one| (*one).to_owned()).collect();
            let key = (metric.to_owned(), Some(subject.to_owned()), "a".to_owned());
            samples.insert(key, (values.to_vec(), reasons));
        };
        let late = "not ready before the timeline ended";
        let of = "cold, traffic_light, leaves the parking lot";
        add(READY, of, &[0.8e9, 1e9, 1.2e9], &[late]);
        add(STANDING_MEMORY, "cold, traffic_light", &[0.0; 3], &[]);
        for around in Around::ALL {
            let of = "cold, sensor_to_control, leaves the parking lot";
            add(around.median(), of, &[1.0, 2.0, 3.0], &[]);
            add(around.largest(), of, &[4.0], &[]);
        }
        let deployments = vec![("a".to_owned(), "A".to_owned())];
        let summary = ScenarioSummary::of(deployments, &scenario, &samples);
        assert_eq!(summary.starts.len(), 2 * 5);
        let cold = &summary.starts[0];
        assert_eq!(
            (cold.strategy, cold.deadline_ns),
            (Strategy::Cold, 1_000_000_000)
        );
        let cell = cold.cells[0].as_ref().unwrap();
        assert_eq!((cell.met, cell.missed()), (2, 2));
        assert_eq!(cell.memory.as_ref().unwrap().median_ns, Some(0.0));
        assert_eq!(summary.starts[1].cells, [None]);
        let [before, ..] = summary.chains[0].cells[0].as_ref().unwrap();
        assert_eq!(
            (before.0.median_ns, before.1.max_ns),
            (Some(2.0), Some(4.0))
        );
        assert_eq!(summary.chains[0].chain, "sensor_to_control");
    }
}
