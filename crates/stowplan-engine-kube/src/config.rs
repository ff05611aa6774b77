//! What the API server is asked for, for one service.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, HostPathVolumeSource, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, ResourceRequirements, SecurityContext,
    Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{
    CpuTime, access, arguments, environment, memory_bytes, mounts, of_service,
};
use stowplan_host::Ids;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, LimitsPlan, Program, ServiceStart};

use crate::names;

/// Name of the one container of a pod.
pub(crate) const CONTAINER: &str = "service";

/// A pod in the network of a node, which ends when its programs do.
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

/// A container of an image that the node has.
pub(crate) fn container(name: &str, image: &str, command: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some("Never".to_owned()),
        command: Some(command).filter(|words| !words.is_empty()),
        ..Container::default()
    }
}

/// The pod of a service.
pub(crate) fn of(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    image: &str,
    namespace: &str,
    node: &str,
) -> Result<Pod, EngineError> {
    let access = access(&service.program);
    let mounts = mounts(plan, service);
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
    container.resources = resources(&service.limits)?;
    container.volume_mounts = some(mounts.iter().enumerate().map(volume_mount).collect());
    if let Some(user) = &access.user {
        let ids = Ids::find(root(&service.program), user)?;
        container.security_context = Some(SecurityContext {
            run_as_user: Some(ids.user.into()),
            run_as_group: Some(ids.group.into()),
            ..SecurityContext::default()
        });
    }
    let name = of_service(&plan.run, &service.name);
    let of = (plan.run.as_str(), Some(service.name.as_str()));
    let mut pod = pod(&name, namespace, node, of, vec![container]);
    if let Some(spec) = &mut pod.spec {
        spec.volumes = some(mounts.iter().enumerate().map(volume).collect());
        spec.host_ipc = (!plan.isolation.ipc).then_some(true);
    }
    Ok(pod)
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

/// Limits and requests. Where there is a limit and no request, the API server would make a request of it: what it would
/// do is said here, so that what it changes is a change.
fn resources(limits: &LimitsPlan) -> Result<Option<ResourceRequirements>, EngineError> {
    let quota = CpuTime::of(limits).map(milli).transpose()?;
    // A request of 1000m is 1024 shares, which is the default weight of 100.
    let weight = limits.cpu_weight.map(|weight| u64::from(weight) * 10);
    let memory = memory_bytes(limits).map(|bytes| Quantity(bytes.to_string()));
    let of = |cpu: Option<u64>| {
        let cpu = cpu.map(|milli| ("cpu".to_owned(), cpu_quantity(milli)));
        let memory = memory.clone().map(|bytes| ("memory".to_owned(), bytes));
        let all: BTreeMap<String, Quantity> = cpu.into_iter().chain(memory).collect();
        Some(all).filter(|all| !all.is_empty())
    };
    let resources = ResourceRequirements {
        limits: of(quota),
        requests: of(weight.or(quota)),
        ..ResourceRequirements::default()
    };
    Ok((resources != ResourceRequirements::default()).then_some(resources))
}

/// A quota in thousandths of a CPU.
fn milli(time: CpuTime) -> Result<u64, EngineError> {
    let of_period = time.quota_us * 1000;
    let milli = u64::try_from(of_period / time.period_us).unwrap_or_default();
    if of_period % time.period_us != 0 {
        return Err(EngineError::new(format!(
            "Kubernetes has limits of whole thousandths of a CPU, and {} µs of {} µs are none",
            time.quota_us, time.period_us
        ))
        .hint("round the cpu-quota"));
    }
    Ok(milli)
}

/// As the API server writes it.
fn cpu_quantity(milli: u64) -> Quantity {
    Quantity(if milli.is_multiple_of(1000) {
        (milli / 1000).to_string()
    } else {
        format!("{milli}m")
    })
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;
    use stowplan_wire::deployment::Access;

    use super::*;

    fn made(limits: LimitsPlan) -> Result<Pod, EngineError> {
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a/b", &["/x", "$(HOME)"])]);
        plan.isolation.ipc = true;
        plan.services[0].limits = limits;
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
        of(&plan, &plan.services[0], "i", "stowplan-7-1", "node1")
    }

    #[test]
    fn a_service_is_a_pod_that_nobody_starts_again() {
        let pod = made(LimitsPlan::default()).unwrap();
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

    #[test]
    fn limits_are_limits_and_a_weight_is_a_request() {
        let of = |limits: LimitsPlan| {
            let spec = made(limits).unwrap().spec.unwrap();
            let resources = spec.containers[0].resources.clone().unwrap();
            let plain = |all: Option<BTreeMap<String, Quantity>>| {
                let all = all.unwrap_or_default().into_iter();
                all.map(|(name, Quantity(text))| format!("{name}={text}"))
                    .collect::<Vec<_>>()
            };
            (plain(resources.limits), plain(resources.requests))
        };
        let quota = LimitsPlan {
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            ..LimitsPlan::default()
        };
        let both = vec!["cpu=200m".to_owned(), "memory=67108864".to_owned()];
        assert_eq!(of(quota), (both.clone(), both));
        let weight = LimitsPlan {
            cpu_weight: Some(300),
            ..LimitsPlan::default()
        };
        assert_eq!(of(weight), (vec![], vec!["cpu=3".to_owned()]));
    }

    #[test]
    fn a_quota_that_the_api_has_no_word_for_is_refused() {
        let limits = LimitsPlan {
            cpu_quota: Some(0.0125),
            ..LimitsPlan::default()
        };
        let error = made(limits).unwrap_err();
        assert!(
            error.to_string().contains("1250 µs of 100000 µs"),
            "{error}"
        );
    }
}
