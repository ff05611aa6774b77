//! Deployments: a partition at a place with resources.

use serde::{Deserialize, Serialize};

use crate::injection::Injection;
use crate::launching::Launching;
use crate::names::Name;
use crate::partition::Partition;
use crate::place::Place;
use crate::variant::Variant;

/// Linux scheduling class of a service's threads (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scheduling", content = "priority", rename_all = "kebab-case")]
pub enum SchedulingClass {
    /// `SCHED_OTHER`, the default.
    Other,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u8),
}

/// Resource limits of one service. `None` means the engine's default, recorded with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// CPUs that the service may use, as CPU numbers.
    pub cpuset: Option<Vec<u32>>,
    /// CPU weight on cgroup v2's scale, 1 to 10,000 with 100 as default.
    pub cpu_weight: Option<u32>,
    /// CPU quota in CPUs: 0.5 is 50 ms in each period of 100 ms.
    pub cpu_quota: Option<f64>,
    /// Memory limit in bytes.
    pub memory_bytes: Option<u64>,
    /// Scheduling class of every thread.
    #[serde(flatten)]
    pub scheduling: Option<SchedulingClass>,
}

/// What services are given of the machine: one value of the third dimension of a deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resources {
    /// Name; `None` where an experiment has one allocation alone.
    pub name: Option<Name>,
    /// Limits of services that have any.
    pub limits: Vec<(Name, Limits)>,
}

/// Isolation features of a container, each switched by itself (engine `oci`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the kernel"
)]
pub struct Isolation {
    /// Mount namespace with the service's own root.
    pub mount: bool,
    /// PID namespace.
    pub pid: bool,
    /// IPC namespace.
    pub ipc: bool,
    /// UTS namespace.
    pub uts: bool,
    /// Network namespace of the service.
    pub net: bool,
    /// User namespace.
    pub user: bool,
    /// A cgroup of its own.
    pub cgroup: bool,
    /// Root mounted read-only.
    pub read_only_root: bool,
    /// Root as an overlay of image layers.
    pub overlay: bool,
    /// The default seccomp profile.
    pub seccomp: bool,
    /// Capabilities reduced to the container default.
    pub capabilities: bool,
}

impl Default for Isolation {
    /// Docker's default set with the host's network, as in the papers.
    fn default() -> Self {
        Self {
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
        }
    }
}

/// A partition at a place with resources.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// Which node is in which service.
    pub partition: Partition,
    /// Where the services run.
    pub place: Place,
    /// What its services are given of the machine.
    pub resources: Resources,
    /// Isolation features, where the engine can switch them.
    pub isolation: Isolation,
    /// Which one it is, where an experiment has several that are otherwise equal.
    pub variant: Option<Variant>,
}

impl Deployment {
    /// What is put into it on purpose.
    #[must_use]
    pub fn injection(&self) -> Option<&Injection> {
        self.variant.as_ref()?.injection.as_ref()
    }

    /// What starts the processes of its services.
    #[must_use]
    pub fn launching(&self) -> Launching {
        let variant = self.variant.as_ref();
        variant.map_or(Launching::Ros2, |variant| variant.launching)
    }

    /// The label under which results name this deployment: `place · partition`, and its resources and its variant where
    /// they have names.
    #[must_use]
    pub fn label(&self) -> String {
        let place = self.place.to_string();
        let parts = [place.as_str(), &self.partition.name];
        parts
            .into_iter()
            .chain(self.names())
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// Names of what is beside place and partition: resources, then the variant.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let resources = self.resources.name.as_ref().map(Name::as_str);
        let variant = self.variant.as_ref().map(|variant| variant.name.as_str());
        resources.into_iter().chain(variant)
    }
}
