//! What the daemon is asked for, for one service.

use bollard::models::{
    ContainerCreateBody, DeviceMapping, HealthConfig, HostConfig, Mount, MountType, RestartPolicy,
    RestartPolicyNameEnum,
};
use stowplan_engine_daemon::{
    Conversion, CpuTime, access, agent_mount, arguments, check, cpus, environment, labels,
    memory_bytes, mounts, shares,
};
use stowplan_wire::deployment::{BindMount, DeploymentPlan, LimitsPlan, ServiceStart};

use crate::ground::{Ground, HOST};

/// The container of a service.
pub(crate) fn container(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    ground: &Ground,
    image: &str,
) -> ContainerCreateBody {
    let access = access(&service.program);
    let mounts = mounts(plan, service).into_iter();
    let mounts = mounts.chain(agent_mount(&ground.agent, service));
    let environment = environment(&service.program).into_iter();
    let mut host_config = HostConfig {
        network_mode: Some(network_mode(plan, ground).to_owned()),
        ipc_mode: (!plan.isolation.ipc).then(|| HOST.to_owned()),
        ulimits: ground.ulimits.clone(),
        cgroup_parent: ground.cgroup_parent.clone(),
        log_config: ground.log_config.clone(),
        mounts: Some(mounts.map(mount).collect()),
        devices: Some(access.devices.iter().map(|path| device(path)).collect()),
        restart_policy: service.restarts.is_asked().then_some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::ALWAYS),
            maximum_retry_count: None,
        }),
        ..HostConfig::default()
    };
    limit(&mut host_config, &service.limits, ground.conversion);
    ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(arguments(plan, service)),
        env: Some(
            environment
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        ),
        user: access.user,
        working_dir: access.working_dir,
        labels: Some(labels(&plan.run, Some(&service.name))),
        healthcheck: health(plan, service),
        host_config: Some(host_config),
        ..ContainerCreateBody::default()
    }
}

/// How the daemon checks a service.
pub(crate) fn health(plan: &DeploymentPlan, service: &ServiceStart) -> Option<HealthConfig> {
    let health = service.health.as_ref()?;
    let nanos = |ms: u64| i64::try_from(ms * 1_000_000).ok();
    let command = check(plan, service, health).into_iter();
    Some(HealthConfig {
        // Without a shell.
        test: Some(std::iter::once("CMD".to_owned()).chain(command).collect()),
        interval: nanos(health.every_ms),
        timeout: nanos(health.within_ms),
        retries: Some(1),
        start_period: nanos(health.start_ms),
        start_interval: None,
    })
}

/// The network of the run, or one for each container with nothing but a loopback.
pub(crate) fn network_mode<'a>(plan: &DeploymentPlan, ground: &'a Ground) -> &'a str {
    if plan.isolation.net {
        "none"
    } else {
        &ground.network_mode
    }
}

/// A folder or file of the host as the API takes it.
pub(crate) fn mount(mount: BindMount) -> Mount {
    Mount {
        source: Some(mount.from),
        target: Some(mount.to),
        typ: Some(MountType::BIND),
        read_only: Some(mount.read_only),
        ..Mount::default()
    }
}

fn device(path: &str) -> DeviceMapping {
    DeviceMapping {
        path_on_host: Some(path.to_owned()),
        path_in_container: Some(path.to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }
}

fn limit(config: &mut HostConfig, limits: &LimitsPlan, conversion: Conversion) {
    config.cpuset_cpus = cpus(limits);
    config.cpu_shares = shares(limits, conversion);
    if let Some(time) = CpuTime::of(limits) {
        config.cpu_period = Some(time.period_us);
        config.cpu_quota = Some(time.quota_us);
    }
    config.memory = memory_bytes(limits);
    // Memory and swap together, which a daemon leaves out where the kernel does not account for swap; without, it is twice the memory.
    config.memory_swap = config.memory;
}

#[cfg(test)]
mod tests {
    use stowplan_engine_daemon::contents;
    use stowplan_image::Contents;
    use stowplan_wire::deployment::{Access, IsolationPlan, Program, Restarts};

    use super::*;

    fn plan(program: Program, limits: LimitsPlan) -> DeploymentPlan {
        DeploymentPlan {
            run: "7-1".to_owned(),
            run_dir: "/nowhere".to_owned(),
            variant: None,
            image_dir: "/images/0".to_owned(),
            services: vec![ServiceStart {
                limits,
                log: "/nowhere/sensing.log".to_owned(),
                ..ServiceStart::new("sensing", program)
            }],
            isolation: IsolationPlan::CONTAINER,
            parallelism: 0,
        }
    }

    fn made(plan: &DeploymentPlan) -> ContainerCreateBody {
        let ground = Ground {
            network_mode: "host".to_owned(),
            ..Ground::default()
        };
        container(plan, &plan.services[0], &ground, "i")
    }

    #[test]
    fn a_node_program_gets_its_plan_and_nothing_else_that_is_not_the_daemons_default() {
        let plan = plan(Program::Node, LimitsPlan::default());
        let body = made(&plan);
        let command = [
            "/stowplan-node",
            "launch",
            "/nowhere/sensing/plan.json",
            "--files",
            "/files",
        ];
        assert_eq!(body.cmd.unwrap(), command);
        assert_eq!(body.labels.unwrap()["stowplan.service"], "sensing");
        let expected = HostConfig {
            network_mode: Some("host".to_owned()),
            mounts: Some(vec![]),
            devices: Some(vec![]),
            ..HostConfig::default()
        };
        assert_eq!(body.host_config.unwrap(), expected);
        assert_eq!(
            contents(&plan, &plan.services[0]),
            Contents::Image("/images/0".into())
        );
    }

    #[test]
    fn the_machines_ipc_is_the_apis_own_mode() {
        let mut plan = plan(Program::Node, LimitsPlan::default());
        assert_eq!(made(&plan).host_config.unwrap().ipc_mode, None);
        plan.isolation.ipc = false;
        let config = made(&plan).host_config.unwrap();
        assert_eq!(config.ipc_mode.as_deref(), Some("host"));
    }

    #[test]
    fn a_service_that_the_engine_restarts_has_the_apis_own_policy() {
        let mut plan = plan(Program::Node, LimitsPlan::default());
        assert_eq!(made(&plan).host_config.unwrap().restart_policy, None);
        plan.services[0].restarts = Restarts::AtOnce;
        let policy = made(&plan).host_config.unwrap().restart_policy.unwrap();
        assert_eq!(policy.name, Some(RestartPolicyNameEnum::ALWAYS));
    }

    #[test]
    fn limits_are_the_apis_own() {
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 2]),
            cpu_weight: Some(300),
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            scheduling: None,
        };
        let config = made(&plan(Program::Node, limits)).host_config.unwrap();
        assert_eq!(config.cpuset_cpus.as_deref(), Some("0,2"));
        assert_eq!(config.cpu_shares, Some(3072));
        assert_eq!(
            (config.cpu_period, config.cpu_quota),
            (Some(100_000), Some(20_000))
        );
        assert_eq!(config.memory, Some(1 << 26));
        assert_eq!(config.memory_swap, Some(1 << 26));
    }

    #[test]
    fn a_real_program_has_what_it_was_given() {
        let program = Program::Command {
            command: vec!["/bin/true".to_owned()],
            env: vec![("A".to_owned(), "b c".to_owned())],
            rootfs: Some("/roots/1".to_owned()),
            access: Access {
                mounts: vec![BindMount {
                    from: "/srv".to_owned(),
                    to: "/maps".to_owned(),
                    read_only: true,
                }],
                devices: vec!["/dev/null".to_owned()],
                user: Some("7:9".to_owned()),
                working_dir: Some("/maps".to_owned()),
            },
        };
        let plan = plan(program, LimitsPlan::default());
        let body = made(&plan);
        let env = body.env.unwrap();
        assert!(env[0] == "A=b c" && env[1].starts_with("PATH="), "{env:?}");
        assert_eq!(
            (body.user.as_deref(), body.working_dir.as_deref()),
            (Some("7:9"), Some("/maps"))
        );
        let config = body.host_config.unwrap();
        let mount = &config.mounts.unwrap()[0];
        assert_eq!(
            (mount.source.as_deref(), mount.read_only),
            (Some("/srv"), Some(true))
        );
        assert_eq!(
            config.devices.unwrap()[0].path_on_host.as_deref(),
            Some("/dev/null")
        );
        assert_eq!(
            contents(&plan, &plan.services[0]),
            Contents::Root("/roots/1".into())
        );
    }
}
