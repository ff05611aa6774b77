//! Small plans.

use stowplan_wire::deployment::{
    Access, DeploymentPlan, IsolationPlan, LimitsPlan, Program, ServiceStart,
};
use stowplan_wire::service::{
    ExecutorCostPlan, ExecutorPlan, LaunchPlan, ProcessPlan, ProfilePlan, ServicePlan,
};

/// A service with one process `p`, which has no nodes.
#[must_use]
pub fn service_plan(run: &str, service: &str) -> ServicePlan {
    ServicePlan {
        build_id: stowplan_wire::build_id(),
        run: run.to_owned(),
        service: service.to_owned(),
        domain: 1,
        seed: 1,
        record: true,
        record_callback_cpu: false,
        launch: Some(LaunchPlan {
            start_iterations: 0,
            entity_iterations: 0,
            files: vec![],
            memory_bytes: 0,
        }),
        topics: vec![],
        processes: vec![ProcessPlan {
            name: "p".to_owned(),
            executor: ExecutorPlan::Single,
            executor_cost: ExecutorCostPlan::default(),
            profile: ProfilePlan::Minimal,
            component_container: false,
            use_sim_time: false,
            nodes: vec![],
        }],
    }
}

/// A deployment of plain programs without limits and isolation: service name and command each.
#[must_use]
pub fn command_plan(
    run: &str,
    run_dir: &str,
    variant: Option<&str>,
    commands: &[(&str, &[&str])],
) -> DeploymentPlan {
    DeploymentPlan {
        run: run.to_owned(),
        run_dir: run_dir.to_owned(),
        variant: variant.map(str::to_owned),
        image_dir: "/nonexistent".to_owned(),
        services: commands
            .iter()
            .map(|(name, command)| ServiceStart {
                name: (*name).to_owned(),
                program: Program::Command {
                    command: command.iter().map(|word| (*word).to_owned()).collect(),
                    env: Vec::new(),
                    rootfs: None,
                    access: Access::default(),
                },
                limits: LimitsPlan::default(),
                log: format!("{run_dir}/{name}.log"),
            })
            .collect(),
        isolation: IsolationPlan::default(),
        parallelism: 0,
    }
}
