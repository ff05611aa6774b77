//! Real programs: their commands, their topics, and how they tell that they are ready.

use std::collections::HashMap;

use stowplan_model::{Ready, RealService, Trigger, is_cdi_name};

use super::{Finding, Index, Subject, duplicates};
use crate::nearest::hint;

pub(super) fn check(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let services = &index.stack.services;
    duplicates(
        services.iter().map(|s| &s.name),
        "service",
        |n| Subject::Service(n.to_string()),
        findings,
    );
    for service in services {
        root(service, findings);
        for (what, path) in paths(service) {
            if !path.starts_with('/') {
                findings.push(Finding {
                    subject: Subject::Service(service.name.to_string()),
                    message: format!(
                        "the {what} '{path}' of service '{}' is not an absolute path",
                        service.name
                    ),
                    hint: Some("begin it with '/'".into()),
                });
            }
        }
        traced(service, findings);
        topics(index, service, findings);
        ready(index, service, findings);
    }
    user_data(index, findings);
}

/// Where its files and its program come from.
fn root(service: &RealService, findings: &mut Vec<Finding>) {
    let name = &service.name;
    let mut find = |message: String, hint: &str| {
        findings.push(Finding {
            subject: Subject::Service(name.to_string()),
            message,
            hint: Some(hint.into()),
        });
    };
    if service.command.is_empty() && service.image.is_none() {
        find(
            format!("service '{name}' has no command"),
            "give the program and its arguments as a list",
        );
    }
    if service.image.is_some() && service.rootfs.is_some() {
        find(
            format!("service '{name}' has an image and a root file system"),
            "leave one of 'image' and 'rootfs' out",
        );
    }
    for (at, mount) in service.mounts.iter().enumerate() {
        if service.mounts[..at]
            .iter()
            .any(|other| other.to == mount.to)
        {
            find(
                format!("service '{name}' has two mounts at '{}'", mount.to),
                "mount each at a place of its own",
            );
        }
    }
    for device in &service.devices {
        if !device.starts_with("/dev/") && !is_cdi_name(device) {
            find(
                format!("'{device}' of service '{name}' is no device"),
                "give its path below /dev or its name of the Container Device Interface, as nvidia.com/gpu=0, or mount it",
            );
        }
    }
    let is_part = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    if let Some(user) = &service.user
        && !(user.split(':').all(is_part) && user.split(':').count() <= 2)
    {
        find(
            format!("'{user}' is no user for service '{name}'"),
            "write USER or USER:GROUP, names or numbers",
        );
    }
}

/// Where a program looks for LTTng's session daemon.
const LTTNG_HOME: &str = "LTTNG_HOME";

/// A traced program has to find the daemon of the run.
fn traced(service: &RealService, findings: &mut Vec<Finding>) {
    if service.trace && service.env.iter().any(|(name, _)| name == LTTNG_HOME) {
        findings.push(Finding {
            subject: Subject::Service(service.name.to_string()),
            message: format!("service '{}' is traced and sets {LTTNG_HOME}", service.name),
            hint: Some("leave the variable out: every run sets its own".into()),
        });
    }
}

/// Paths that must be absolute, with what they are.
fn paths(service: &RealService) -> Vec<(&'static str, &str)> {
    let mut paths: Vec<(&str, &str)> = Vec::new();
    paths.extend(
        service
            .rootfs
            .iter()
            .map(|path| ("root file system", path.as_str())),
    );
    paths.extend(
        service
            .working_dir
            .iter()
            .map(|path| ("working directory", path.as_str())),
    );
    for mount in &service.mounts {
        paths.push(("mounted path", &mount.from));
        paths.push(("mount point", &mount.to));
    }
    paths
}

/// What makes messages of a modelled publisher foreign to this topic.
pub(super) fn foreign_messages(index: &Index<'_>, topic: &str) -> Option<String> {
    let dds = index.topics.get(topic)?.dds.as_ref()?;
    dds.sends
        .is_none()
        .then(|| format!("which has messages of the real type '{}'", dds.type_name))
}

fn topics(index: &Index<'_>, service: &RealService, findings: &mut Vec<Finding>) {
    let ends = [
        ("publishes on", &service.publishes),
        ("subscribes to", &service.subscribes),
    ];
    for (verb, topics) in ends {
        for (at, topic) in topics.iter().enumerate() {
            let name = &service.name;
            let (message, hint) = match index.topics.get(topic.as_str()) {
                None => (
                    format!("service '{name}' {verb} '{topic}', which is not declared under topics"),
                    hint(topic, index.topics.keys().copied()),
                ),
                Some(declared) if declared.dds.is_none() => (
                    format!("service '{name}' {verb} '{topic}', which does not say its real type"),
                    Some("give the topic a 'dds' with its 'type', for example 'sensor_msgs::msg::dds_::Imu_'".into()),
                ),
                Some(_) if topics[..at].contains(topic) => (
                    format!("service '{name}' {verb} '{topic}' twice"),
                    Some("name each topic once".into()),
                ),
                Some(_) => continue,
            };
            findings.push(Finding {
                subject: Subject::Service(name.to_string()),
                message,
                hint,
            });
        }
    }
}

fn ready(index: &Index<'_>, service: &RealService, findings: &mut Vec<Finding>) {
    let Ready::TopicMatched(topic) = &service.ready else {
        return;
    };
    let name = &service.name;
    let (what, hint) = if !index.topics.contains_key(topic.as_str()) {
        (
            "no such topic is declared",
            hint(topic, index.topics.keys().copied()),
        )
    } else if !is_matched(index, service, topic) {
        (
            "no modelled node is its partner there",
            Some("name the topic under 'publishes' or 'subscribes' of the service, and let a node do the other".to_owned()),
        )
    } else {
        return;
    };
    findings.push(Finding {
        subject: Subject::Ready(name.to_string()),
        message: format!("service '{name}' is ready when '{topic}' is matched, but {what}"),
        hint,
    });
}

/// Whether a modelled endpoint waits for one of this service on this topic.
fn is_matched(index: &Index<'_>, service: &RealService, topic: &str) -> bool {
    let mut callbacks = index.stack.nodes.iter().flat_map(|n| &n.callbacks);
    let names = |topics: &[String]| topics.iter().any(|t| t == topic);
    callbacks.any(|callback| {
        let takes = matches!(&callback.trigger, Trigger::Subscription { topic: t } if t == topic);
        (takes && names(&service.publishes))
            || (names(&callback.publishes) && names(&service.subscribes))
    })
}

/// A process has one participant, so its topics must agree on what that says of itself.
fn user_data(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let mut said: HashMap<&str, (&str, &str)> = HashMap::new();
    for node in &index.stack.nodes {
        for callback in &node.callbacks {
            let taken = match &callback.trigger {
                Trigger::Subscription { topic } => Some(topic),
                Trigger::Timer { .. } => None,
            };
            for topic in callback.publishes.iter().chain(taken) {
                let dds = index
                    .topics
                    .get(topic.as_str())
                    .and_then(|t| t.dds.as_ref());
                let Some(own) = dds.and_then(|dds| dds.user_data.as_deref()) else {
                    continue;
                };
                let (other, first) = *said.entry(node.process.as_str()).or_insert((topic, own));
                if first != own {
                    findings.push(Finding {
                        subject: Subject::Topic(topic.clone()),
                        message: format!(
                            "process '{}' has endpoints on '{other}' and '{topic}', which want different user data of its one participant",
                            node.process
                        ),
                        hint: Some("put the nodes into processes of their own".into()),
                    });
                }
            }
        }
    }
}
