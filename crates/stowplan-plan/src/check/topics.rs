//! Topics: their names, and that each has somebody who publishes and somebody who uses it.

use std::collections::HashSet;

use stowplan_model::{Callback, Node, Trigger};

use super::{Finding, Index, Subject, real};
use crate::nearest::hint;

pub(super) fn check(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    for topic in &index.stack.topics {
        let subject = || Subject::Topic(topic.name.clone());
        if !seen.insert(topic.name.as_str()) {
            findings.push(Finding {
                subject: subject(),
                message: format!("topic '{}' is declared twice", topic.name),
                hint: None,
            });
        }
        if !is_ros_name(&topic.name) {
            findings.push(Finding {
                subject: subject(),
                message: format!("'{}' is not a ROS topic name", topic.name),
                hint: Some(
                    "write a slash before each part, parts of letters, digits and '_' that begin with a letter, for example '/sensing/lidar/points'"
                        .into(),
                ),
            });
        }
        if !topic.bytes.is_valid() {
            findings.push(Finding {
                subject: subject(),
                message: format!("topic '{}' has an impossible size", topic.name),
                hint: Some("the low end must not be above the high end".into()),
            });
        }
        if topic.dds.is_some() && topic.intra_process {
            findings.push(Finding {
                subject: subject(),
                message: format!(
                    "topic '{}' is known to real programs and hands messages over by pointer",
                    topic.name
                ),
                hint: Some("leave out 'intra_process' or 'dds'".into()),
            });
        }
        if topic.qos.depth == 0 {
            findings.push(Finding {
                subject: subject(),
                message: format!("topic '{}' keeps the last 0 messages", topic.name),
                hint: Some("give a depth of at least 1".into()),
            });
        }
    }
    endpoints(index, findings);
}

fn is_ros_name(name: &str) -> bool {
    name.strip_prefix('/').is_some_and(|rest| {
        name.len() <= 200
            && rest.split('/').all(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
    })
}

fn endpoints(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let published: HashSet<&str> = index
        .stack
        .nodes
        .iter()
        .flat_map(Node::publishers)
        .chain(real_publishers(index))
        .collect();
    let mut used = published.clone();
    for node in &index.stack.nodes {
        used.extend(node.subscriptions());
        silent(index, node, findings);
        for callback in &node.callbacks {
            publications(index, node, callback, findings);
            let Trigger::Subscription { topic } = &callback.trigger else {
                continue;
            };
            let problem = if !index.topics.contains_key(topic.as_str()) {
                Some(("which is not declared under topics", declared(index, topic)))
            } else if !published.contains(topic.as_str()) {
                Some((
                    "on which nothing is published",
                    hint(topic, published.iter().copied()),
                ))
            } else {
                None
            };
            if let Some((what, hint)) = problem {
                let (node, name) = (node.name.to_string(), callback.name.to_string());
                findings.push(Finding {
                    message: format!("node '{node}' subscribes to '{topic}', {what}"),
                    subject: Subject::Subscription(node, name),
                    hint,
                });
            }
        }
    }
    used.extend(
        index
            .stack
            .services
            .iter()
            .flat_map(|s| &s.subscribes)
            .map(String::as_str),
    );
    for topic in index
        .stack
        .topics
        .iter()
        .filter(|t| !used.contains(t.name.as_str()))
    {
        findings.push(Finding {
            subject: Subject::Topic(topic.name.clone()),
            message: format!(
                "topic '{}' is declared, but nothing publishes on it or subscribes to it",
                topic.name
            ),
            hint: None,
        });
    }
}

fn real_publishers<'a>(index: &Index<'a>) -> impl Iterator<Item = &'a str> {
    let services = index.stack.services.iter();
    services.flat_map(|s| s.publishes.iter().map(String::as_str))
}

/// Endpoints that carry nothing: of declared topics, and of services with a ROS name.
fn silent(index: &Index<'_>, node: &Node, findings: &mut Vec<Finding>) {
    let silent = &node.silent;
    let mut problem = |message: String, hint: Option<String>| {
        findings.push(Finding {
            subject: Subject::Node(node.name.to_string()),
            message: format!("node '{}' {message}", node.name),
            hint,
        });
    };
    let lists = [
        ("publisher", &silent.publishers),
        ("subscription", &silent.subscriptions),
    ];
    for (what, topics) in lists {
        for topic in topics {
            if !index.topics.contains_key(topic.as_str()) {
                problem(
                    format!("has a {what} of '{topic}', which is not declared under topics"),
                    declared(index, topic),
                );
            }
        }
    }
    for (what, names) in [("service", &silent.services), ("client", &silent.clients)] {
        for name in names.iter().filter(|name| !is_ros_name(name)) {
            problem(
                format!("has a {what} '{name}', which is no ROS name"),
                Some("write it in full, as /planning/planner/reset".to_owned()),
            );
        }
    }
}

fn declared(index: &Index<'_>, topic: &str) -> Option<String> {
    hint(topic, index.topics.keys().copied())
}

fn publications(index: &Index<'_>, node: &Node, callback: &Callback, findings: &mut Vec<Finding>) {
    for topic in &callback.publishes {
        let (what, hint) = if !index.topics.contains_key(topic.as_str()) {
            (
                "which is not declared under topics".to_owned(),
                declared(index, topic),
            )
        } else if let Some(what) = real::foreign_messages(index, topic) {
            let hint = "a modelled node has no messages of a real type, but can count them: 'sends: sequence' in the topic's 'dds'";
            (what, Some(hint.to_owned()))
        } else {
            continue;
        };
        let (node, name) = (node.name.to_string(), callback.name.to_string());
        findings.push(Finding {
            message: format!("node '{node}' publishes on '{topic}', {what}"),
            subject: Subject::Publication(node, name, topic.clone()),
            hint,
        });
    }
}
