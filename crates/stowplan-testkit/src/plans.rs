//! Small plans.

use stowplan_wire::deployment::{Access, DeploymentPlan, IsolationPlan, Program, ServiceStart};
use stowplan_wire::service::{
    CallbackPlan, DistributionPlan, ExecutorCostPlan, ExecutorPlan, LaunchPlan, NodeOptionsPlan,
    NodePlan, ProcessPlan, ProfilePlan, ServicePlan, SilentPlan, TriggerPlan,
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
        recordings: vec![],
        answers: false,
        processes: vec![process_plan("p", vec![])],
    }
}

/// A process with a single-threaded executor and no implicit endpoints.
#[must_use]
pub fn process_plan(name: &str, nodes: Vec<NodePlan>) -> ProcessPlan {
    ProcessPlan {
        name: name.to_owned(),
        executor: ExecutorPlan::Single,
        executor_cost: ExecutorCostPlan::default(),
        profile: ProfilePlan::Minimal,
        component_container: false,
        use_sim_time: false,
        nodes,
    }
}

/// A node of the module `test` that costs nothing to start.
#[must_use]
pub fn node_plan(name: &str, callbacks: Vec<CallbackPlan>) -> NodePlan {
    NodePlan {
        name: name.to_owned(),
        module: "test".to_owned(),
        files: vec![],
        start_iterations: 0,
        memory_bytes: 0,
        options: NodeOptionsPlan::default(),
        callbacks,
        silent: SilentPlan::default(),
        reentrant_groups: vec![],
        depends_on: vec![],
        background_threads: 0,
    }
}

/// A callback `callback_ID` that does no work and publishes nothing.
#[must_use]
pub fn callback_plan(id: u32, trigger: TriggerPlan) -> CallbackPlan {
    CallbackPlan {
        id,
        name: format!("callback_{id}"),
        group: None,
        trigger,
        iterations: DistributionPlan::Constant(0.0),
        working_set_bytes: 64,
        publishes: vec![],
        uses: vec![],
        chains: vec![],
    }
}

/// A timer without jitter and rate error, so long after arming.
#[must_use]
pub fn timer_plan(period_ns: u64, phase_ns: u64) -> TriggerPlan {
    TriggerPlan::Timer {
        period_ns,
        jitter_ns: DistributionPlan::Constant(0.0),
        rate_error: 0.0,
        phase_ns: Some(phase_ns),
        replay: None,
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
                log: format!("{run_dir}/{name}.log"),
                ..ServiceStart::new(
                    *name,
                    Program::Command {
                        command: command.iter().map(|word| (*word).to_owned()).collect(),
                        env: Vec::new(),
                        rootfs: None,
                        access: Access::default(),
                    },
                )
            })
            .collect(),
        isolation: IsolationPlan::default(),
        parallelism: 0,
    }
}
