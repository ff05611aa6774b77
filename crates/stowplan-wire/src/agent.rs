//! Between the command line and an agent: one JSON document a line each way.
//!
//! The command line sends a [`Request`] with a number and reads [`Reply`] documents until the one with that
//! number. End of file on its input makes the agent kill its cgroups and end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::announce::{Announcement, Control};
use crate::deployment::{DeploymentPlan, EngineEvent, EngineRequest, Locator, Select, StopMode};
pub use crate::failure::{Failure, FailureKind};
use crate::host::{
    Calibration, ColdProof, LimitsReadBack, MachineFacts, MemorySample, Preemptions, Quiet,
    SampleSubject, Sampled,
};
use crate::service::ServicePlan;

/// A numbered request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Number, repeated in the reply.
    pub id: u64,
    /// What to do.
    pub call: Call,
}

/// A numbered reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Number of the request.
    pub id: u64,
    /// What came of it.
    pub result: Result<Answer, Failure>,
}

/// What an agent can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// First call: who is there.
    Hello {
        /// Build id of the caller.
        build_id: String,
    },
    /// CLOCK_MONOTONIC of the host.
    Clock,
    /// The machine.
    Facts,
    /// Nanoseconds per kernel iteration, by running the node program pinned to one CPU.
    Calibrate {
        /// Node program on the host.
        program: String,
        /// CPU to run on.
        cpu: u32,
        /// Working sets in bytes.
        working_sets: Vec<u64>,
    },
    /// Wait until the machine is quiet.
    Quiet {
        /// Longest wait.
        timeout_ms: u64,
    },
    /// Sync, drop caches, prove it for these files.
    Cold {
        /// Files that must not be resident.
        files: Vec<String>,
    },
    /// What was read from block devices since boot.
    PagedIn,
    /// Make the run folder, plans, sockets and prefaulted trace buffers.
    OpenRun {
        /// Identity of the run.
        run: String,
        /// The services of the node program.
        services: Vec<ServicePlan>,
        /// CycloneDDS configuration, equal for all.
        cyclonedds_xml: String,
        /// Trace buffer per process in bytes.
        ring_bytes: u64,
    },
    /// Make the folders of real programs in the run folder, with the DDS configuration.
    AddReal {
        /// Names of their services.
        services: Vec<String>,
    },
    /// Remove the run folder.
    CloseRun,
    /// Probe an engine.
    Probe {
        /// Engine name.
        engine: String,
    },
    /// What an engine can do.
    Capabilities {
        /// Engine name.
        engine: String,
    },
    /// Prepare a deployment with an engine.
    Prepare {
        /// Engine name.
        engine: String,
        /// What to start.
        plan: Box<DeploymentPlan>,
    },
    /// Create services.
    Create(Select),
    /// Start services.
    Start(Select),
    /// Stop services.
    Stop(Select, StopMode),
    /// Freeze a service.
    Pause(String),
    /// Thaw a service.
    Resume(String),
    /// Remove everything of the deployment.
    Destroy,
    /// Where the services are.
    Locators,
    /// The engine's own processes.
    EngineProcesses,
    /// What the engine has asked of what works for it.
    EngineRequests,
    /// What the services really run on.
    Label,
    /// The last bytes of a service's log.
    Log {
        /// Service.
        service: String,
        /// At most this many bytes.
        bytes: u64,
    },
    /// Engine events and announcements since the last call; waits until there is one or time is up.
    Watch {
        /// Longest wait.
        timeout_ms: u64,
    },
    /// Do what takes time before a window: reserve room for samples, begin to record preemption. Answered by the clock.
    BeforeWindow {
        /// The longest from now to the end of the window.
        longest_ns: u64,
        /// Whether to record when threads of the node programs lose their CPU to others, until `EndPreemption`.
        preemption: bool,
    },
    /// Tell every node program to arm at this instant, and wait until all are ready for it.
    Arm {
        /// The arming instant, CLOCK_MONOTONIC ns of the host.
        t_arm_ns: u64,
        /// Length of the window.
        window_ns: u64,
    },
    /// Say nothing until the window is over. The reply comes after disarm.
    WaitWindow {
        /// The longest from now to the end of the window: so long the caller has to wait for the reply.
        longest_ns: u64,
    },
    /// Find a DDS domain with nobody in it, in the network that services share.
    FreeDomain {
        /// Where to begin looking, so that two callers at once look at different ones.
        salt: u64,
        /// How many participants have to find room.
        participants: usize,
    },
    /// Tell every node program to stop and send counters; they come by `Watch`.
    StopNodes,
    /// Tell the node programs of a service something. Answered by the clock, read before it was told.
    TellService {
        /// The service.
        service: String,
        /// Which of its processes.
        to: Recipients,
        /// What.
        control: Control,
    },
    /// Send a signal to node programs of a service. Answered by the clock, read before it was sent.
    SignalService {
        /// The service.
        service: String,
        /// Which of its processes.
        to: Recipients,
        /// Which signal.
        signal: ServiceSignal,
    },
    /// End the recording of when threads of the node programs lose their CPU, where there is one.
    EndPreemption,
    /// Sample these cgroups every `period_ms` until `StopSampling`.
    StartSampling {
        /// What to sample; `machine` and `stowplan` rows are added.
        subjects: Vec<SampleSubject>,
        /// Processes that count as `stowplan`, beside the agent, its helpers and its caller.
        own: Vec<u32>,
        /// Period.
        period_ms: u64,
    },
    /// Sample these too, beginning at once.
    SampleAlso {
        /// Services that were made since, and further processes of the engine.
        subjects: Vec<SampleSubject>,
    },
    /// End sampling and give what was sampled.
    StopSampling,
    /// Memory of the processes of these subjects, shared pages by their share.
    Memory {
        /// Whose.
        subjects: Vec<SampleSubject>,
    },
    /// Limits of a service, read back from the kernel.
    Limits(Locator),
    /// SHA-256 of the programs that the node-program processes of the run really execute (/proc/PID/exe),
    /// once per distinct file.
    Digests,
    /// The same of these processes of the host.
    DigestsOf {
        /// Pids on the host.
        pids: Vec<u32>,
    },
    /// Kill every process of a service.
    KillTree(Locator),
    /// Freeze or thaw the control group of a service by the kernel alone.
    Freeze {
        /// Whose.
        service: Locator,
        /// Whether it is to be frozen.
        frozen: bool,
    },
    /// Copy a file of the run folder to a path on the host.
    FetchTo {
        /// Source on the host.
        from: String,
        /// Destination on the host.
        to: String,
    },
}

/// Which processes of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipients {
    /// The first, which is its launcher.
    Launcher,
    /// All of them.
    All,
}

/// A signal that is sent to a service from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceSignal {
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Stop,
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done, nothing to tell.
    Done,
    /// To `Hello`.
    Hello {
        /// Host id.
        host: String,
        /// Build id of the agent.
        build_id: String,
        /// Engines that the agent can run.
        engines: Vec<String>,
    },
    /// To `Clock`, `BeforeWindow`, `Create` and `Start`: CLOCK_MONOTONIC ns when the call was done (`Clock`: when it was read).
    /// To `TellService` and `SignalService`: before it was done.
    Clock(u64),
    /// To `Facts`.
    Facts(MachineFacts),
    /// To `Calibrate`: one for each working set.
    Calibrated(Vec<Calibration>),
    /// To `Quiet`.
    Quiet(Quiet),
    /// To `Cold`.
    Cold(ColdProof),
    /// To `PagedIn`: bytes.
    PagedIn(u64),
    /// To `OpenRun`: the run folder.
    RunDir(String),
    /// To `Probe`.
    Probed(ProbeAnswer),
    /// To `Capabilities`: the JSON document of `stowplan_engine::Capabilities`.
    Capabilities(String),
    /// To `Prepare`.
    Prepared(PreparedAnswer),
    /// To `Locators`.
    Locators(Vec<Locator>),
    /// To `EngineProcesses`.
    Pids(Vec<u32>),
    /// To `EngineRequests`.
    Requests(Vec<EngineRequest>),
    /// To `Label`: facts by name.
    Label(BTreeMap<String, String>),
    /// To `Log`.
    Log(String),
    /// To `Watch`.
    Watched {
        /// Engine events in order.
        engine: Vec<EngineEvent>,
        /// Announcements in order of arrival.
        announcements: Vec<Announced>,
    },
    /// To `FreeDomain`.
    Domain(u32),
    /// To `WaitWindow`: what was armed.
    Armed {
        /// Arming instant.
        t_arm_ns: u64,
        /// Disarming instant.
        t_disarm_ns: u64,
        /// Context switches and CPU ns of the agent between the two.
        own_switches: u64,
        /// CPU time of the agent between the two, in ns.
        own_cpu_ns: u64,
    },
    /// To `EndPreemption`: when threads of the node programs lost their CPU to others, where that was recorded.
    Preemptions(Option<Preemptions>),
    /// To `StopSampling`.
    Samples(Sampled),
    /// To `Memory`.
    Memory(Vec<MemorySample>),
    /// To `Limits`.
    Limits(LimitsReadBack),
    /// To `Digests` and `DigestsOf`: path, SHA-256 in hex, number of processes.
    Digests(Vec<ProgramDigest>),
}

/// An announcement with its sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// Id of the host that it comes from.
    pub host: String,
    /// Service.
    pub service: String,
    /// Pid on the host.
    pub pid: u32,
    /// What it said.
    pub announcement: Announcement,
}

/// A program file that runs somewhere in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramDigest {
    /// Device and inode as `DEV:INO`.
    pub file: String,
    /// SHA-256, hex.
    pub sha256: String,
    /// Processes that execute it.
    pub processes: u32,
}

/// Result of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeAnswer {
    /// `available`, `emulated` or `absent`.
    pub status: String,
    /// Version, where there is one.
    pub version: Option<String>,
    /// Why it is not available.
    pub reason: Option<String>,
    /// What to install or change.
    pub hint: Option<String>,
}

/// What an engine tells about a prepared deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedAnswer {
    /// What was asked for, cannot be had, and what stands in its place.
    pub deviations: Vec<String>,
}
