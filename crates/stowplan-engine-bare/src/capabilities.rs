//! What plain processes can do.

use stowplan_engine::{Capabilities, LimitSupport, Variant};

/// The ways to start plain processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Flat,
    Session,
    Grouped(Nesting),
}

/// Where the groups of services lie, as the engine has them that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// In the group of the run: most engines.
    InRun,
    /// There, with one more inside that holds the processes: `lxc`.
    WithPayload,
    /// Beside each other where Stowplan was started, with none above: `lxd`.
    OnTop,
}

impl Form {
    pub(crate) fn of(variant: Option<&str>) -> Self {
        match variant {
            Some("session") => Self::Session,
            Some("grouped") => Self::Grouped(Nesting::InRun),
            Some("grouped-lxc") => Self::Grouped(Nesting::WithPayload),
            Some("grouped-lxd") => Self::Grouped(Nesting::OnTop),
            _ => Self::Flat,
        }
    }

    pub(crate) const fn is_grouped(self) -> bool {
        matches!(self, Self::Grouped(_))
    }

    /// v1 controllers (v2: their counterparts) of the run's group. In `session` there is no `cpu`: autogroups
    /// act only among processes outside of such groups.
    pub(crate) const fn run_controllers(self) -> &'static [&'static str] {
        match self {
            Self::Flat => &["cpu", "cpuacct", "memory", "freezer", "blkio"],
            Self::Session => &["cpuacct", "memory", "freezer", "blkio"],
            Self::Grouped(_) => &["cpu", "cpuacct", "memory", "cpuset", "freezer", "blkio"],
        }
    }

    /// Controllers that each service has for itself.
    pub(crate) const fn service_controllers(self) -> &'static [&'static str] {
        match self {
            Self::Flat | Self::Session => &["cpuacct", "memory", "freezer", "blkio"],
            Self::Grouped(_) => &["cpu", "cpuacct", "memory", "cpuset", "freezer", "blkio"],
        }
    }
}

pub(crate) fn capabilities() -> Capabilities {
    let ungrouped = LimitSupport {
        cpuset: true,
        scheduling: true,
        ..LimitSupport::default()
    };
    // Where real-time tasks are scheduled by group, only the groups of a run are given a budget.
    let nested = LimitSupport {
        scheduling: false,
        ..LimitSupport::all()
    };
    let variant = |name: &str, limits: LimitSupport| Variant {
        name: name.to_owned(),
        separate_create: true,
        pause: true,
        exit_status: true,
        oom_event: limits.memory,
        accounting: true,
        command: true,
        rootfs: false,
        mounts: false,
        user: true,
        limits,
        isolation: Vec::new(),
    };
    Capabilities {
        variants: vec![
            variant("flat", ungrouped),
            variant("session", ungrouped),
            variant("grouped", LimitSupport::all()),
            variant("grouped-lxc", nested),
            variant("grouped-lxd", nested),
        ],
        max_services: None,
    }
}
