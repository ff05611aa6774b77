//! What an engine says of its places: by this, and not by names, differences between places are told apart
//! (docs/measuring.md §2).

use serde::{Deserialize, Serialize};

/// What services are at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceKind {
    /// Plain processes of the host.
    Processes,
    /// Containers of the host's kernel.
    Containers,
    /// A virtual machine with a kernel of its own, and what runs inside of it.
    Guest,
    /// What a cluster places on its nodes.
    Cluster,
}

/// Where the control groups lie by which the kernel divides CPU time among services (sched(7), cgroups(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuGroups {
    /// All services are in one group.
    One,
    /// There are none: the kernel makes a group for each session (autogroups).
    Sessions,
    /// Each service has one, in the group of the run: most engines.
    InRun,
    /// Each service has one in the group of the run, and in that another that holds its processes.
    WithPayload,
    /// Each service has one, with none above it but that in which Stowplan was started.
    OnTop,
    /// Each service has one in that of its pod, among those of a cluster, which chooses their weights.
    InCluster,
}

/// What an engine says of one of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceFacts {
    /// What its services are.
    pub services: ServiceKind,
    /// Where their groups lie.
    pub cpu_groups: CpuGroups,
    /// Whether every part of a container's isolation can be switched by itself, as an ablation has to.
    pub ablates: bool,
    /// Whether its services can be put into a network of the experiment's own.
    pub joins_network: bool,
}

impl PlaceFacts {
    /// Plain processes in these groups.
    #[must_use]
    pub const fn processes(cpu_groups: CpuGroups) -> Self {
        Self {
            services: ServiceKind::Processes,
            cpu_groups,
            ablates: false,
            joins_network: true,
        }
    }

    /// Containers, each in a group of the run's, with the isolation that their engine gives them.
    #[must_use]
    pub const fn containers() -> Self {
        Self {
            services: ServiceKind::Containers,
            cpu_groups: CpuGroups::InRun,
            ablates: false,
            joins_network: true,
        }
    }

    /// Plain processes in one group: what all else is held against.
    #[must_use]
    pub fn is_flat(self) -> bool {
        self == Self::processes(CpuGroups::One)
    }

    /// How near plain processes of these facts stand to `of` as its control, the nearest 0: with groups that lie as its own
    /// do, then as those of most engines. `None` where they are no control of it.
    #[must_use]
    pub fn control_of(self, of: Self) -> Option<usize> {
        if self.services != ServiceKind::Processes || of.services != ServiceKind::Containers {
            return None;
        }
        let layouts = [of.cpu_groups, CpuGroups::InRun];
        layouts.iter().position(|layout| *layout == self.cpu_groups)
    }
}

impl CpuGroups {
    /// Whether each service has a group of its own.
    #[must_use]
    pub const fn is_grouped(self) -> bool {
        !matches!(self, Self::One | Self::Sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_stand_beside_plain_processes_in_groups_like_theirs_first() {
        let containers = |cpu_groups| PlaceFacts {
            cpu_groups,
            ..PlaceFacts::containers()
        };
        let near = |plain, of| PlaceFacts::processes(plain).control_of(containers(of));
        assert_eq!(near(CpuGroups::InRun, CpuGroups::InRun), Some(0));
        assert_eq!(near(CpuGroups::OnTop, CpuGroups::OnTop), Some(0));
        assert_eq!(near(CpuGroups::InRun, CpuGroups::OnTop), Some(1));
        assert_eq!(near(CpuGroups::OnTop, CpuGroups::WithPayload), None);
        assert_eq!(near(CpuGroups::One, CpuGroups::InRun), None);
        let plain = PlaceFacts::processes(CpuGroups::InRun);
        assert_eq!(plain.control_of(plain), None);
        let guest = PlaceFacts {
            services: ServiceKind::Guest,
            ..PlaceFacts::containers()
        };
        assert_eq!(plain.control_of(guest), None);
    }
}
