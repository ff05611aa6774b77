//! What plain processes can do.

use stowplan_engine::{Capabilities, CpuGroups, LimitSupport, Variant};

/// Where the groups of services lie in this variant of the engine.
pub(crate) fn cpu_groups(variant: Option<&str>) -> CpuGroups {
    let found = capabilities().variant(variant).map(|v| v.cpu_groups);
    found.unwrap_or(CpuGroups::One)
}

/// v1 controllers (v2: their counterparts) of the run's group. Among sessions there is no `cpu`: autogroups
/// act only among processes outside of such groups.
pub(crate) const fn run_controllers(cpu_groups: CpuGroups) -> &'static [&'static str] {
    match cpu_groups {
        CpuGroups::One => &["cpu", "cpuacct", "memory", "freezer", "blkio"],
        CpuGroups::Sessions => &["cpuacct", "memory", "freezer", "blkio"],
        _ => &["cpu", "cpuacct", "memory", "cpuset", "freezer", "blkio"],
    }
}

/// Controllers that each service has for itself.
pub(crate) const fn service_controllers(cpu_groups: CpuGroups) -> &'static [&'static str] {
    if cpu_groups.is_grouped() {
        run_controllers(cpu_groups)
    } else {
        &["cpuacct", "memory", "freezer", "blkio"]
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
    Capabilities {
        variants: vec![
            Variant::processes("flat", CpuGroups::One, ungrouped),
            Variant::processes("session", CpuGroups::Sessions, ungrouped),
            Variant::processes("grouped", CpuGroups::InRun, LimitSupport::all()),
            Variant::processes("grouped-lxc", CpuGroups::WithPayload, nested),
            Variant::processes("grouped-lxd", CpuGroups::OnTop, nested),
        ],
        max_services: None,
    }
}
