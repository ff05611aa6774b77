//! Which callbacks a chain is made of, and which callbacks of a trace those are.

use crate::graph::{Graph, Trigger};
use crate::ids::{CallbackId, TopicId};

/// A cause-effect chain as the user gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSpec {
    /// Name.
    pub name: String,
    /// The callbacks in order.
    pub callbacks: Vec<CallbackSelector>,
    /// Topic of the last publication; `None` takes whatever the last callback
    /// publishes last, or its end if it never publishes.
    pub output: Option<String>,
}

/// One callback of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackSelector {
    /// Node name, with its namespace if it has a slash.
    pub node: String,
    /// Which of its callbacks.
    pub by: CallbackBy,
}

/// Which callback of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackBy {
    /// The one with this symbol.
    Symbol(String),
    /// The one that this topic starts.
    Topic(String),
    /// The one that a timer with this period starts, nanoseconds.
    TimerPeriod(i64),
}

impl ChainSpec {
    /// The chain of a stack in a trace of Stowplan's node program, which names
    /// each callback `NODE::CALLBACK`.
    #[must_use]
    pub fn of_stack(chain: &stowplan_model::Chain) -> Self {
        Self {
            name: chain.name.to_string(),
            callbacks: chain
                .callbacks
                .iter()
                .map(|callback| CallbackSelector {
                    node: callback.node.to_string(),
                    by: CallbackBy::Symbol(format!("{}::{}", callback.node, callback.callback)),
                })
                .collect(),
            output: None,
        }
    }
}

impl std::fmt::Display for CallbackSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.by {
            CallbackBy::Symbol(symbol) => write!(f, "{} symbol '{symbol}'", self.node),
            CallbackBy::Topic(topic) => write!(f, "{} subscription {topic}", self.node),
            CallbackBy::TimerPeriod(period) => write!(f, "{} timer {period} ns", self.node),
        }
    }
}

/// Why a chain cannot be found in a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The chain names no callback.
    #[error("chain '{0}' has no callbacks")]
    Empty(String),
    /// No callback fits.
    #[error("chain '{chain}': no callback is {selector}; hint: node '{node}' has {present}")]
    NoCallback {
        /// The chain.
        chain: String,
        /// What was asked for.
        selector: String,
        /// Its node.
        node: String,
        /// What that node has.
        present: String,
    },
    /// Several callbacks fit.
    #[error(
        "chain '{chain}': {count} callbacks are {selector}; hint: give the namespace, or a symbol"
    )]
    SeveralCallbacks {
        /// The chain.
        chain: String,
        /// What was asked for.
        selector: String,
        /// How many fit.
        count: usize,
    },
    /// Two callbacks that follow each other are not connected.
    #[error(
        "chain '{chain}': nothing leads from {from} to {to}: they are in different nodes, and the first does not publish what starts the second"
    )]
    NotConnected {
        /// The chain.
        chain: String,
        /// The earlier callback.
        from: String,
        /// The later callback.
        to: String,
    },
    /// The output topic is not in the trace.
    #[error("chain '{chain}': the trace has no topic '{topic}'")]
    NoTopic {
        /// The chain.
        chain: String,
        /// What was asked for.
        topic: String,
    },
}

/// How data gets from one callback to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// By a message on a topic.
    Topic(TopicId),
    /// Inside the node: the later callback uses the latest data of the earlier.
    Idle,
}

/// A chain of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Name.
    pub name: String,
    /// The callbacks in order.
    pub callbacks: Vec<CallbackId>,
    /// How data gets from each to the next; one less than callbacks.
    pub hops: Vec<Hop>,
    /// Topic of the last publication; `None`: see [`ChainSpec::output`].
    pub output: Option<TopicId>,
}

/// `publishes(callback, topic)`: whether the trace shows the callback publishing on it.
pub(super) fn resolve(
    graph: &Graph,
    spec: &ChainSpec,
    publishes: impl Fn(CallbackId, TopicId) -> bool,
) -> Result<Chain, ChainError> {
    if spec.callbacks.is_empty() {
        return Err(ChainError::Empty(spec.name.clone()));
    }
    let callbacks = spec
        .callbacks
        .iter()
        .map(|selector| select(graph, &spec.name, selector))
        .collect::<Result<Vec<_>, _>>()?;
    let hops = callbacks
        .windows(2)
        .map(|pair| {
            hop(graph, pair[0], pair[1], &publishes).ok_or_else(|| ChainError::NotConnected {
                chain: spec.name.clone(),
                from: graph.describe(pair[0]),
                to: graph.describe(pair[1]),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let output = spec
        .output
        .as_ref()
        .map(|topic| {
            graph.topic(topic).ok_or_else(|| ChainError::NoTopic {
                chain: spec.name.clone(),
                topic: topic.clone(),
            })
        })
        .transpose()?;
    Ok(Chain {
        name: spec.name.clone(),
        callbacks,
        hops,
        output,
    })
}

fn select(
    graph: &Graph,
    chain: &str,
    selector: &CallbackSelector,
) -> Result<CallbackId, ChainError> {
    let of_node: Vec<CallbackId> = graph
        .callbacks
        .ids()
        .filter(|&id| {
            graph
                .node_of(id)
                .is_some_and(|node| graph.nodes[node].is_named(&selector.node))
        })
        .collect();
    let fitting: Vec<CallbackId> = of_node
        .iter()
        .copied()
        .filter(|&id| fits(graph, id, &selector.by))
        .collect();
    match fitting[..] {
        [id] => Ok(id),
        [] => Err(ChainError::NoCallback {
            chain: chain.to_owned(),
            selector: selector.to_string(),
            node: selector.node.clone(),
            present: present(graph, &of_node),
        }),
        _ => Err(ChainError::SeveralCallbacks {
            chain: chain.to_owned(),
            selector: selector.to_string(),
            count: fitting.len(),
        }),
    }
}

fn fits(graph: &Graph, callback: CallbackId, by: &CallbackBy) -> bool {
    match by {
        CallbackBy::Symbol(symbol) => graph.callbacks[callback].symbol.as_ref() == Some(symbol),
        CallbackBy::Topic(topic) => {
            graph.trigger_of(callback) == Trigger::Subscription(topic.clone())
        }
        CallbackBy::TimerPeriod(period) => graph.trigger_of(callback) == Trigger::Timer(*period),
    }
}

fn present(graph: &Graph, callbacks: &[CallbackId]) -> String {
    if callbacks.is_empty() {
        return "no callbacks in this trace".to_owned();
    }
    let words: Vec<String> = callbacks
        .iter()
        .filter_map(|&id| match graph.trigger_of(id) {
            Trigger::Timer(period) => Some(format!("timer {period} ns")),
            Trigger::Subscription(topic) => Some(format!("subscription {topic}")),
            Trigger::Service(_) | Trigger::Client(_) | Trigger::Unknown => None,
        })
        .collect();
    words.join(", ")
}

/// How data gets from one callback to another, if it can.
pub(crate) fn hop(
    graph: &Graph,
    from: CallbackId,
    to: CallbackId,
    publishes: &impl Fn(CallbackId, TopicId) -> bool,
) -> Option<Hop> {
    let (from_node, to_node) = (graph.node_of(from)?, graph.node_of(to)?);
    if let Some(topic) = graph.topic_of(to) {
        // A callback that never ran has published nothing; its node's publishers
        // then say what it may do.
        let could = from_node != to_node
            && graph
                .publishers
                .iter()
                .any(|(_, p)| p.node == Some(from_node) && p.topic == Some(topic));
        if could || publishes(from, topic) {
            return Some(Hop::Topic(topic));
        }
    }
    (from_node == to_node).then_some(Hop::Idle)
}
