//! What a stack must obey before it can be planned: every rule that needs more than one element.
//!
//! Findings name a [`Subject`], not a line: stacks also come from traces and from search.
//! `stowplan-spec` knows the line of each subject of a file.

mod chains;
mod nodes;
mod real;
mod topics;

use std::collections::HashMap;

use stowplan_model::{Name, Node, Stack, Topic};

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The stack as a whole.
    Stack,
    /// A topic, by name.
    Topic(String),
    /// A process, by name.
    Process(String),
    /// A node, by name.
    Node(String),
    /// A callback of a node: node, callback.
    Callback(String, String),
    /// What a callback subscribes to: node, callback.
    Subscription(String, String),
    /// One of the topics that a callback publishes on: node, callback, topic.
    Publication(String, String, String),
    /// One of the callbacks that a callback uses: node, callback, used callback.
    Use(String, String, String),
    /// The process of a node: node.
    NodeProcess(String),
    /// One of the nodes that a node depends on: node, the other.
    DependsOn(String, String),
    /// A chain, by name.
    Chain(String),
    /// A link of a chain: chain, index from zero.
    Link(String, usize),
    /// A real service, by name.
    Service(String),
    /// The readiness test of a real service, by its name.
    Ready(String),
}

impl Subject {
    /// The subject that this one is part of.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::Stack => None,
            Self::Subscription(node, callback)
            | Self::Publication(node, callback, _)
            | Self::Use(node, callback, _) => Some(Self::Callback(node.clone(), callback.clone())),
            Self::Callback(node, _) | Self::NodeProcess(node) | Self::DependsOn(node, _) => {
                Some(Self::Node(node.clone()))
            }
            Self::Link(chain, _) => Some(Self::Chain(chain.clone())),
            Self::Ready(service) => Some(Self::Service(service.clone())),
            Self::Topic(_)
            | Self::Process(_)
            | Self::Node(_)
            | Self::Chain(_)
            | Self::Service(_) => Some(Self::Stack),
        }
    }
}

/// Something that a stack must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub subject: Subject,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// What may put it right.
    pub hint: Option<String>,
}

/// The stack with its names looked up once.
struct Index<'a> {
    stack: &'a Stack,
    topics: HashMap<&'a str, &'a Topic>,
    nodes: HashMap<&'a str, &'a Node>,
}

/// Everything that is wrong with `stack`, in the order of its elements; empty when it is sound.
#[must_use]
pub fn check(stack: &Stack) -> Vec<Finding> {
    let index = Index {
        stack,
        topics: stack.topics.iter().map(|t| (t.name.as_str(), t)).collect(),
        nodes: stack.nodes.iter().map(|n| (n.name.as_str(), n)).collect(),
    };
    let mut findings = Vec::new();
    topics::check(&index, &mut findings);
    nodes::check(&index, &mut findings);
    chains::check(&index, &mut findings);
    real::check(&index, &mut findings);
    findings
}

/// Reports every name of `names` that comes a second time.
fn duplicates<'a>(
    names: impl Iterator<Item = &'a Name>,
    what: &str,
    subject: impl Fn(&Name) -> Subject,
    findings: &mut Vec<Finding>,
) {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            findings.push(Finding {
                subject: subject(name),
                message: format!("there are two of {what} '{name}'"),
                hint: Some("names are unique in the stack".into()),
            });
        }
    }
}
