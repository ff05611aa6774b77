//! What a host tells about itself and about services on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A machine, as recorded with every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFacts {
    /// Host name.
    pub host: String,
    /// Numbers of the CPUs that are online.
    pub cpus: Vec<u32>,
    /// CPU model.
    pub cpu_model: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release and version.
    pub kernel: String,
    /// `v1`, `hybrid` or `v2`.
    pub cgroup: String,
    /// Whether the kernel accounts for the swap of a control group, so that a memory limit can leave it none.
    pub swap_accounting: bool,
    /// Everything else that may differ between machines: governor, mitigations, preemption, clock source, autogroup …
    pub settings: BTreeMap<String, String>,
}

impl MachineFacts {
    /// How many CPUs are online.
    #[must_use]
    pub fn cpu_count(&self) -> u32 {
        u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }
}

/// Speed of the work kernel over one working set, as `stowplan-node calibrate` measures it on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Working set in bytes.
    pub working_set_bytes: u64,
    /// Iterations of each window.
    pub iterations: u64,
    /// Median of the windows.
    pub ns_per_iteration: f64,
    /// Least of them: the speed where nothing else runs.
    pub least_ns_per_iteration: f64,
    /// Greatest of them.
    pub greatest_ns_per_iteration: f64,
}

/// What `stowplan-node calibrate` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrations {
    /// Always [`CALIBRATION_SCHEMA`].
    pub schema: String,
    /// CPU that it ran on.
    pub cpu: u32,
    /// Windows of each working set.
    pub repeats: u64,
    /// Working sets in the order in which they were asked for.
    pub working_sets: Vec<Calibration>,
}

/// Format of [`Calibrations`].
pub const CALIBRATION_SCHEMA: &str = "stowplan.calibration/2";

/// [`UsageSample::subject`] of the time in which CPUs had something to run and the hypervisor ran something else.
pub const HYPERVISOR: &str = "other: hypervisor";

/// One sample of one cgroup or of the whole machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageSample {
    /// Service name, or one of the rows `stowplan`, `machine`, [`HYPERVISOR`], `other: PROGRAM`.
    pub subject: String,
    /// CLOCK_MONOTONIC ns.
    pub t_ns: u64,
    /// CPU time since the sampler began, in ns.
    pub cpu_ns: Option<u64>,
    /// Memory charged, in bytes (`memory.current`).
    pub memory_bytes: Option<u64>,
    /// Anonymous part of it.
    pub anon_bytes: Option<u64>,
    /// File part of it.
    pub file_bytes: Option<u64>,
    /// Bytes read from block devices since the sampler began.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices since the sampler began.
    pub write_bytes: Option<u64>,
    /// Periods in which a quota of its cgroup or of one above it throttled it, since the sampler began.
    pub throttled: Option<u64>,
}

impl UsageSample {
    /// CPU time alone.
    #[must_use]
    pub fn of_cpu(subject: impl Into<String>, t_ns: u64, cpu_ns: Option<u64>) -> Self {
        Self {
            subject: subject.into(),
            t_ns,
            cpu_ns,
            memory_bytes: None,
            anon_bytes: None,
            file_bytes: None,
            read_bytes: None,
            write_bytes: None,
            throttled: None,
        }
    }
}

/// What a process of a service is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Running {
    /// The launcher of the node program.
    Launcher,
    /// A process of the stack, by its name in the plan.
    Process(String),
    /// Any other program, by the name that the kernel has for it (`comm`).
    Program(String),
}

/// What one process of a service used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessUsage {
    /// Service.
    pub service: String,
    /// What it is.
    pub running: Running,
    /// Pid on the host.
    pub pid: u32,
    /// From when it was first seen until it was gone, in order.
    pub samples: Vec<ProcessSample>,
}

/// One sample of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessSample {
    /// CLOCK_MONOTONIC ns: one instant for all processes of a sample, which are read one after another.
    pub t_ns: u64,
    /// CPU time of all its threads since the process began, in ns.
    pub cpu_ns: u64,
    /// Resident memory in bytes, what it shares with others in full.
    pub resident_bytes: u64,
}

/// Everything that was sampled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// Of services, the engine, the machine and Stowplan.
    pub usage: Vec<UsageSample>,
    /// Of each process of the services.
    pub processes: Vec<ProcessUsage>,
}

/// What is sampled: a service or the processes of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSubject {
    /// Name in [`UsageSample::subject`].
    pub subject: String,
    /// Cgroup folders by controller.
    pub cgroups: BTreeMap<String, String>,
    /// Processes, where it is these and no cgroup; their memory is what is resident of each, summed.
    #[serde(default)]
    pub pids: Vec<u32>,
    /// What some of these processes are called in rows of their own; others go by their programs.
    #[serde(default)]
    pub names: Vec<(u32, String)>,
}

/// Memory of the processes of a subject at one instant, added up: `smaps_rollup` of proc_pid_smaps(5). What several
/// processes of the machine share counts for each by its share (`pss`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySample {
    /// As in [`SampleSubject`].
    pub subject: String,
    /// Processes that were read.
    pub processes: u32,
    /// Resident, what is shared in full for each of them.
    pub rss_bytes: u64,
    /// Resident, what is shared by its share.
    pub pss_bytes: u64,
    /// Of these, anonymous memory.
    pub pss_anon_bytes: u64,
    /// Of these, pages of files.
    pub pss_file_bytes: u64,
    /// Of these, shared memory and tmpfs.
    pub pss_shmem_bytes: u64,
    /// Resident and mapped by no other process.
    pub private_bytes: u64,
}

/// When threads were off the CPU without having given it up, as the scheduler's own switches tell: another thread had it, or the
/// CPU quota of the service was used up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preemptions {
    /// All threads whose switches were looked for.
    pub threads: Vec<RecordedThread>,
    /// How far this goes, CLOCK_MONOTONIC ns: to the end of recording, or to when the buffer of a CPU was full.
    pub until_ns: u64,
}

/// When one thread was off the CPU without having given it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedThread {
    /// Its process on the host.
    pub pid: u32,
    /// The thread as its own process sees it.
    pub vtid: u32,
    /// From its switch out while it could run to its next switch in, CLOCK_MONOTONIC ns, in order.
    pub spans: Vec<(u64, u64)>,
}

/// Limits of a service as the kernel has them, read back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsReadBack {
    /// CPUs it may run on.
    pub cpuset: Option<Vec<u32>>,
    /// Weight on cgroup v2's scale.
    pub cpu_weight: Option<u32>,
    /// Quota in CPUs; `None` where unlimited.
    pub cpu_quota: Option<f64>,
    /// Memory limit in bytes; `None` where unlimited.
    pub memory_bytes: Option<u64>,
    /// Swap that it may have beside that memory, in bytes, [`LimitsReadBack::UNLIMITED`] where it is not limited; `None` without
    /// a memory limit, and where the kernel does not account for swap.
    pub swap_bytes: Option<u64>,
    /// Scheduling class and priority of its first process.
    pub scheduling: Option<crate::deployment::SchedulingPlan>,
    /// What the CPU controller has from the service's own group up to the topmost that has any of it.
    pub cpu_levels: Vec<CpuLevel>,
}

impl LimitsReadBack {
    /// As much swap as the machine has.
    pub const UNLIMITED: u64 = u64::MAX;
}

/// What the CPU controller has of one group: its share beside its siblings, and how much it may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLevel {
    /// Weight on cgroup v2's scale.
    pub weight: u32,
    /// Quota in CPUs; `None` where unlimited.
    pub quota: Option<f64>,
}

impl std::fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.weight)?;
        self.quota
            .map_or(Ok(()), |quota| write!(f, " (at most {quota} CPUs)"))
    }
}

/// Result of dropping the page cache (docs/measuring.md §4, cold).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdProof {
    /// Pages of the files that must be cold.
    pub pages: u64,
    /// How many of them are still resident.
    pub resident: u64,
}

/// What is found about quietness before a run (docs/measuring.md §5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quiet {
    /// Whether the machine became quiet before the time-out.
    pub quiet: bool,
    /// Busy share over the last two seconds, 0 to 1.
    pub busy: f64,
    /// Dirty page cache in bytes.
    pub dirty_bytes: u64,
    /// How long it took, in ns.
    pub waited_ns: u64,
}
