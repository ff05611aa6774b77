//! What can go wrong in a node program.

use std::path::PathBuf;

use crate::dds::DdsError;
use crate::record::BufferError;

/// Why a node program cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The command line is not understood.
    #[error("{message}; hint: {hint}")]
    Usage {
        /// What is wrong with it.
        message: String,
        /// How to call it.
        hint: &'static str,
    },
    /// A file of the run folder cannot be read.
    #[error("cannot read '{path}'")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The plan is not a plan.
    #[error("'{path}' is not a service plan")]
    Plan {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Writer of the plan and this program are not of one build.
    #[error(
        "the plan is of build {plan}, this program of build {own}; hint: install stowplan, stowplan-agent and stowplan-node of one release"
    )]
    Build {
        /// Build of the plan's writer.
        plan: String,
        /// Own build.
        own: String,
    },
    /// The detector of tags cannot be made.
    #[error("cannot make a detector of tags: {0}")]
    Detector(String),
    /// The plan does not have this process.
    #[error("service '{service}' has no process '{process}'")]
    NoProcess {
        /// The service.
        service: String,
        /// The process.
        process: String,
    },
    /// The plan contradicts itself.
    #[error("node '{node}': {message}")]
    Inconsistent {
        /// The node.
        node: String,
        /// What does not fit.
        message: String,
    },
    /// Nodes wait for each other.
    #[error("nodes wait for each other: {nodes}")]
    Cycle {
        /// The nodes that cannot be loaded.
        nodes: String,
    },
    /// The agent cannot be reached or talked to.
    #[error("cannot talk to the agent over '{path}'")]
    Announce {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A health check is not answered.
    #[error("nobody answers at '{path}'")]
    Silent {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A start-up file cannot be mapped.
    #[error("cannot map start-up file '{path}'")]
    StartUpFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Memory that a node keeps cannot be had.
    #[error("cannot keep {bytes} bytes")]
    Memory {
        /// How much.
        bytes: u64,
        /// Why.
        source: std::io::Error,
    },
    /// A CPU cannot be used.
    #[error("cannot run on CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// Why.
        source: std::io::Error,
    },
    /// A process of the service cannot be started.
    #[error("cannot start process '{process}'")]
    Spawn {
        /// The process.
        process: String,
        /// Why.
        source: std::io::Error,
    },
    /// A process of the service has ended although nobody asked it to.
    #[error("process '{process}' ended early: {how}")]
    Died {
        /// The process.
        process: String,
        /// Exit code or signal.
        how: String,
    },
    /// A call to the kernel failed.
    #[error("cannot {what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A benchmark cannot run, or gave a wrong answer.
    #[error("benchmark '{name}': {message}")]
    Benchmark {
        /// Its name.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// CycloneDDS refused.
    #[error(transparent)]
    Dds(#[from] DdsError),
    /// The trace buffer cannot be used.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A thread of the program panicked.
    #[error("thread '{thread}' ended abnormally")]
    Thread {
        /// Its name.
        thread: String,
    },
}

impl NodeError {
    /// A failed call to the kernel.
    pub fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }

    /// The whole chain of causes in one line.
    #[must_use]
    pub fn report(&self) -> String {
        stowplan_wire::causes::chain(self)
    }
}
