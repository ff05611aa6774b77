//! What services with networks of their own would wait for in vain.

use std::collections::HashMap;

use stowplan_model::Stack;

use crate::split::Seats;

/// A topic that nothing carries: its publisher and its subscriber are in services that do not reach each other.
#[derive(Debug, PartialEq, Eq)]
struct Cut<'a> {
    topic: &'a str,
    from: &'a str,
    to: &'a str,
}

/// Why a stack cannot run in services with networks of their own; nothing where it can. Endpoints that carry nothing count: a
/// service is ready when all of its endpoints have found theirs.
pub(crate) fn refusal(stack: &Stack, seats: &Seats, services: &[&str]) -> Option<String> {
    let Cut { topic, from, to } = first_cut(stack, seats, services)?;
    Some(format!(
        "service '{from}' publishes {topic} and '{to}' subscribes to it, and services with networks of their own (isolation: net) have nothing but a loopback: leave net out, or use a partition that keeps both together"
    ))
}

fn first_cut<'a>(stack: &'a Stack, seats: &Seats, services: &[&'a str]) -> Option<Cut<'a>> {
    let mut publishers: HashMap<&str, Vec<&'a str>> = HashMap::new();
    let modelled = || {
        let seated = stack.nodes.iter().zip(&seats.service);
        seated.map(|(node, service)| (node, services[*service]))
    };
    for (node, service) in modelled() {
        for topic in node.publishers() {
            publishers.entry(topic).or_default().push(service);
        }
    }
    for real in &stack.services {
        for topic in &real.publishes {
            publishers
                .entry(topic)
                .or_default()
                .push(real.name.as_str());
        }
    }
    let cut = |topic: &'a str, to: &'a str| {
        let from = publishers.get(topic)?.iter().find(|from| **from != to)?;
        Some((topic, *from, to))
    };
    let of_nodes =
        modelled().flat_map(|(node, to)| node.subscriptions().map(move |topic| (topic, to)));
    let of_reals = stack.services.iter().flat_map(|real| {
        let topics = real.subscribes.iter();
        topics.map(|topic| (topic.as_str(), real.name.as_str()))
    });
    let mut ends = of_nodes.chain(of_reals);
    let (topic, from, to) = ends.find_map(|(topic, to)| cut(topic, to))?;
    Some(Cut { topic, from, to })
}
