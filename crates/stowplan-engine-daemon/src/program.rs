//! What a container runs and gets, in words that every daemon has.

use std::path::Path;

use stowplan_engine::NODE_ENVIRONMENT;
use stowplan_host::scheduling;
use stowplan_image::{Contents, PROGRAM_NAME};
use stowplan_wire::deployment::{
    Access, BindMount, DeploymentPlan, HealthPlan, LimitsPlan, Program, ServiceStart,
};
use stowplan_wire::service::ALIVE_SOCKET;
use stowplan_wire::words;

/// Period of the CPU quota in µs, the kernel's default.
const PERIOD_US: f64 = 100_000.0;
/// Where a container has the agent that becomes its program.
const AGENT: &str = "/.stowplan-agent";

/// What the image of a service is made of.
#[must_use]
pub fn contents(plan: &DeploymentPlan, service: &ServiceStart) -> Contents {
    match &service.program {
        Program::Command {
            rootfs: Some(root), ..
        } => Contents::Root(root.into()),
        Program::Node | Program::Command { rootfs: None, .. } => {
            Contents::Image((&plan.image_dir).into())
        }
    }
}

/// Program and arguments.
#[must_use]
pub fn arguments(plan: &DeploymentPlan, service: &ServiceStart) -> Vec<String> {
    let command = command(plan, service);
    let class = service.limits.scheduling;
    let Some(class) = class.and_then(scheduling::class_words) else {
        return command;
    };
    [AGENT, "exec-in-class"]
        .map(str::to_owned)
        .into_iter()
        .chain(class)
        .chain(command.iter().map(|word| words::encode(word)))
        .collect()
}

/// The agent in the container of a service with a real-time class, which its program waits in until it has that.
#[must_use]
pub fn agent_mount(agent: &Path, service: &ServiceStart) -> Option<BindMount> {
    service.limits.real_time().map(|_| BindMount {
        from: agent.display().to_string(),
        to: AGENT.to_owned(),
        read_only: true,
    })
}

fn command(plan: &DeploymentPlan, service: &ServiceStart) -> Vec<String> {
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

/// The program and arguments of a service's health check.
#[must_use]
pub fn check(plan: &DeploymentPlan, service: &ServiceStart, health: &HealthPlan) -> Vec<String> {
    let own = || {
        let socket = format!("{}/{}/{ALIVE_SOCKET}", plan.run_dir, service.name);
        vec![format!("/{PROGRAM_NAME}"), "alive".to_owned(), socket]
    };
    health.command.clone().unwrap_or_else(own)
}

/// Environment variables.
#[must_use]
pub fn environment(program: &Program) -> Vec<(String, String)> {
    let base = NODE_ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match program {
        Program::Node => base.to_vec(),
        Program::Command { env, .. } => {
            let mut all = env.clone();
            if !env.iter().any(|(name, _)| name == "PATH") {
                all.extend(base);
            }
            all
        }
    }
}

/// What a program has of its host; a node program has nothing.
#[must_use]
pub fn access(program: &Program) -> Access {
    match program {
        Program::Node => Access::default(),
        Program::Command { access, .. } => access.clone(),
    }
}

/// The service's folder of the run under its own path, and what a real program has beside it.
#[must_use]
pub fn mounts(plan: &DeploymentPlan, service: &ServiceStart) -> Vec<BindMount> {
    let folder = format!("{}/{}", plan.run_dir, service.name);
    let own = Path::new(&folder).is_dir().then(|| BindMount {
        from: folder.clone(),
        to: folder,
        read_only: false,
    });
    own.into_iter()
        .chain(access(&service.program).mounts)
        .collect()
}

/// CPU numbers as the kernel reads them (cpuset(7), "List format").
#[must_use]
pub fn cpus(limits: &LimitsPlan) -> Option<String> {
    let cpus = limits.cpuset.as_ref()?;
    let names: Vec<String> = cpus.iter().map(u32::to_string).collect();
    Some(names.join(","))
}

/// A memory limit as daemons take it, in bytes.
#[must_use]
pub fn memory_bytes(limits: &LimitsPlan) -> Option<i64> {
    let bytes = limits.memory_bytes?;
    Some(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// CPU time in a period, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// The period.
    pub period_us: i64,
    /// The time in it.
    pub quota_us: i64,
}

impl CpuTime {
    /// The quota of a service.
    #[must_use]
    pub fn of(limits: &LimitsPlan) -> Option<Self> {
        let cpus = limits.cpu_quota?;
        Some(Self {
            period_us: whole(PERIOD_US),
            quota_us: whole((cpus * PERIOD_US).max(1_000.0)),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a quota is a small positive number of µs, checked by the planner"
)]
fn whole(us: f64) -> i64 {
    us.round() as i64
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;
    use stowplan_wire::deployment::SchedulingPlan;

    use super::*;

    #[test]
    fn a_program_of_a_real_time_class_waits_for_it_in_the_agent() {
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a", &["/x", "two words"])]);
        let agent = Path::new("/bin/agent");
        assert_eq!(arguments(&plan, &plan.services[0]), ["/x", "two words"]);
        assert_eq!(agent_mount(agent, &plan.services[0]), None);
        plan.services[0].limits.scheduling = Some(SchedulingPlan::Other);
        assert_eq!(arguments(&plan, &plan.services[0]), ["/x", "two words"]);
        assert_eq!(agent_mount(agent, &plan.services[0]), None);
        plan.services[0].limits.scheduling = Some(SchedulingPlan::Fifo(7));
        let expected = [
            "/.stowplan-agent",
            "exec-in-class",
            "fifo",
            "7",
            "/x",
            "two%20words",
        ];
        assert_eq!(arguments(&plan, &plan.services[0]), expected);
        let mount = agent_mount(agent, &plan.services[0]).unwrap();
        assert_eq!(
            (mount.from.as_str(), mount.to.as_str()),
            ("/bin/agent", AGENT)
        );
    }

    #[test]
    fn a_node_program_is_asked_at_its_own_socket() {
        let mut plan = command_plan("7-1", "/run/7", None, &[("a", &["/x"])]);
        plan.run_dir = "/run/7".to_owned();
        let mut health = HealthPlan {
            command: None,
            every_ms: 1000,
            within_ms: 1000,
            start_ms: 60_000,
        };
        let asked = check(&plan, &plan.services[0], &health);
        assert_eq!(asked, ["/stowplan-node", "alive", "/run/7/a/alive.sock"]);
        health.command = Some(vec!["/check".to_owned()]);
        assert_eq!(check(&plan, &plan.services[0], &health), ["/check"]);
    }

    #[test]
    fn limits_are_whole_numbers_of_the_kernels_units() {
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 2]),
            cpu_quota: Some(0.2),
            memory_bytes: Some(u64::MAX),
            ..LimitsPlan::default()
        };
        assert_eq!(cpus(&limits).as_deref(), Some("0,2"));
        let expected = CpuTime {
            period_us: 100_000,
            quota_us: 20_000,
        };
        assert_eq!(CpuTime::of(&limits), Some(expected));
        assert_eq!(memory_bytes(&limits), Some(i64::MAX));
    }

    #[test]
    fn a_real_program_keeps_its_own_search_path() {
        let of = |name: &str| {
            environment(&Program::Command {
                command: vec!["/bin/true".to_owned()],
                env: vec![(name.to_owned(), "b c".to_owned())],
                rootfs: None,
                access: Access::default(),
            })
        };
        assert_eq!(of("PATH"), [("PATH".to_owned(), "b c".to_owned())]);
        assert_eq!(of("A").len(), 2);
    }
}
