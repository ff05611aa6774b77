//! Nodes and their callbacks: rates, work, processes, what they use and depend on.

use std::collections::{HashMap, HashSet};

use stowplan_model::{Callback, Executor, Node, Trigger};

use super::{Finding, Index, Subject, duplicates};
use crate::nearest::hint;

/// 100 kHz: no timer of ROS 2 is faster.
const SHORTEST_PERIOD_NS: u64 = 10_000;

pub(super) fn check(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let stack = index.stack;
    duplicates(
        stack.processes.iter().map(|p| &p.name),
        "process",
        |n| Subject::Process(n.to_string()),
        findings,
    );
    duplicates(
        stack.nodes.iter().map(|n| &n.name),
        "node",
        |n| Subject::Node(n.to_string()),
        findings,
    );
    processes(index, findings);
    for node in &stack.nodes {
        let name = node.name.to_string();
        duplicates(
            node.callbacks.iter().map(|c| &c.name),
            "callback",
            |c| Subject::Callback(name.clone(), c.to_string()),
            findings,
        );
        for callback in &node.callbacks {
            rates(node, callback, findings);
            uses(node, callback, findings);
        }
        groups(node, findings);
        start_up(node, findings);
        for other in &node.depends_on {
            if !index.nodes.contains_key(other.as_str()) {
                findings.push(Finding {
                    subject: Subject::DependsOn(name.clone(), other.to_string()),
                    message: format!(
                        "node '{name}' depends on '{other}', and no node has this name"
                    ),
                    hint: hint(other.as_str(), index.nodes.keys().copied()),
                });
            }
        }
    }
    cycles(index, findings);
}

fn processes(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let names: HashSet<&str> = index
        .stack
        .processes
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let mut used = HashSet::new();
    for node in &index.stack.nodes {
        used.insert(node.process.as_str());
        if !names.contains(node.process.as_str()) {
            findings.push(Finding {
                subject: Subject::NodeProcess(node.name.to_string()),
                message: format!(
                    "node '{}' lives in process '{}', which is not declared",
                    node.name, node.process
                ),
                hint: hint(node.process.as_str(), names.iter().copied()),
            });
        }
    }
    for process in &index.stack.processes {
        let subject = || Subject::Process(process.name.to_string());
        if !used.contains(process.name.as_str()) {
            findings.push(Finding {
                subject: subject(),
                message: format!("process '{}' has no node", process.name),
                hint: None,
            });
        }
        if process.executor == (Executor::Multi { threads: 0 }) {
            findings.push(Finding {
                subject: subject(),
                message: format!("process '{}' has an executor of 0 threads", process.name),
                hint: Some("state the number of threads, for example 'threads: 2'".into()),
            });
        }
    }
}

fn rates(node: &Node, callback: &Callback, findings: &mut Vec<Finding>) {
    let mut report = |message: String, hint: &str| {
        findings.push(Finding {
            subject: Subject::Callback(node.name.to_string(), callback.name.to_string()),
            message,
            hint: Some(hint.to_owned()),
        });
    };
    if !callback.work.iterations.is_valid() {
        report(
            format!(
                "callback '{}/{}' has an impossible amount of work",
                node.name, callback.name
            ),
            "the low end must not be above the high end",
        );
    }
    let Trigger::Timer {
        period_ns,
        jitter_ns,
        rate_error,
    } = &callback.trigger
    else {
        return;
    };
    let timer = format!("timer '{}/{}'", node.name, callback.name);
    if *period_ns < SHORTEST_PERIOD_NS {
        report(
            format!("{timer} has an impossible rate: its period is {period_ns} ns"),
            "the fastest timer is 100kHz (10us)",
        );
    } else if !jitter_ns.is_valid() || jitter_ns.max() >= to_f64(*period_ns) {
        report(
            format!(
                "{timer} has a jitter of up to {} ns, which is not below its period of {period_ns} ns",
                jitter_ns.max()
            ),
            "make the jitter a share of the period",
        );
    }
    if !rate_error.is_finite() || rate_error.abs() > 0.01 {
        report(
            format!("{timer} has a rate error of {rate_error}"),
            "clocks are off by a relative 0.0001 or so, at most 0.01",
        );
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "periods are far below 2^53 ns (104 days)"
)]
fn to_f64(ns: u64) -> f64 {
    ns as f64
}

fn uses(node: &Node, callback: &Callback, findings: &mut Vec<Finding>) {
    for used in &callback.uses {
        let problem = if *used == callback.name {
            Some((format!("callback '{}/{used}' uses itself", node.name), None))
        } else if node.callback(used.as_str()).is_none() {
            Some((
                format!(
                    "callback '{}/{}' uses '{used}', and its node has no such callback",
                    node.name, callback.name
                ),
                hint(
                    used.as_str(),
                    node.callbacks.iter().map(|c| c.name.as_str()),
                ),
            ))
        } else {
            None
        };
        if let Some((message, hint)) = problem {
            findings.push(Finding {
                subject: Subject::Use(
                    node.name.to_string(),
                    callback.name.to_string(),
                    used.to_string(),
                ),
                message,
                hint,
            });
        }
    }
}

fn groups(node: &Node, findings: &mut Vec<Finding>) {
    let groups: Vec<&str> = node
        .callbacks
        .iter()
        .filter_map(|c| c.group.as_ref())
        .map(AsRef::as_ref)
        .collect();
    for group in node
        .reentrant_groups
        .iter()
        .filter(|g| !groups.contains(&g.as_str()))
    {
        findings.push(Finding {
            subject: Subject::Node(node.name.to_string()),
            message: format!(
                "node '{}' makes the callback group '{group}' reentrant, and no callback is in it",
                node.name
            ),
            hint: hint(group.as_str(), groups.iter().copied()),
        });
    }
}

fn start_up(node: &Node, findings: &mut Vec<Finding>) {
    for lib in node
        .start_up
        .libs
        .iter()
        .filter(|l| !(0.0..=1.0).contains(&l.touched))
    {
        findings.push(Finding {
            subject: Subject::Node(node.name.to_string()),
            message: format!(
                "node '{}' touches a share of {} of the library group '{}'",
                node.name, lib.touched, lib.name
            ),
            hint: Some("a share is a number from 0 to 1".into()),
        });
    }
}

/// Reports each cycle of depends_on once, at the edge that closes it.
fn cycles(index: &Index<'_>, findings: &mut Vec<Finding>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    let mut marks: HashMap<&str, Mark> = HashMap::new();
    for start in &index.stack.nodes {
        let mut path: Vec<(&Node, usize)> = vec![(start, 0)];
        if marks.contains_key(start.name.as_str()) {
            continue;
        }
        marks.insert(start.name.as_str(), Mark::Open);
        while let Some((node, next)) = path.last_mut() {
            let node: &Node = node;
            let Some(other) = node.depends_on.get(*next) else {
                marks.insert(node.name.as_str(), Mark::Done);
                path.pop();
                continue;
            };
            *next += 1;
            match (marks.get(other.as_str()), index.nodes.get(other.as_str())) {
                (None, Some(child)) => {
                    marks.insert(child.name.as_str(), Mark::Open);
                    path.push((child, 0));
                }
                (Some(Mark::Open), _) => {
                    let from = path.iter().position(|(n, _)| n.name == *other).unwrap_or(0);
                    let mut names: Vec<&str> =
                        path[from..].iter().map(|(n, _)| n.name.as_str()).collect();
                    names.push(other.as_str());
                    findings.push(Finding {
                        subject: Subject::DependsOn(node.name.to_string(), other.to_string()),
                        message: format!(
                            "the nodes depend on each other in a circle: {}",
                            names.join(" → ")
                        ),
                        hint: Some("take one depends_on away".into()),
                    });
                }
                _ => {}
            }
        }
    }
}
