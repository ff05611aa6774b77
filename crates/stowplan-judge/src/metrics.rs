//! What is compared: per metric one value per deployment and block.

use std::collections::BTreeMap;

use stowplan_results::{Better, StartKind};
use stowplan_stats::{Direction, Scale};

use crate::averages::by_block;
use crate::figures::Figures;
use crate::latency::{ChainLatency, Part, RunFigures};
use crate::measurements::Measurement;
use crate::startup::Instant;
use crate::usage::{MACHINE, SERVICES, mean};

/// Key of the share of a chain's inputs on which no output rests.
pub(crate) const LOST_INPUTS: &str = "inputs_without_output";

/// Key of the share of a chain's inputs that missed its deadline.
const DEADLINE_MISSES: &str = "deadline_misses";

/// What the keys of start-ups begin with.
const STARTUP: &str = "startup_";

/// Value per deployment and block.
pub(crate) type Values = BTreeMap<String, BTreeMap<u32, f64>>;

/// Something that is compared.
pub(crate) struct Metric {
    pub(crate) key: String,
    pub(crate) label: String,
    pub(crate) unit: String,
    pub(crate) subject: Option<String>,
    pub(crate) scale: Scale,
    pub(crate) direction: Direction,
    /// Whether timer phases decide it.
    pub(crate) of_phase: bool,
    /// Whether deployments have to consume the same share of inputs.
    pub(crate) of_loss: bool,
    pub(crate) values: Values,
}

impl Metric {
    /// The mean over the blocks of a deployment: the one that is compared.
    pub(crate) fn mean(&self, deployment: &str) -> Option<f64> {
        mean(self.values.get(deployment)?.values().copied())
    }

    /// Whether it is of starts that were to be cold.
    pub(crate) fn is_of_cold_start(&self) -> bool {
        self.key.starts_with(STARTUP) && self.subject.as_deref() == Some(StartKind::Cold.word())
    }

    fn time(key: String, label: String, subject: &str, values: Values) -> Self {
        Self {
            key,
            label,
            unit: "ns".to_owned(),
            subject: Some(subject.to_owned()),
            scale: Scale::LogRatio,
            direction: Direction::LowerIsBetter,
            of_phase: false,
            of_loss: false,
            values,
        }
    }
}

/// The metrics that two results have, each as the earlier and as the later one has it.
pub(crate) fn in_both<'a>(old: &'a [Metric], new: &'a [Metric]) -> Vec<(&'a Metric, &'a Metric)> {
    let both = new.iter().filter_map(|new| {
        let same = |m: &&Metric| m.key == new.key && m.subject == new.subject;
        Some((old.iter().find(same)?, new))
    });
    both.collect()
}

/// Every metric of a result.
pub(crate) fn metrics(figures: &Figures) -> Vec<Metric> {
    let mut metrics = startup_metrics(figures);
    let mut chains: Vec<&str> = figures.latency.iter().map(|c| &*c.chain).collect();
    chains.dedup();
    for chain in chains {
        let of_chain: Vec<&ChainLatency> = figures
            .latency
            .iter()
            .filter(|c| c.chain == chain)
            .collect();
        chain_metrics(chain, &of_chain, &mut metrics);
    }
    metrics.extend(usage_metrics(figures));
    metrics.extend(figures.measurements.iter().map(of_measurement));
    metrics
}

fn startup_metrics(figures: &Figures) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut starts: Vec<_> = figures.startup.iter().map(|s| s.start).collect();
    starts.sort_unstable();
    starts.dedup();
    for start in starts {
        for instant in [Instant::FirstOutput, Instant::LastNodeLoaded] {
            let views = figures.startup.iter().filter(|s| s.start == start);
            let values: Values = views
                .map(|s| {
                    let runs = s.runs.iter();
                    let values = runs.filter_map(|r| Some((r.block, *r.instants.get(&instant)?)));
                    (s.deployment.clone(), by_block(values))
                })
                .collect();
            metrics.push(Metric::time(
                format!("{STARTUP}{}", instant.key()),
                format!("start-up to {}", instant.label()),
                start.word(),
                values,
            ));
        }
    }
    metrics
}

/// Suffix of the key, suffix of the label, and the figure of a summary.
type FigureOf = (
    &'static str,
    &'static str,
    fn(&stowplan_stats::Summary) -> Option<f64>,
);

const FIGURES: [FigureOf; 4] = [
    ("mean", "mean", |s| s.mean),
    ("q50", "median", |s| s.q50),
    ("p99", "P99", |s| s.p99),
    ("std", "std", |s| s.std),
];

fn chain_metrics(chain: &str, views: &[&ChainLatency], metrics: &mut Vec<Metric>) {
    let values = |of: &dyn Fn(&RunFigures) -> Option<f64>| of_chain(views, of);
    for part in Part::ALL {
        for (suffix, name, figure) in FIGURES {
            if part != Part::E2ePaper && suffix != "mean" {
                continue;
            }
            metrics.push(Metric {
                of_phase: !matches!(part, Part::Computation | Part::Send | Part::Transport),
                of_loss: true,
                ..Metric::time(
                    format!("{}_{suffix}", part.key()),
                    format!("{} {name}", part.label()),
                    chain,
                    values(&|r| figure(r.parts.get(&part)?)),
                )
            });
        }
    }
    for part in [Part::Reaction, Part::DataAge, Part::AgeUntilNext] {
        // The longest of what is known is not the longest where an input has none.
        let is_known = |r: &RunFigures| part != Part::Reaction || r.unanswered == 0;
        metrics.push(Metric {
            of_phase: true,
            of_loss: true,
            ..Metric::time(
                format!("{}_max", part.key()),
                format!("{} max", part.label()),
                chain,
                values(&|r| r.parts.get(&part)?.max.filter(|_| is_known(r))),
            )
        });
    }
    metrics.push(Metric {
        of_phase: true,
        of_loss: true,
        ..Metric::time(
            "output_jitter".to_owned(),
            "output jitter".to_owned(),
            chain,
            values(&|r| r.jitter_ns),
        )
    });
    metrics.extend(input_metrics(chain, views));
}

/// What of a chain's inputs came to nothing, or too late, as shares.
fn input_metrics(chain: &str, views: &[&ChainLatency]) -> [Metric; 2] {
    let share = |key: &str, label: &str, of: fn(&RunFigures) -> Option<u64>| {
        let share = |r: &RunFigures| {
            let inputs = (r.inputs > 0).then_some(r.inputs)?;
            Some(of(r)? as f64 / inputs as f64)
        };
        let values = of_chain(views, &share);
        Metric {
            unit: "share".to_owned(),
            scale: Scale::Difference,
            ..Metric::time(key.to_owned(), label.to_owned(), chain, values)
        }
    };
    let late = Metric {
        of_phase: true,
        ..share(DEADLINE_MISSES, "deadline misses", |r| r.late)
    };
    let lost = share(LOST_INPUTS, "inputs without an output", |r| {
        Some(r.without_output)
    });
    [late, lost]
}

/// One value per deployment and block of a chain.
fn of_chain(views: &[&ChainLatency], of: &dyn Fn(&RunFigures) -> Option<f64>) -> Values {
    let by = views.iter().map(|view| {
        let runs = view.runs.iter().filter_map(|r| Some((r.block, of(r)?)));
        (view.deployment.clone(), by_block(runs))
    });
    by.collect()
}

fn of_measurement(measurement: &Measurement) -> Metric {
    let by = measurement.values.iter();
    let by = by.map(|(deployment, runs)| (deployment.clone(), by_block(runs.iter().copied())));
    Metric {
        key: measurement.metric.clone(),
        label: measurement.label(),
        unit: measurement.unit.clone(),
        subject: measurement.subject.clone(),
        scale: Scale::LogRatio,
        direction: match measurement.better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
        },
        of_phase: false,
        of_loss: false,
        values: by.collect(),
    }
}

fn usage_metrics(figures: &Figures) -> Vec<Metric> {
    let values = |of: &dyn Fn(&crate::usage::RunUsage) -> Option<f64>| -> Values {
        let by = figures.usage.iter().map(|view| {
            let runs = view.runs.iter().filter_map(|r| Some((r.block, of(r)?)));
            (view.deployment.clone(), by_block(runs))
        });
        by.collect()
    };
    let mut metrics = Vec::new();
    // Of the whole machine a name of its own: what was declared about `cpu` is about services.
    for (subject, suffix) in [(SERVICES, ""), (MACHINE, "_machine")] {
        let cpus = values(&|r| r.cpus.get(subject).copied());
        let memory = values(&|r| r.memory.get(subject).copied());
        for (key, label, unit, values) in [
            ("cpu", "CPU", "cpus", cpus),
            ("memory_peak", "memory peak", "bytes", memory),
        ] {
            metrics.push(Metric {
                unit: unit.to_owned(),
                ..Metric::time(format!("{key}{suffix}"), label.to_owned(), subject, values)
            });
        }
    }
    let shared = figures.memory.iter().map(|view| {
        let runs = view.runs.iter().map(|r| (r.block, r.services.pss));
        (view.deployment.clone(), by_block(runs))
    });
    metrics.push(Metric {
        unit: "bytes".to_owned(),
        ..Metric::time(
            "memory_pss".to_owned(),
            "memory by share".to_owned(),
            SERVICES,
            shared.collect(),
        )
    });
    metrics
}

#[cfg(test)]
mod tests {
    use stowplan_model::{METRICS, MetricUnit};

    use super::*;

    #[test]
    fn every_metric_of_a_chain_can_be_declared() {
        let mut metrics = Vec::new();
        chain_metrics("chain", &[], &mut metrics);
        let unknown = metrics.iter().find(|m| !METRICS.contains(&&*m.key));
        assert_eq!(unknown.map(|m| &m.key), None);
        for metric in &metrics {
            let declared = MetricUnit::of(&metric.key).map(MetricUnit::name);
            assert_eq!(declared, Some(&*metric.unit), "{}", metric.key);
        }
        let p99 = metrics.iter().any(|m| m.key == "e2e_paper_p99");
        assert!(p99 && metrics.len() == 21, "{}", metrics.len());
    }
}
