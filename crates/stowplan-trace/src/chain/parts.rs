//! Where the time of a chain instance goes, docs/measuring.md §4.

use super::follow::Level;
use crate::analysis::Analysis;
use crate::ids::InstanceId;
use crate::record::Confidence;

/// One callback of a chain instance and what follows it. All nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The callback instance.
    pub instance: InstanceId,
    /// Its start.
    pub start_ns: i64,
    /// Its start to its publication on the chain, or to its end before an idle
    /// hop, or to the chain's output.
    pub computation_ns: i64,
    /// From there to the start of the next callback.
    pub hop: StepHop,
}

/// The way from one callback of a chain instance to the next. All nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepHop {
    /// By a message.
    Message {
        /// Publication enters rclcpp → enters the middleware (inside a process:
        /// is in the ring buffer).
        send_ns: i64,
        /// From there to the start of the callback: transport and wait.
        transit_ns: i64,
        /// From there to the reader's cache; `None` where the trace has no arrival.
        transport_ns: Option<i64>,
    },
    /// Inside the node.
    Idle {
        /// End of the callback → start of the next.
        idle_ns: i64,
    },
    /// The chain ends.
    End,
}

impl StepHop {
    /// From the reader's cache to the start of the callback, nanoseconds.
    #[must_use]
    pub fn wait_ns(&self) -> Option<i64> {
        match *self {
            Self::Message {
                transit_ns,
                transport_ns,
                ..
            } => Some(transit_ns - transport_ns?),
            _ => None,
        }
    }
}

/// Sums over a chain instance. All nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Inside callbacks.
    pub computation_ns: i64,
    /// From publication to the middleware.
    pub send_ns: i64,
    /// From the middleware to the start of the callback: transport and wait.
    pub transit_ns: i64,
    /// From the middleware to the reader's cache; `None` if a message of the
    /// chain has no arrival in the trace.
    pub transport_ns: Option<i64>,
    /// From the reader's cache to the start of the callback; `None` likewise.
    pub wait_ns: Option<i64>,
    /// Data waits in a node for the timer that uses it.
    pub idle_ns: i64,
}

impl Parts {
    /// Sums steps.
    #[must_use]
    pub fn of(steps: &[Step]) -> Self {
        let mut parts = Self {
            computation_ns: 0,
            send_ns: 0,
            transit_ns: 0,
            transport_ns: Some(0),
            wait_ns: Some(0),
            idle_ns: 0,
        };
        for step in steps {
            parts.computation_ns += step.computation_ns;
            match step.hop {
                StepHop::Message {
                    send_ns,
                    transit_ns,
                    transport_ns,
                } => {
                    parts.send_ns += send_ns;
                    parts.transit_ns += transit_ns;
                    parts.transport_ns = add(parts.transport_ns, transport_ns);
                    parts.wait_ns = add(parts.wait_ns, step.hop.wait_ns());
                }
                StepHop::Idle { idle_ns } => parts.idle_ns += idle_ns,
                StepHop::End => {}
            }
        }
        parts
    }

    /// Publication → start of the callback that takes the message.
    #[must_use]
    pub fn communication_ns(&self) -> i64 {
        self.send_ns + self.transit_ns
    }

    /// All parts: the end-to-end latency as the papers take it.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        self.computation_ns + self.communication_ns() + self.idle_ns
    }
}

fn add(sum: Option<i64>, part: Option<i64>) -> Option<i64> {
    Some(sum? + part?)
}

/// The steps of a path that ends at `output_ns`, and how sure its links are.
pub(super) fn steps(
    analysis: &Analysis,
    levels: &[Level],
    path: &[usize],
    output_ns: i64,
) -> (Vec<Step>, Confidence) {
    let records = &analysis.records;
    let mut confidence = Confidence::Certain;
    let steps = (0..path.len())
        .map(|at| {
            let id = levels[at].instances[path[at]];
            let start_ns = records.instances[id].start_ns;
            let Some(next) = levels.get(at + 1) else {
                return Step {
                    instance: id,
                    start_ns,
                    computation_ns: output_ns - start_ns,
                    hop: StepHop::End,
                };
            };
            let came = next.came[path[at + 1]].expect("the path was followed through it");
            confidence = confidence.min(came.confidence);
            let next = &records.instances[next.instances[path[at + 1]]];
            let (left_ns, hop) = match came.publication {
                Some(publication) => {
                    let publication = &records.publications[publication];
                    let arrival_ns = next.take.and_then(|id| records.takes[id].arrival_ns.get());
                    let sent_ns = sent(publication.rmw_ns.get(), arrival_ns, publication.time_ns);
                    let hop = StepHop::Message {
                        send_ns: sent_ns - publication.time_ns,
                        transit_ns: next.start_ns - sent_ns,
                        transport_ns: arrival_ns.map(|arrival| arrival - sent_ns),
                    };
                    (publication.time_ns, hop)
                }
                None => {
                    let end_ns = records.instances[id]
                        .end_ns
                        .get()
                        .expect("data at an idle hop comes from an instance that ended");
                    let idle_ns = next.start_ns - end_ns;
                    (end_ns, StepHop::Idle { idle_ns })
                }
            };
            Step {
                instance: id,
                start_ns,
                computation_ns: left_ns - start_ns,
                hop,
            }
        })
        .collect();
    (steps, confidence)
}

/// When a message left its publisher: at the middleware, or, where it stayed
/// inside the process, when it was in the ring buffer.
fn sent(rmw_ns: Option<i64>, arrival_ns: Option<i64>, published_ns: i64) -> i64 {
    match (rmw_ns, arrival_ns) {
        // A message to both kinds of reader reaches the ring buffer first.
        (Some(rmw), Some(arrival)) => rmw.min(arrival),
        (one, other) => one.or(other).unwrap_or(published_ns),
    }
}
