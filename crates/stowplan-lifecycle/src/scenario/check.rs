//! Whether a scenario can be played with a partition of a stack.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_model::{Chain, Stack};
use stowplan_spec::Scenario;

/// Why a scenario cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unplayable {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// The chains that run all the time: those of which no callback is in a service on demand. `services` has the nodes of each.
pub(crate) fn chains_of<'a>(
    scenario: &Scenario,
    stack: &'a Stack,
    services: &[(String, Vec<String>)],
) -> Result<Vec<&'a Chain>, Unplayable> {
    let nodes: BTreeMap<&str, &str> = services
        .iter()
        .flat_map(|(service, nodes)| nodes.iter().map(|n| (n.as_str(), service.as_str())))
        .collect();
    let on_demand = scenario.on_demand();
    for service in &on_demand {
        if !services.iter().any(|(name, _)| name == service) {
            let names: Vec<&str> = services.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Unplayable {
                message: format!("the partition has no service '{service}'"),
                hint: format!("services are {}", names.join(", ")),
            });
        }
    }
    nobody_waits(scenario, stack, &nodes)?;
    let runs = |chain: &&Chain| {
        let mut callbacks = chain.callbacks.iter();
        callbacks.all(|at| {
            let service = nodes.get(at.node.as_str());
            service.is_some_and(|service| !on_demand.contains(service))
        })
    };
    let chains: Vec<&Chain> = stack.chains.iter().filter(runs).collect();
    if chains.is_empty() {
        return Err(Unplayable {
            message: "no chain of the stack runs all the time".to_owned(),
            hint: "leave a chain without services that are started on demand".to_owned(),
        });
    }
    Ok(chains)
}

/// A service that starts is ready when its endpoints are matched: those it shares a topic with have to run by then.
fn nobody_waits(
    scenario: &Scenario,
    stack: &Stack,
    nodes: &BTreeMap<&str, &str>,
) -> Result<(), Unplayable> {
    let shared = shared(scenario, stack, nodes);
    let mut runs = scenario.running_first();
    for step in &scenario.timeline {
        runs.extend(step.start.iter().map(String::as_str));
        for service in step.start.iter().map(String::as_str) {
            let missing = shared.iter().find_map(|(a, b, topic)| {
                let other = match (*a == service, *b == service) {
                    (true, false) => *b,
                    (false, true) => *a,
                    _ => return None,
                };
                (!runs.contains(other)).then_some((other, *topic))
            });
            if let Some((other, topic)) = missing {
                return Err(Unplayable {
                    message: format!(
                        "'{}' starts '{service}', which waits for '{other}' at topic '{topic}'",
                        step.event
                    ),
                    hint: format!("start '{other}' before it or in the same step"),
                });
            }
        }
        for service in &step.stop {
            runs.remove(service.as_str());
        }
    }
    Ok(())
}

/// Pairs of services on demand of which one publishes what the other subscribes to, with the topic.
fn shared<'a>(
    scenario: &'a Scenario,
    stack: &'a Stack,
    nodes: &BTreeMap<&'a str, &'a str>,
) -> BTreeSet<(&'a str, &'a str, &'a str)> {
    let on_demand = scenario.on_demand();
    let mut publishers: Vec<(&str, &str)> = Vec::new();
    let mut subscribers: Vec<(&str, &str)> = Vec::new();
    for node in &stack.nodes {
        let service = nodes.get(node.name.as_str());
        let Some(service) = service.filter(|service| on_demand.contains(**service)) else {
            continue;
        };
        publishers.extend(node.publishers().into_iter().map(|topic| (topic, *service)));
        subscribers.extend(node.subscriptions().map(|topic| (topic, *service)));
    }
    let pairs = publishers.iter().flat_map(|(topic, from)| {
        let to = subscribers.iter().filter(move |(other, _)| other == topic);
        to.map(move |(_, to)| (*from, *to, *topic))
    });
    pairs.filter(|(from, to, _)| from != to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Services = Vec<(String, Vec<String>)>;

    fn shipped() -> (Scenario, Stack, Services) {
        let (scenario, base) = stowplan_spec::find_scenario("parking-to-intersection").unwrap();
        let spec = stowplan_spec::find_spec(&scenario.stack, &base).unwrap();
        let stack = spec.into_stack();
        let mut services = Services::new();
        for node in &stack.nodes {
            let module = node.module.to_string();
            match services.iter_mut().find(|(name, _)| *name == module) {
                Some((_, nodes)) => nodes.push(node.name.to_string()),
                None => services.push((module, vec![node.name.to_string()])),
            }
        }
        (scenario, stack, services)
    }

    #[test]
    fn the_shipped_scenario_has_a_chain_that_runs_all_the_time() {
        let (scenario, stack, services) = shipped();
        let chains = chains_of(&scenario, &stack, &services).unwrap();
        assert_eq!(chains.len(), 1);
        assert_eq!(chains[0].name.as_str(), "sensor_to_control");
        assert_eq!(scenario.running_first(), BTreeSet::from(["parking"]));
    }

    #[test]
    fn nothing_is_started_that_waits_for_what_does_not_run() {
        let (mut scenario, stack, services) = shipped();
        scenario.timeline[1].start.push("sensing".to_owned());
        let error = chains_of(&scenario, &stack, &services).unwrap_err();
        let told = "'leaves the parking lot' starts 'traffic_light', which waits for 'sensing' at topic '/sensing/image'";
        assert_eq!(error.message, told);
    }

    #[test]
    fn a_chain_through_what_is_started_on_demand_does_not_run_all_the_time() {
        let (mut scenario, stack, services) = shipped();
        scenario.timeline[2].stop.push("control".to_owned());
        let error = chains_of(&scenario, &stack, &services).unwrap_err();
        assert_eq!(error.message, "no chain of the stack runs all the time");
        scenario.timeline[2].stop.push("brakes".to_owned());
        let error = chains_of(&scenario, &stack, &services).unwrap_err();
        assert_eq!(error.message, "the partition has no service 'brakes'");
    }
}
