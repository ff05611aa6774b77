//! Why an experiment cannot begin or go on.

use std::path::PathBuf;

/// Why an experiment cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `request.json` is not one.
    #[error("{} is not the request of an experiment", path.display())]
    Request {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// `request.json` was written by another version.
    #[error("{} has version {found}, this program knows {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The stack file is wrong.
    #[error(transparent)]
    Spec(stowplan_spec::SpecError),
    /// A name in the request is not one.
    #[error("{what}")]
    Name {
        /// What is wrong.
        what: String,
    },
    /// A place has a word that is unknown.
    #[error(transparent)]
    Place(#[from] stowplan_plan::PlaceError),
    /// A limit names a CPU that the machine does not have.
    #[error("limits of service '{service}' name CPU {cpu}, and this machine has CPUs {have}")]
    NoCpu {
        /// The service.
        service: String,
        /// The CPU.
        cpu: u32,
        /// Those of the machine.
        have: String,
    },
    /// Some of what was asked for cannot be measured here.
    #[error("{reasons}")]
    Missing {
        /// What, and why.
        reasons: String,
        /// What the user can do.
        hint: String,
    },
    /// A bag cannot be replayed.
    #[error(transparent)]
    Replay(#[from] stowplan_replay::ReplayError),
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] stowplan_plan::PlanError),
    /// Nothing is left to run.
    #[error("no deployment of this experiment can run: {reasons}")]
    NothingToRun {
        /// Why each was refused.
        reasons: String,
    },
    /// A deployment of an ablation cannot run.
    #[error("an ablation needs {label}, which cannot run: {reason}")]
    Ablation {
        /// Its label.
        label: String,
        /// Why it was refused.
        reason: String,
    },
    /// The image of the node program cannot be made.
    #[error("cannot make the image of the node program")]
    Image(#[from] stowplan_image::ImageError),
    /// The image of a real program cannot be used.
    #[error("cannot unpack the image of service '{service}'")]
    RealImage {
        /// The service.
        service: String,
        /// Why.
        source: stowplan_image::ImageError,
    },
    /// The agent or the machine.
    #[error(transparent)]
    Host(#[from] stowplan_host::HostError),
    /// LTTng is not there for a service that is traced.
    #[error("service '{service}' cannot be traced")]
    Lttng {
        /// The service.
        service: String,
        /// Why.
        source: stowplan_host::HostError,
    },
    /// An engine or its agent.
    #[error(transparent)]
    Engine(Box<stowplan_engine::EngineError>),
    /// Whoever asked for the experiment does not want it run as it came out.
    #[error(transparent)]
    NotAccepted(Box<dyn std::error::Error + Send + Sync>),
    /// An earlier experiment cannot be measured again beside a new one.
    #[error("{earlier} cannot be measured again beside this experiment: {why}")]
    Again {
        /// Name of the earlier result.
        earlier: String,
        /// Why.
        why: String,
    },
    /// The result began on another machine.
    #[error("this result began on {before}; this is {now}")]
    OtherMachine {
        /// Machine of the result.
        before: String,
        /// This machine.
        now: String,
    },
    /// The result began in a network with multicast and this one has none, or the other way round.
    #[error(
        "this result began in a network whose loopback has multicast, or had none, unlike now, so DDS discovery \
         differs: resume it with the permissions that it was begun with"
    )]
    OtherNetwork,
    /// The result began with another node program.
    #[error(
        "this result began with another stowplan-node; its blocks cannot be compared with new ones"
    )]
    OtherProgram,
    /// The result folder.
    #[error(transparent)]
    Results(#[from] stowplan_results::ResultsError),
}

impl From<stowplan_engine::EngineError> for ExperimentError {
    fn from(error: stowplan_engine::EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}
