//! What an engine gets to start.

use serde::{Deserialize, Serialize};

/// A deployment of one run, as an engine sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeploymentPlan {
    /// Identity of the run; every object that an engine makes carries it in its name.
    pub run: String,
    /// The run's folder on tmpfs; `RUN_DIR/SERVICE` holds what a service needs and is
    /// visible to it under the same path.
    pub run_dir: String,
    /// Engine variant, as `flat`, `session`, `grouped` of `bare`.
    pub variant: Option<String>,
    /// Image of the node program and start-up files: a folder (see `stowplan-image`) with
    /// `stowplan-node` and `files/`.
    pub image_dir: String,
    /// The services in starting order.
    pub services: Vec<ServiceStart>,
    /// Isolation features for engines that can switch them.
    pub isolation: IsolationPlan,
    /// How many services the engine may start at once; 0 is no limit.
    pub parallelism: u32,
}

/// One service to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceStart {
    /// Service name.
    pub name: String,
    /// What runs in it.
    pub program: Program,
    /// Its limits.
    pub limits: LimitsPlan,
    /// File on the host that takes its output and errors.
    pub log: String,
    /// Whether its engine starts it again by itself when it has ended.
    #[serde(default)]
    pub restarts: Restarts,
    /// How its engine checks whether it still does its work (`Variant::health`); `None` where it does not.
    #[serde(default)]
    pub health: Option<HealthPlan>,
}

impl ServiceStart {
    /// A service without limits, which nobody checks or starts again, and whose output nobody keeps.
    #[must_use]
    pub fn new(name: impl Into<String>, program: Program) -> Self {
        Self {
            name: name.into(),
            program,
            limits: LimitsPlan::default(),
            log: String::new(),
            restarts: Restarts::Never,
            health: None,
        }
    }
}

/// Whether an engine starts a service again by itself when it has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restarts {
    /// It does not, whatever its own default is.
    #[default]
    Never,
    /// As soon as its restart policy lets it (`Variant::restarts`).
    AtOnce,
    /// As it does by default, where that is later (`Variant::restarts_by_default_ms`).
    ByDefault,
}

impl Restarts {
    /// Whether it does.
    #[must_use]
    pub const fn is_asked(self) -> bool {
        !matches!(self, Self::Never)
    }
}

/// How an engine checks a service. One check that fails is enough for it to be unhealthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthPlan {
    /// Program and arguments that the engine runs in the service, which succeed while all is well. `None` for a node program, which
    /// has a check of its own (`ServicePlan::answers`).
    pub command: Option<Vec<String>>,
    /// Time between two checks, in ms.
    pub every_ms: u64,
    /// Longest time that a check may take, in ms.
    pub within_ms: u64,
    /// For so long checks of a service may fail that has not passed one yet, in ms.
    pub start_ms: u64,
}

/// What runs in a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Program {
    /// `stowplan-node launch RUN_DIR/SERVICE/plan.json --files DIR`.
    Node,
    /// A real program.
    Command {
        /// Program and arguments; never passed through a shell.
        command: Vec<String>,
        /// Environment variables.
        env: Vec<(String, String)>,
        /// Folder with its root file system; `None` is the host's.
        rootfs: Option<String>,
        /// What it has beside that.
        #[serde(default)]
        access: Access,
    },
}

/// What a real program has of its host and as whom it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// Files and folders of the host at places of their own.
    pub mounts: Vec<BindMount>,
    /// Devices of the host, as absolute paths of theirs, at the same places; where the engine gives them itself, by their names of the
    /// Container Device Interface.
    pub devices: Vec<String>,
    /// `USER[:GROUP]`, names or numbers of its root file system; `None` is root, for plain processes the agent's user.
    pub user: Option<String>,
    /// Folder that it starts in; `None` is `/`.
    pub working_dir: Option<String>,
}

/// A file or folder of the host that a service sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindMount {
    /// Absolute path on the host.
    pub from: String,
    /// Absolute path in the service.
    pub to: String,
    /// Whether the service may only read it.
    pub read_only: bool,
}

/// Resource limits; `None` is the engine's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsPlan {
    /// CPU numbers.
    pub cpuset: Option<Vec<u32>>,
    /// Weight on cgroup v2's scale, 1 to 10,000.
    pub cpu_weight: Option<u32>,
    /// Quota in CPUs.
    pub cpu_quota: Option<f64>,
    /// Memory limit in bytes.
    pub memory_bytes: Option<u64>,
    /// Scheduling class.
    pub scheduling: Option<SchedulingPlan>,
}

/// Scheduling class, sched(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulingPlan {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_FIFO` with a priority.
    Fifo(u8),
    /// `SCHED_RR` with a priority.
    RoundRobin(u8),
}

impl LimitsPlan {
    /// The scheduling class, where it is a real-time one.
    #[must_use]
    pub fn real_time(&self) -> Option<SchedulingPlan> {
        let class = self.scheduling;
        class.filter(|class| !matches!(class, SchedulingPlan::Other))
    }
}

/// Isolation features, each switched by itself; all off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the kernel"
)]
pub struct IsolationPlan {
    /// Mount namespace with the service's own root.
    pub mount: bool,
    /// PID namespace.
    pub pid: bool,
    /// IPC namespace.
    pub ipc: bool,
    /// UTS namespace.
    pub uts: bool,
    /// Network namespace.
    pub net: bool,
    /// User namespace.
    pub user: bool,
    /// Cgroup of its own.
    pub cgroup: bool,
    /// Read-only root.
    pub read_only_root: bool,
    /// Root as an overlay.
    pub overlay: bool,
    /// Default seccomp profile.
    pub seccomp: bool,
    /// Capabilities reduced to the container default.
    pub capabilities: bool,
}

impl IsolationPlan {
    /// As Docker isolates by default, with the host's network.
    pub const CONTAINER: Self = Self {
        mount: true,
        pid: true,
        ipc: true,
        uts: true,
        net: false,
        user: false,
        cgroup: true,
        read_only_root: false,
        overlay: true,
        seccomp: true,
        capabilities: true,
    };
}

/// Which services a verb acts on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// All of the deployment.
    All,
    /// These.
    Services(Vec<String>),
}

/// How a service is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StopMode {
    /// SIGTERM, then SIGKILL when `grace_ms` have passed.
    Terminate {
        /// Milliseconds until SIGKILL.
        grace_ms: u64,
    },
    /// SIGKILL at once.
    Kill,
}

/// Where a service is to be found on its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locator {
    /// Service name.
    pub service: String,
    /// Host id.
    pub host: String,
    /// Pid on that host of the service's first process; 0 where it has none yet.
    pub pid: u32,
    /// Start time of that pid in clock ticks (field 22 of /proc/PID/stat): pids are re-used.
    pub start_ticks: u64,
    /// Cgroup folders by controller (`cpu`, `memory`, `cpuset`, … or `unified`), absolute.
    pub cgroups: std::collections::BTreeMap<String, String>,
    /// Its namespaces by their name in /proc/PID/ns (namespaces(7): `mnt`, `pid`, `net`, …), as inode numbers: equal ones are one
    /// namespace. Empty where it has no process or the kernel does not tell.
    pub namespaces: std::collections::BTreeMap<String, u64>,
    /// Log file on that host.
    pub log: String,
}

/// A request to what works for an engine (its daemon, its tool, its helper process), and when it was outstanding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineRequest {
    /// Service that it was about.
    pub service: String,
    /// CLOCK_MONOTONIC of the host in ns, before it was sent.
    pub begin_ns: u64,
    /// The same when its answer was there; `None` for a tool that was started and is at work until the service's program
    /// runs.
    pub end_ns: Option<u64>,
}

/// An event of the engine itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineEvent {
    /// Service.
    pub service: String,
    /// What happened.
    pub kind: EngineEventKind,
    /// When, on the clock named by `clock`, in ns.
    pub t_ns: u64,
    /// Clock domain, as `host:NAME/monotonic`.
    pub clock: String,
}

/// Kinds of engine events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineEventKind {
    /// An orchestrator has chosen where it runs.
    Scheduled,
    /// What its containers share is there: their namespaces and network.
    SandboxCreated,
    /// Created, not started.
    Created,
    /// Started.
    Started,
    /// Ended by itself with this wait status (exit code, or 128 + signal).
    Exited(i32),
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It has passed a health check for the first time since it started.
    Healthy,
    /// It has failed a health check.
    Unhealthy,
    /// Frozen.
    Paused,
    /// Thawed.
    Resumed,
    /// Removed.
    Destroyed,
}
