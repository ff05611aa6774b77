//! Message rates, propagated from the timers through callbacks and topics.
//!
//! A timer fires at its rate, a subscription at the rate of its topic, a topic carries what all
//! its publishers send. Losses are not foreseen, so a rate is what is offered, not what arrives.
//! Where messages trigger each other in a circle no rate follows from the timers: there each
//! message that enters the circle is counted once, and the topics are marked.

use std::collections::HashMap;

use stowplan_model::{Stack, Trigger};

use crate::components::strongly_connected;

/// How often something happens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Times a second, as far as it follows from timers.
    pub per_s: f64,
    /// Whether real programs add to it what the stack does not say.
    pub unknown: bool,
    /// Whether it lies in a circle of messages.
    pub circular: bool,
}

/// The rates of a stack.
pub(crate) struct Rates {
    /// For each topic, in the order of the stack.
    pub topics: Vec<Rate>,
    /// For each callback of each node, in the order of the stack.
    pub callbacks: Vec<Vec<Rate>>,
}

const SILENT: Rate = Rate {
    per_s: 0.0,
    unknown: false,
    circular: false,
};

/// Positions of topics by name.
pub(crate) fn topic_positions(stack: &Stack) -> HashMap<&str, usize> {
    stack
        .topics
        .iter()
        .enumerate()
        .map(|(i, t)| (t.name.as_str(), i))
        .collect()
}

/// Propagates rates. Vertices are topics, then callbacks; edges lead from what sends to what receives.
pub(crate) fn rates(stack: &Stack) -> Rates {
    let topics = topic_positions(stack);
    let callbacks: Vec<_> = stack.nodes.iter().flat_map(|n| &n.callbacks).collect();
    let first = stack.topics.len();
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); first + callbacks.len()];
    let mut rate = vec![SILENT; edges.len()];
    for (index, callback) in callbacks.iter().enumerate() {
        match &callback.trigger {
            Trigger::Timer { period_ns, .. } => rate[first + index].per_s = per_s(*period_ns),
            Trigger::Subscription { topic } => {
                if let Some(topic) = topics.get(topic.as_str()) {
                    edges[*topic].push(first + index);
                }
            }
        }
        edges[first + index].extend(
            callback
                .publishes
                .iter()
                .filter_map(|t| topics.get(t.as_str())),
        );
    }
    for topic in stack.services.iter().flat_map(|s| &s.publishes) {
        if let Some(topic) = topics.get(topic.as_str()) {
            rate[*topic].unknown = true;
        }
    }
    propagate(&edges, &mut rate);
    let mut rest = rate[first..].iter().copied();
    Rates {
        callbacks: stack
            .nodes
            .iter()
            .map(|n| rest.by_ref().take(n.callbacks.len()).collect())
            .collect(),
        topics: rate[..first].to_vec(),
    }
}

fn propagate(edges: &[Vec<usize>], rate: &mut [Rate]) {
    let components = strongly_connected(edges);
    let mut component_of = vec![0; edges.len()];
    for (component, members) in components.iter().enumerate() {
        for member in members {
            component_of[*member] = component;
        }
    }
    // Components come with what they lead to first: sources are at the end.
    for members in components.iter().rev() {
        let circular = members.len() > 1 || edges[members[0]].contains(&members[0]);
        if circular {
            let per_s = members.iter().map(|m| rate[*m].per_s).sum();
            let unknown = members.iter().any(|m| rate[*m].unknown);
            for member in members {
                rate[*member] = Rate {
                    per_s,
                    unknown,
                    circular: true,
                };
            }
        }
        for member in members {
            let Rate { per_s, unknown, .. } = rate[*member];
            for to in edges[*member]
                .iter()
                .filter(|to| component_of[**to] != component_of[*member])
            {
                rate[*to].per_s += per_s;
                rate[*to].unknown |= unknown;
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "periods are far below 2^53 ns (104 days)"
)]
fn per_s(period_ns: u64) -> f64 {
    match period_ns {
        0 => 0.0,
        period => 1e9 / period as f64,
    }
}
