//! How long a run and an experiment are expected to take.

use stowplan_model::Stack;

use crate::planned::{Duration, MachineFacts, Schedule, ServicePlan};

/// A run begins when the machine was quiet for 2 s (docs/measuring.md §5).
const QUIET_S: f64 = 2.0;

impl Duration {
    pub(crate) fn expected(
        stack: &Stack,
        services: &[ServicePlan],
        machine: &MachineFacts,
        schedule: Option<&Schedule>,
    ) -> Option<Self> {
        // Launchers and constructors work within the first-level cache.
        let seconds_per_iteration = machine.speed.as_ref()?.ns() / 1e9;
        let start_up_s = start_up_iterations(stack, services, f64::from(machine.cpus.max(1)))
            * seconds_per_iteration;
        let default = Schedule {
            deployments: 1,
            blocks: 1,
            starts: 1,
            ..Schedule::default()
        };
        let schedule = schedule.unwrap_or(&default);
        // A start alone is over with the first output of every chain, which may come before the last node is loaded.
        let measured_s = match schedule.window_ns {
            0 => 0.0,
            window_ns => seconds(schedule.warm_up_ns) + seconds(window_ns),
        };
        let run_s = f64::from(schedule.starts.max(1)) * (start_up_s + QUIET_S + measured_s);
        Some(Self {
            start_up_s,
            run_s,
            experiment_s: run_s * f64::from(schedule.deployments) * f64::from(schedule.blocks),
        })
    }
}

/// The longest serial part of any service, or all the work spread over all CPUs: the greater.
fn start_up_iterations(stack: &Stack, services: &[ServicePlan], cpus: f64) -> f64 {
    let constructors: std::collections::HashMap<&str, f64> = stack
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), to_f64(n.start_up.iterations)))
        .collect();
    let mut longest: f64 = 0.0;
    let mut all = 0.0;
    for service in services {
        let entities = to_f64(service.nodes().count() as u64);
        let launch = to_f64(stack.launch.start_iterations)
            + entities * to_f64(stack.launch.entity_iterations);
        // Processes start side by side; inside one, constructors run one after another.
        let of_part = |nodes: &[stowplan_model::Name]| -> f64 {
            nodes
                .iter()
                .filter_map(|n| constructors.get(n.as_str()))
                .sum()
        };
        let parts: Vec<f64> = service
            .processes
            .iter()
            .map(|p| of_part(&p.nodes))
            .collect();
        let slowest = parts.iter().copied().fold(0.0, f64::max);
        longest = longest.max(launch + slowest);
        all += launch + parts.iter().sum::<f64>();
    }
    longest.max(all / cpus)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "durations and counts here are far below 2^53"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}

fn seconds(ns: u64) -> f64 {
    to_f64(ns) / 1e9
}
