//! What the agent and a helper process say to each other: one JSON document a line.
//!
//! The agent sends a [`HelperPlan`] and then [`Command`]s, one at a time; the helper answers each with
//! [`Message::Done`] or [`Message::Failed`] and sends [`Message::Event`]s in between. End of file on its input
//! makes the helper remove everything and end.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stowplan_host::{Device, HostError, Ids};
use stowplan_wire::agent::Failure;
use stowplan_wire::deployment::{
    Access, DeploymentPlan, EngineEventKind, IsolationPlan, Program, ServiceStart, StopMode,
};

use crate::filter::Filter;

/// What one helper process runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HelperPlan {
    /// Identity of the run, part of the container's name.
    pub run: String,
    /// Folder of the service in the run folder.
    pub service_dir: String,
    /// Image of the node program.
    pub image_dir: String,
    /// The service.
    pub service: ServiceStart,
    /// Isolation features.
    pub isolation: IsolationPlan,
    /// Whom the program runs as.
    pub user: Ids,
    /// Devices of the host that it gets.
    pub devices: Vec<Device>,
    /// Seccomp filter, where it is to have one.
    pub filter: Option<Filter>,
}

impl HelperPlan {
    /// The part of a deployment that concerns one of its services, without a filter.
    ///
    /// # Errors
    /// When its root file system knows no such user or this machine has no such device.
    pub(crate) fn new(plan: &DeploymentPlan, service: &ServiceStart) -> Result<Self, HostError> {
        let service_dir = Path::new(&plan.run_dir).join(&service.name);
        let mut user = Ids::ROOT;
        let mut devices = Vec::new();
        if let Program::Command { rootfs, access, .. } = &service.program {
            if let Some(text) = &access.user {
                user = Ids::find(Path::new(rootfs.as_deref().unwrap_or("/")), text)?;
            }
            for device in &access.devices {
                devices.push(Device::find(device)?);
            }
        }
        Ok(Self {
            run: plan.run.clone(),
            service_dir: service_dir.display().to_string(),
            image_dir: plan.image_dir.clone(),
            service: service.clone(),
            isolation: plan.isolation,
            user,
            devices,
            filter: None,
        })
    }

    /// What a real program has of the host; `None` for a node program.
    pub(crate) const fn access(&self) -> Option<&Access> {
        match &self.service.program {
            Program::Node => None,
            Program::Command { access, .. } => Some(access),
        }
    }
}

/// First line to a helper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Opening {
    /// Run this service.
    Run(Box<HelperPlan>),
    /// Try whether containers can be made at all, answer, and end.
    Probe,
}

/// What a helper is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Command {
    /// Make the container; its program does not run yet.
    Create {
        /// Cgroup folders by controller, which exist; empty without a cgroup of its own.
        cgroups: BTreeMap<String, String>,
    },
    /// Let the program run.
    Start,
    /// End every process of the service.
    Stop(StopMode),
    /// Freeze.
    Pause,
    /// Thaw.
    Resume,
    /// Kill and remove everything.
    Destroy,
}

impl Command {
    /// The verb, for messages.
    pub(crate) const fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Start => "start",
            Self::Stop(_) => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Destroy => "destroy",
        }
    }
}

/// What a helper tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Message {
    /// The opening or the command is done.
    Done,
    /// The container is made.
    Created(Created),
    /// The opening or the command failed.
    Failed(Failure),
    /// Something happened.
    Event {
        /// What.
        kind: EngineEventKind,
        /// CLOCK_MONOTONIC ns.
        t_ns: u64,
    },
}

/// What there is to know of a new container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Created {
    /// Pid of its first process on this host.
    pub pid: u32,
    /// Start time of that process in clock ticks.
    pub start_ticks: u64,
}
