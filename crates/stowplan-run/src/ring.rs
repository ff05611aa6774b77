//! How large the trace buffer of a process must be so that nothing is discarded.

use std::collections::HashMap;
use std::time::Duration;

use stowplan_model::{Node, Stack, Trigger};
use stowplan_plan::Plan;

/// Largest event of the table with its header and context, in bytes, rounded up.
const EVENT_BYTES: f64 = 96.0;

/// Events around one callback: waits of the executor, take and arrival, start and end.
const EVENTS_PER_CALL: f64 = 12.0;

/// Events of one publication: rclcpp, rcl, rmw.
const EVENTS_PER_PUBLICATION: f64 = 3.0;

/// Bytes of every process for initialisation and for packets that threads have begun.
const BASE_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

/// Margin over the expected rate: queues that empty after start-up, executors that wake for nothing.
const MARGIN: f64 = 2.0;

/// Bytes for each process, the same for all processes of all deployments: those of the process that
/// records most while nodes are up for `recorded`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of buffers are far below 2^63"
)]
pub fn ring_bytes(stack: &Stack, plan: &Plan, recorded: Duration) -> u64 {
    let rates: HashMap<&str, f64> = plan
        .topics
        .iter()
        .filter_map(|topic| Some((topic.topic.as_str(), topic.messages_per_s?)))
        .collect();
    let mut per_process: HashMap<&str, f64> = HashMap::new();
    for node in &stack.nodes {
        *per_process.entry(node.process.as_str()).or_default() += events_per_s(node, &rates);
    }
    let busiest = per_process.into_values().fold(0.0, f64::max);
    let bytes = BASE_BYTES + busiest * MARGIN * EVENT_BYTES * recorded.as_secs_f64();
    (bytes as u64).next_multiple_of(1 << 20)
}

fn events_per_s(node: &Node, rates: &HashMap<&str, f64>) -> f64 {
    node.callbacks
        .iter()
        .map(|callback| {
            let rate = match &callback.trigger {
                Trigger::Timer { period_ns, .. } => 1e9 / *period_ns as f64,
                Trigger::Subscription { topic } => {
                    rates.get(topic.as_str()).copied().unwrap_or(0.0)
                }
            };
            rate * (EVENTS_PER_CALL + EVENTS_PER_PUBLICATION * callback.publishes.len() as f64)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_recording_needs_more_and_every_process_has_a_base() {
        let spec =
            stowplan_spec::parse_spec(stowplan_spec::shipped("hello").unwrap(), "hello").unwrap();
        let choice = stowplan_spec::find_partition("single", std::path::Path::new(".")).unwrap();
        let partition = stowplan_plan::partition(spec.stack(), &choice).unwrap();
        let machine = stowplan_plan::MachineFacts {
            cpus: 2,
            speed: None,
            memory_bytes: None,
            multicast: false,
        };
        let plan = stowplan_plan::plan(
            spec.stack(),
            &partition,
            &machine,
            &stowplan_plan::PlanOptions::default(),
        )
        .unwrap();
        let short = ring_bytes(spec.stack(), &plan, Duration::ZERO);
        let long = ring_bytes(spec.stack(), &plan, Duration::from_secs(600));
        assert_eq!(short, 4 << 20);
        assert!(long > short);
    }
}
