//! GPUs. A stack names them by the Container Device Interface; a cluster counts them, as the node's device plugin advertises them
//! (<https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/>).

use std::collections::BTreeSet;

use stowplan_engine::EngineError;
use stowplan_engine_daemon::access;
use stowplan_wire::deployment::{DeploymentPlan, ServiceStart};

use crate::node::{GPU, Node};

/// The name of all that a machine has (CDI, as `nvidia-ctk cdi generate` writes it).
const ALL: &str = "all";

/// How many GPUs of a node a service asks for.
pub(crate) fn of(service: &ServiceStart, node: &Node) -> u64 {
    let devices = access(&service.program).devices;
    let names = devices.iter().filter_map(|device| device.split_once('='));
    let names: BTreeSet<&str> = names
        .filter(|(kind, _)| *kind == GPU)
        .map(|(_, name)| name)
        .collect();
    if names.contains(ALL) {
        // All of none is refused, as one of none is.
        node.gpus.max(1)
    } else {
        names.len() as u64
    }
}

/// Refuses what the node has not: pods share no GPU.
pub(crate) fn require(plan: &DeploymentPlan, node: &Node) -> Result<(), EngineError> {
    let mut asked = 0;
    for service in &plan.services {
        asked += of(service, node);
        if asked > node.gpus {
            let (name, has) = (&node.name, node.gpus);
            let what = format!(
                "node {name} has {has} of {GPU}, and the services up to this one ask for {asked}"
            );
            let hint = if has == 0 {
                "install the driver and the vendor's device plugin on the node, or leave the device out; 'kubectl describe node' tells its resources"
            } else {
                "give each service GPUs of its own: pods share none"
            };
            let error = EngineError::new(what).hint(hint);
            return Err(error.of_service(&service.name, Some(service.log.clone())));
        }
    }
    Ok(())
}

/// What a result has to tell of them.
pub(crate) fn notes(plan: &DeploymentPlan, node: &Node) -> BTreeSet<String> {
    let counts = plan
        .services
        .iter()
        .map(|service| (of(service, node), service));
    let with = counts.filter(|(count, _)| *count > 0);
    with.map(|(count, service)| {
        let name = &service.name;
        format!("service '{name}': the node's device plugin chooses which {count} of {GPU} it has")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use stowplan_wire::deployment::Program;

    use super::*;

    fn plan(devices: &[&[&str]]) -> DeploymentPlan {
        let names = ["a", "b"];
        let services: Vec<(&str, &[&str])> = names[..devices.len()]
            .iter()
            .map(|name| (*name, &["/x"][..]))
            .collect();
        let mut plan = stowplan_testkit::command_plan("7-1", "/nowhere", None, &services);
        for (service, devices) in plan.services.iter_mut().zip(devices) {
            if let Program::Command { access, .. } = &mut service.program {
                access.devices = devices.iter().map(|&device| device.to_owned()).collect();
            }
        }
        plan
    }

    fn node(gpus: u64) -> Node {
        let mut node = Node::default();
        node.name = "here".to_owned();
        node.gpus = gpus;
        node
    }

    #[test]
    fn each_name_is_one_gpu_and_all_are_those_of_the_node() {
        let count = |devices: &[&str]| of(&plan(&[devices]).services[0], &node(4));
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&["nvidia.com/gpu=0"]), 1);
        assert_eq!(
            count(&["nvidia.com/gpu=0", "nvidia.com/gpu=0", "nvidia.com/gpu=3"]),
            2
        );
        assert_eq!(count(&["nvidia.com/gpu=all", "nvidia.com/gpu=0"]), 4);
        assert_eq!(count(&["amd.com/gpu=0"]), 0);
    }

    #[test]
    fn more_than_the_node_has_is_refused_with_the_reason() {
        let both = plan(&[&["nvidia.com/gpu=0"], &["nvidia.com/gpu=1"]]);
        assert!(require(&both, &node(2)).is_ok());
        assert!(require(&plan(&[&[]]), &node(0)).is_ok());
        let error = require(&both, &node(1)).unwrap_err();
        assert_eq!(error.service.as_deref(), Some("b"));
        assert!(
            error.to_string().contains("has 1 of nvidia.com/gpu"),
            "{error}"
        );
        assert!(error.hint.unwrap().contains("share none"));
        let error = require(&plan(&[&["nvidia.com/gpu=all"]]), &node(0)).unwrap_err();
        assert!(error.hint.unwrap().contains("device plugin"));
        assert_eq!(notes(&both, &node(2)).len(), 2);
        assert!(notes(&plan(&[&[]]), &node(2)).is_empty());
    }
}
