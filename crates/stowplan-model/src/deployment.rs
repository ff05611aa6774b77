//! Deployments: a partition at a place with resources.

use crate::injection::{Injection, Variant};
use crate::launching::Launching;
use crate::names::Name;
use crate::partition::Partition;
use crate::place::Place;

/// Linux scheduling class of a service's threads (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingClass {
    /// `SCHED_OTHER`, the default.
    Other,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u8),
}

/// Resource limits of one service. `None` means the engine's default, recorded with the run.
#[derive(Debug, Clone, Default, PartialEq)]
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
    pub scheduling: Option<SchedulingClass>,
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
    /// Limits of services that have any.
    pub limits: Vec<(Name, Limits)>,
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

    /// The label under which results name this deployment: `place · partition`, and its variant where there is one.
    #[must_use]
    pub fn label(&self) -> String {
        let label = format!("{} · {}", self.place, self.partition.name);
        match &self.variant {
            Some(variant) => format!("{label} · {}", variant.name),
            None => label,
        }
    }
}
