//! From a deployment of the model to what engines get.

use stowplan_model::{Deployment, Limits, RealMount, RealService, SchedulingClass};
use stowplan_wire::deployment::{
    Access, BindMount, DeploymentPlan, LimitsPlan, Program, SchedulingPlan, ServiceStart,
};

use crate::isolation::isolation_plan;

/// The plan of one run with these real programs. The run folder and the logs are filled in when the run is opened.
#[must_use]
pub fn deployment_plan(
    real: &[RealService],
    deployment: &Deployment,
    run: &str,
    image_dir: &str,
) -> DeploymentPlan {
    let limits = |service: &str| {
        let found = deployment
            .resources
            .limits
            .iter()
            .find(|(name, _)| name.as_str() == service);
        found
            .map(|(_, limits)| limits_plan(limits))
            .unwrap_or_default()
    };
    let start = |name: &str, program| ServiceStart {
        limits: limits(name),
        ..ServiceStart::new(name, program)
    };
    let real = real.iter().map(|service| {
        let program = Program::Command {
            command: service.command.clone(),
            env: service.env.clone(),
            // An image that is not unpacked yet stands for its root.
            rootfs: service.rootfs.clone().or_else(|| service.image.clone()),
            access: Access {
                mounts: service.mounts.iter().map(bind_mount).collect(),
                devices: service.devices.clone(),
                user: service.user.clone(),
                working_dir: service.working_dir.clone(),
            },
        };
        start(service.name.as_str(), program)
    });
    let modelled = deployment
        .partition
        .services
        .iter()
        .map(|s| start(s.service.as_str(), Program::Node));
    DeploymentPlan {
        run: run.to_owned(),
        run_dir: String::new(),
        variant: deployment.place.engine.variant.clone(),
        image_dir: image_dir.to_owned(),
        services: real.chain(modelled).collect(),
        isolation: isolation_plan(deployment.isolation),
        parallelism: 0,
    }
}

fn bind_mount(mount: &RealMount) -> BindMount {
    BindMount {
        from: mount.from.clone(),
        to: mount.to.clone(),
        read_only: mount.read_only,
    }
}

fn limits_plan(limits: &Limits) -> LimitsPlan {
    LimitsPlan {
        cpuset: limits.cpuset.clone(),
        cpu_weight: limits.cpu_weight,
        cpu_quota: limits.cpu_quota,
        memory_bytes: limits.memory_bytes,
        scheduling: limits.scheduling.map(|class| match class {
            SchedulingClass::Other => SchedulingPlan::Other,
            SchedulingClass::Fifo(priority) => SchedulingPlan::Fifo(priority),
            SchedulingClass::RoundRobin(priority) => SchedulingPlan::RoundRobin(priority),
        }),
    }
}
