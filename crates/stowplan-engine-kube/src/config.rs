//! What the API server is asked for, for one service.

use std::path::Path;

use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, ExecAction, HostPathVolumeSource, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Probe, SecurityContext, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{access, arguments, check, environment, mounts, of_service};
use stowplan_host::Ids;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, HealthPlan, Program, ServiceStart};

use crate::node::Node;
use crate::parameters::{self, Parameters};
use crate::{gpus, names, resources};

/// Name of the one container of a pod.
pub(crate) const CONTAINER: &str = "service";
/// Policy for an image that the node pulls where it does not have it.
pub(crate) const PULLED: &str = "IfNotPresent";

/// A pod in the network of its node, which ends when its programs do.
pub(crate) fn pod(
    name: &str,
    namespace: &str,
    node: &str,
    (run, service): (&str, Option<&str>),
    containers: Vec<Container>,
) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(names::plain(name)),
            namespace: Some(namespace.to_owned()),
            labels: Some(names::labels(run, service)),
            annotations: Some(names::annotations(name, run, service)),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers,
            host_network: Some(true),
            restart_policy: Some("Never".to_owned()),
            affinity: Some(on(node)),
            // What Kubernetes would give a program of its own beside what it is asked for.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            dns_policy: Some("Default".to_owned()),
            ..PodSpec::default()
        }),
        status: None,
    }
}

/// As the API server takes it.
pub(crate) fn json(pod: &Pod) -> Result<Value, EngineError> {
    serde_json::to_value(pod).map_err(|e| EngineError::new("cannot write a pod as JSON").because(e))
}

/// Only there; the scheduler still has to say so.
fn on(node: &str) -> Affinity {
    let name = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm {
        match_fields: Some(vec![name]),
        ..NodeSelectorTerm::default()
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// How a kubelet comes to an image that it is named.
#[must_use]
pub(crate) fn pull_policy(image: &str) -> &'static str {
    // By its digest, where it is in a registry, and pulled before t0. Else it is in the store, and nowhere else.
    if image.contains('@') { PULLED } else { "Never" }
}

/// A container of this image.
pub(crate) fn container(name: &str, image: &str, command: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some(pull_policy(image).to_owned()),
        command: Some(command).filter(|words| !words.is_empty()),
        ..Container::default()
    }
}

/// The pod of a service, and the files of parameters that it has to find.
pub(crate) fn of(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    image: &str,
    namespace: &str,
    node: &Node,
) -> Result<(Pod, Parameters), EngineError> {
    let access = access(&service.program);
    let mounts = mounts(plan, service);
    let parameters = Parameters::of(plan, service, &mounts);
    let variables = environment(&service.program).into_iter();
    let mut container = container(CONTAINER, image, arguments(plan, service));
    container.working_dir = access.working_dir;
    container.env = Some(
        variables
            .map(|(name, value)| EnvVar {
                name,
                // It would take $(NAME) for the value of another one.
                value: Some(value.replace("$(", "$$(")),
                value_from: None,
            })
            .collect(),
    );
    container.command = container
        .command
        .map(|words| words.iter().map(|word| word.replace("$(", "$$(")).collect());
    container.resources = resources::of(&service.limits, gpus::of(service, node))?;
    container.volume_mounts = some(
        mounts
            .iter()
            .enumerate()
            .map(|(number, mount)| {
                if parameters.has(number) {
                    parameters::mount(number, mount)
                } else {
                    volume_mount((number, mount))
                }
            })
            .collect(),
    );
    if let Some(user) = &access.user {
        let ids = Ids::find(root(&service.program), user)?;
        container.security_context = Some(SecurityContext {
            run_as_user: Some(ids.user.into()),
            run_as_group: Some(ids.group.into()),
            ..SecurityContext::default()
        });
    }
    if let Some(health) = &service.health {
        probes(&mut container, plan, service, health);
    }
    let name = of_service(&plan.run, &service.name);
    let of = (plan.run.as_str(), Some(service.name.as_str()));
    let mut pod = pod(&name, namespace, &node.name, of, vec![container]);
    if let Some(spec) = &mut pod.spec {
        let of_host = mounts.iter().enumerate();
        let of_host = of_host.filter(|(number, _)| !parameters.has(*number));
        let volumes = of_host.map(volume).chain(parameters.volume());
        spec.volumes = some(volumes.collect());
        // Without it a plugin of the node gives the pod a network of its own.
        spec.host_network = (!plan.isolation.net).then_some(true);
        spec.host_ipc = (!plan.isolation.ipc).then_some(true);
        if service.restarts.is_asked() {
            spec.restart_policy = Some("Always".to_owned());
        }
    }
    Ok((pod, parameters))
}

/// The probes of a service that is checked: one that it passes once, and then one that ends it where it does not.
fn probes(
    container: &mut Container,
    plan: &DeploymentPlan,
    service: &ServiceStart,
    health: &HealthPlan,
) {
    // The API has whole seconds, and none is less than one.
    let seconds = |ms: u64| i32::try_from(ms.div_ceil(1000).max(1)).unwrap_or(i32::MAX);
    let every = seconds(health.every_ms);
    let probe = |failures: i32| Probe {
        exec: Some(ExecAction {
            command: Some(check(plan, service, health)),
        }),
        period_seconds: Some(every),
        timeout_seconds: Some(seconds(health.within_ms)),
        failure_threshold: Some(failures),
        ..Probe::default()
    };
    container.startup_probe = Some(probe((seconds(health.start_ms) / every).max(1)));
    container.liveness_probe = Some(Probe {
        // What hangs does not hear that it is asked to end.
        termination_grace_period_seconds: Some(1),
        ..probe(1)
    });
}

fn some<T>(all: Vec<T>) -> Option<Vec<T>> {
    Some(all).filter(|all| !all.is_empty())
}

fn root(program: &Program) -> &Path {
    match program {
        Program::Command {
            rootfs: Some(root), ..
        } => Path::new(root),
        Program::Node | Program::Command { rootfs: None, .. } => Path::new("/"),
    }
}

fn volume((number, mount): (usize, &BindMount)) -> Volume {
    Volume {
        name: format!("host-{number}"),
        host_path: Some(HostPathVolumeSource {
            path: mount.from.clone(),
            type_: None,
        }),
        ..Volume::default()
    }
}

fn volume_mount((number, mount): (usize, &BindMount)) -> VolumeMount {
    VolumeMount {
        name: format!("host-{number}"),
        mount_path: mount.to.clone(),
        read_only: mount.read_only.then_some(true),
        ..VolumeMount::default()
    }
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;
    use stowplan_wire::deployment::Access;

    use super::*;

    fn made(net: bool) -> Pod {
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a/b", &["/x", "$(HOME)"])]);
        plan.isolation.ipc = true;
        plan.isolation.net = net;
        if let Program::Command { access, rootfs, .. } = &mut plan.services[0].program {
            *rootfs = Some("/".to_owned());
            *access = Access {
                mounts: vec![BindMount {
                    from: "/srv".to_owned(),
                    to: "/maps".to_owned(),
                    read_only: true,
                }],
                user: Some("7:9".to_owned()),
                ..Access::default()
            };
        }
        let node = Node::default();
        of(&plan, &plan.services[0], "i", "stowplan-7-1", &node)
            .unwrap()
            .0
    }

    #[test]
    fn only_an_image_of_a_registry_is_pulled() {
        assert_eq!(pull_policy("localhost/stowplan:7-0-ab"), "Never");
        assert_eq!(pull_policy("rack:5000/stowplan@sha256:ab"), PULLED);
    }

    #[test]
    fn a_pod_that_is_not_in_the_network_of_its_node_is_in_that_of_a_plugin() {
        let network = |net| made(net).spec.unwrap().host_network;
        assert_eq!((network(false), network(true)), (Some(true), None));
    }

    #[test]
    fn a_service_is_a_pod_that_nobody_starts_again() {
        let pod = made(false);
        assert!(names::is_named(
            "stowplan-7-1-a-b",
            pod.metadata.annotations.as_ref()
        ));
        let spec = pod.spec.unwrap();
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
        assert_eq!((spec.host_network, spec.host_ipc), (Some(true), None));
        let container = &spec.containers[0];
        assert_eq!(container.image_pull_policy.as_deref(), Some("Never"));
        let command = ["/x", "$$(HOME)"].map(str::to_owned).to_vec();
        assert_eq!(container.command, Some(command));
        assert_eq!(container.resources, None);
        let mount = &container.volume_mounts.as_ref().unwrap()[0];
        assert_eq!(
            (mount.mount_path.as_str(), mount.read_only),
            ("/maps", Some(true))
        );
        let context = container.security_context.as_ref().unwrap();
        assert_eq!(
            (context.run_as_user, context.run_as_group),
            (Some(7), Some(9))
        );
    }
}
