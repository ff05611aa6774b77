//! Deployment plans of real programs.

use stowplan_wire::deployment::{DeploymentPlan, IsolationPlan, LimitsPlan, Program, ServiceStart};

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
                },
                limits: LimitsPlan::default(),
                log: format!("{run_dir}/{name}.log"),
            })
            .collect(),
        isolation: IsolationPlan {
            mount: false,
            pid: false,
            ipc: false,
            uts: false,
            net: false,
            user: false,
            cgroup: false,
            read_only_root: false,
            overlay: false,
            seccomp: false,
            capabilities: false,
        },
        parallelism: 0,
    }
}
