//! What a swarm is asked for, for one service.

use bollard::models::{
    Limit, NetworkAttachmentConfig, ServiceSpec, ServiceSpecMode, ServiceSpecModeReplicated,
    TaskSpec, TaskSpecContainerSpec, TaskSpecLogDriver, TaskSpecPlacement, TaskSpecResources,
    TaskSpecRestartPolicy, TaskSpecRestartPolicyConditionEnum,
};
use stowplan_engine_daemon::{
    access, arguments, environment, labels, memory_bytes, mounts, of_service,
};
use stowplan_wire::deployment::{DeploymentPlan, LimitsPlan, Restarts, ServiceStart};

use super::service;
use crate::config::{health, mount};
use crate::ground::{Ground, HOST};

/// The service of a swarm that a service of the plan is, on this node. `image` is the id of one: of a name the daemon would ask
/// a registry first.
pub(super) fn service(
    plan: &DeploymentPlan,
    start: &ServiceStart,
    ground: &Ground,
    image: &str,
    node: &str,
) -> ServiceSpec {
    ServiceSpec {
        name: Some(service::plain(&of_service(&plan.run, &start.name))),
        labels: Some(labels(&plan.run, Some(&start.name))),
        task_template: Some(task(plan, start, ground, image, node)),
        mode: Some(ServiceSpecMode {
            replicated: Some(ServiceSpecModeReplicated { replicas: Some(1) }),
            ..ServiceSpecMode::default()
        }),
        ..ServiceSpec::default()
    }
}

fn task(
    plan: &DeploymentPlan,
    start: &ServiceStart,
    ground: &Ground,
    image: &str,
    node: &str,
) -> TaskSpec {
    TaskSpec {
        container_spec: Some(container(plan, start, ground, image)),
        resources: resources(&start.limits),
        restart_policy: restart_policy(start),
        placement: Some(TaskSpecPlacement {
            constraints: Some(vec![format!("node.id == {node}")]),
            ..TaskSpecPlacement::default()
        }),
        networks: Some(vec![NetworkAttachmentConfig {
            target: Some(HOST.to_owned()),
            ..NetworkAttachmentConfig::default()
        }]),
        log_driver: ground.log_config.as_ref().map(|config| TaskSpecLogDriver {
            name: config.typ.clone(),
            options: None,
        }),
        ..TaskSpec::default()
    }
}

/// `None` is the daemon's own: any end, after five seconds.
fn restart_policy(start: &ServiceStart) -> Option<TaskSpecRestartPolicy> {
    let (condition, delay) = match start.restarts {
        // What has ended stays as it is, to be looked at.
        Restarts::Never => (TaskSpecRestartPolicyConditionEnum::NONE, None),
        Restarts::AtOnce => (TaskSpecRestartPolicyConditionEnum::ANY, Some(0)),
        Restarts::ByDefault => return None,
    };
    Some(TaskSpecRestartPolicy {
        condition: Some(condition),
        delay,
        ..TaskSpecRestartPolicy::default()
    })
}

fn container(
    plan: &DeploymentPlan,
    start: &ServiceStart,
    ground: &Ground,
    image: &str,
) -> TaskSpecContainerSpec {
    let access = access(&start.program);
    let environment = environment(&start.program).into_iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}"));
    TaskSpecContainerSpec {
        image: Some(image.to_owned()),
        // The daemon tells of a container by its own labels, not by those of its service.
        labels: Some(labels(&plan.run, Some(&start.name))),
        args: Some(arguments(plan, start)),
        env: Some(environment.collect()),
        dir: access.working_dir,
        user: access.user,
        mounts: Some(mounts(plan, start).into_iter().map(mount).collect()),
        health_check: health(plan, start),
        // Removing is killing; who is to be asked to end is asked before.
        stop_grace_period: Some(0),
        ulimits: ground.ulimits.clone(),
        ..TaskSpecContainerSpec::default()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a quota is a small positive number of CPUs, checked by the planner"
)]
fn resources(limits: &LimitsPlan) -> Option<TaskSpecResources> {
    let nano_cpus = limits.cpu_quota.map(|cpus| (cpus * 1e9).round() as i64);
    let memory_bytes = memory_bytes(limits);
    (nano_cpus.is_some() || memory_bytes.is_some()).then(|| TaskSpecResources {
        limits: Some(Limit {
            nano_cpus,
            memory_bytes,
            pids: None,
        }),
        ..TaskSpecResources::default()
    })
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;

    use super::*;

    fn made(limits: LimitsPlan) -> ServiceSpec {
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a.b", &["/x", "y"])]);
        plan.services[0].limits = limits;
        let ground = Ground {
            network_mode: HOST.to_owned(),
            ..Ground::default()
        };
        service(&plan, &plan.services[0], &ground, "sha256:1", "n1")
    }

    #[test]
    fn a_service_is_one_task_on_this_node_in_its_network() {
        let spec = made(LimitsPlan::default());
        assert_eq!(spec.name.as_deref(), Some("stowplan-7-1-a-b"));
        assert_eq!(spec.labels.unwrap()["stowplan.service"], "a.b");
        let task = spec.task_template.unwrap();
        let placed = task.placement.unwrap().constraints.unwrap();
        assert_eq!(placed, ["node.id == n1"]);
        let networks = task.networks.unwrap();
        assert_eq!(networks[0].target.as_deref(), Some("host"));
        assert_eq!(task.resources, None);
        let container = task.container_spec.unwrap();
        assert_eq!(container.args.unwrap(), ["/x", "y"]);
        assert_eq!(container.image.as_deref(), Some("sha256:1"));
        assert_eq!(container.labels.unwrap()["stowplan.run"], "7-1");
    }

    #[test]
    fn a_task_that_has_ended_stays_so_unless_its_policy_or_the_default_is_asked_for() {
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a", &["/x"])]);
        let mut policy = |restarts| {
            plan.services[0].restarts = restarts;
            let policy = restart_policy(&plan.services[0])?;
            Some((policy.condition?, policy.delay))
        };
        let none = TaskSpecRestartPolicyConditionEnum::NONE;
        assert_eq!(policy(Restarts::Never), Some((none, None)));
        let any = TaskSpecRestartPolicyConditionEnum::ANY;
        assert_eq!(policy(Restarts::AtOnce), Some((any, Some(0))));
        assert_eq!(policy(Restarts::ByDefault), None);
    }

    #[test]
    fn limits_are_those_of_tasks() {
        let spec = made(LimitsPlan {
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            ..LimitsPlan::default()
        });
        let limits = spec.task_template.unwrap().resources.unwrap().limits;
        let expected = Limit {
            nano_cpus: Some(200_000_000),
            memory_bytes: Some(1 << 26),
            pids: None,
        };
        assert_eq!(limits, Some(expected));
    }
}
