//! What the daemon is asked for, for one service.

use std::path::Path;

use bollard::models::{ContainerCreateBody, DeviceMapping, HostConfig, Mount, MountType};
use stowplan_engine::NODE_ENVIRONMENT;
use stowplan_host::cgroup::{Layout, shares_of};
use stowplan_image::{Contents, PROGRAM_NAME};
use stowplan_wire::deployment::{Access, DeploymentPlan, LimitsPlan, Program, ServiceStart};

use crate::ground::Ground;
use crate::names;

/// Period of the CPU quota in µs, the kernel's default.
const PERIOD_US: f64 = 100_000.0;

/// What the image of a service is made of.
pub(crate) fn contents(plan: &DeploymentPlan, service: &ServiceStart) -> Contents {
    match &service.program {
        Program::Command {
            rootfs: Some(root), ..
        } => Contents::Root(root.into()),
        Program::Node | Program::Command { rootfs: None, .. } => {
            Contents::Image((&plan.image_dir).into())
        }
    }
}

/// The container of a service.
pub(crate) fn container(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    ground: &Ground,
    image: &str,
    layout: Layout,
) -> ContainerCreateBody {
    let none = Access::default();
    let access = match &service.program {
        Program::Node => &none,
        Program::Command { access, .. } => access,
    };
    let mut host_config = HostConfig {
        network_mode: Some(ground.network_mode.clone()),
        ulimits: ground.ulimits.clone(),
        log_config: ground.log_config.clone(),
        mounts: Some(mounts(plan, service, access)),
        devices: Some(access.devices.iter().map(|path| device(path)).collect()),
        ..HostConfig::default()
    };
    limit(&mut host_config, &service.limits, layout);
    ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(arguments(plan, service)),
        env: Some(environment(&service.program)),
        user: access.user.clone(),
        working_dir: access.working_dir.clone(),
        labels: Some(names::labels(&plan.run, Some(&service.name))),
        host_config: Some(host_config),
        ..ContainerCreateBody::default()
    }
}

fn arguments(plan: &DeploymentPlan, service: &ServiceStart) -> Vec<String> {
    match &service.program {
        Program::Command { command, .. } => command.clone(),
        Program::Node => vec![
            format!("/{PROGRAM_NAME}"),
            "launch".to_owned(),
            format!("{}/{}/plan.json", plan.run_dir, service.name),
            "--files".to_owned(),
            "/files".to_owned(),
        ],
    }
}

fn environment(program: &Program) -> Vec<String> {
    let base = NODE_ENVIRONMENT.map(|(name, value)| format!("{name}={value}"));
    match program {
        Program::Node => base.to_vec(),
        Program::Command { env, .. } => {
            let mut all: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
            if !env.iter().any(|(name, _)| name == "PATH") {
                all.extend(base);
            }
            all
        }
    }
}

/// The service's folder of the run under its own path, and what a real program has beside it.
fn mounts(plan: &DeploymentPlan, service: &ServiceStart, access: &Access) -> Vec<Mount> {
    let bind = |from: &str, to: &str, read_only| Mount {
        source: Some(from.to_owned()),
        target: Some(to.to_owned()),
        typ: Some(MountType::BIND),
        read_only: Some(read_only),
        ..Mount::default()
    };
    let folder = format!("{}/{}", plan.run_dir, service.name);
    let own = Path::new(&folder)
        .is_dir()
        .then(|| bind(&folder, &folder, false));
    let others = access
        .mounts
        .iter()
        .map(|mount| bind(&mount.from, &mount.to, mount.read_only));
    own.into_iter().chain(others).collect()
}

fn device(path: &str) -> DeviceMapping {
    DeviceMapping {
        path_on_host: Some(path.to_owned()),
        path_in_container: Some(path.to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }
}

fn limit(config: &mut HostConfig, limits: &LimitsPlan, layout: Layout) {
    config.cpuset_cpus = limits.cpuset.as_ref().map(|cpus| {
        let names: Vec<String> = cpus.iter().map(u32::to_string).collect();
        names.join(",")
    });
    config.cpu_shares = limits
        .cpu_weight
        .map(|weight| i64::try_from(shares(weight, layout)).unwrap_or(i64::MAX));
    if let Some(cpus) = limits.cpu_quota {
        config.cpu_period = Some(whole(PERIOD_US));
        config.cpu_quota = Some(whole((cpus * PERIOD_US).max(1_000.0)));
    }
    config.memory = limits
        .memory_bytes
        .map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a quota is a small positive number of µs, checked by the planner"
)]
fn whole(us: f64) -> i64 {
    us.round() as i64
}

/// Shares, which the API has, for a weight on cgroup v2's scale. On v2 runtimes turn shares into
/// `1 + (shares - 2) × 9999 / 262142`, cut off (runc, `ConvertCPUSharesToCgroupV2Value`); this is its inverse.
fn shares(weight: u32, layout: Layout) -> u64 {
    match layout {
        Layout::V1 | Layout::Hybrid => shares_of(weight),
        Layout::V2 => 2 + ((u64::from(weight.max(1)) - 1) * 262_142).div_ceil(9_999),
    }
}

#[cfg(test)]
mod tests {
    use stowplan_wire::deployment::{BindMount, IsolationPlan};

    use super::*;

    fn plan(program: Program, limits: LimitsPlan) -> DeploymentPlan {
        DeploymentPlan {
            run: "7-1".to_owned(),
            run_dir: "/nowhere".to_owned(),
            variant: None,
            image_dir: "/images/0".to_owned(),
            services: vec![ServiceStart {
                name: "sensing".to_owned(),
                program,
                limits,
                log: "/nowhere/sensing.log".to_owned(),
            }],
            isolation: IsolationPlan::default(),
            parallelism: 0,
        }
    }

    fn made(plan: &DeploymentPlan) -> ContainerCreateBody {
        let ground = Ground {
            network_mode: "host".to_owned(),
            ..Ground::default()
        };
        container(plan, &plan.services[0], &ground, "i", Layout::V1)
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
    }

    #[test]
    fn a_weight_comes_back_from_its_shares_on_v2() {
        for weight in [1, 2, 39, 100, 300, 9_999, 10_000] {
            let shares = shares(weight, Layout::V2);
            assert_eq!(1 + (shares - 2) * 9_999 / 262_142, u64::from(weight));
        }
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
