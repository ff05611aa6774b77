//! The control groups of a run: one for each service, and one for the programs that hold their containers.

use std::fs::{File, OpenOptions};
use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_host::cgroup::{CONTROLLERS, Group, OtherGroups, Tree, kill_all};
use stowplan_host::{Host, HostError, scheduling};
use stowplan_wire::deployment::{DeploymentPlan, LimitsPlan, SchedulingPlan, ServiceStart};

use crate::spawn::Handle;
use crate::tool::InnerGroup;

/// The group of the engine's own processes in the group of a run; no service has a name like that.
pub const ENGINE_GROUP: &str = "_engine";

/// The groups of a run.
#[derive(Debug)]
pub(crate) struct RunGroups {
    run: Group,
    engine: Group,
    others: OtherGroups,
    /// Real-time budget of the run in µs of each second, where it has one.
    pub(crate) budget_us: Option<u64>,
}

/// The groups of a service.
#[derive(Debug)]
pub(crate) struct ServiceGroups {
    /// What the tool is started in.
    outer: Group,
    /// What holds the container.
    pub(crate) group: Group,
    /// Whether that is another one, which the tool makes and gives no limits.
    unlimited: bool,
    others: OtherGroups,
}

impl RunGroups {
    /// Makes those of the run and of the engine.
    pub(crate) fn make(host: &dyn Host, plan: &DeploymentPlan) -> Result<Self, EngineError> {
        let run = Tree::detect()?.make_run(host, &plan.run, &CONTROLLERS)?;
        let made = Self::fill(host, plan, &run);
        if made.is_err() {
            // Its own error is the lesser one, and the ledger has what stays.
            let _ = run.remove();
        }
        made
    }

    fn fill(host: &dyn Host, plan: &DeploymentPlan, run: &Group) -> Result<Self, EngineError> {
        Ok(Self {
            budget_us: scheduling::give_run_budget(run, plan)?,
            engine: run.make_child(host, ENGINE_GROUP, &CONTROLLERS)?,
            others: OtherGroups::make_run(host, &plan.run)?,
            run: run.clone(),
        })
    }

    /// Real-time budget of each service that wants one, in µs of each second, where there are budgets.
    pub(crate) fn share(&self, plan: &DeploymentPlan) -> Option<u64> {
        let budget = self.budget_us?;
        Some(scheduling::share(budget, plan))
    }

    /// Makes those of a service, with its limits where the tool does not set them.
    pub(crate) fn make_service(
        &self,
        host: &dyn Host,
        plan: &DeploymentPlan,
        start: &ServiceStart,
        inner: Option<&InnerGroup>,
    ) -> Result<ServiceGroups, EngineError> {
        let outer = self.run.make_child(host, &start.name, &CONTROLLERS)?;
        let made = ServiceGroups {
            group: inner.map_or_else(|| outer.clone(), |inner| outer.below(&inner.name)),
            unlimited: inner.is_some_and(|inner| !inner.limited),
            others: self.others.make_child(host, &start.name)?,
            outer,
        };
        scheduling::give_service_budget(&made.outer, plan, &start.name)?;
        let limits = match inner {
            // Services compete where their outer groups are.
            Some(InnerGroup { limited: true, .. }) => LimitsPlan {
                cpu_weight: start.limits.cpu_weight,
                ..LimitsPlan::default()
            },
            _ => start.limits.clone(),
        };
        made.outer.apply(&limits)?;
        Ok(made)
    }

    /// Moves a process that holds a container out of the groups of its service.
    pub(crate) fn take_engine(&self, holder: &Handle) -> Result<(), HostError> {
        // A real-time class would need a budget there, and has been passed on already.
        scheduling::set_class(holder.pid, SchedulingPlan::Other)?;
        self.engine.join(holder.pid)
    }

    /// Kills what is in them and removes them, with those of services that are left.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        self.run.remove().and(self.others.remove())
    }
}

impl ServiceGroups {
    /// Files that take a process into the groups.
    pub(crate) fn procs(&self) -> Result<Vec<File>, HostError> {
        let folders = self.outer.paths().values().chain(self.others.paths());
        folders.map(|folder| open_procs(folder)).collect()
    }

    /// Sees that what holds the container has the limits of the service.
    pub(crate) fn limit(&self, limits: &LimitsPlan) -> Result<(), HostError> {
        if self.unlimited {
            self.outer.delegate(&CONTROLLERS)?;
            self.group.apply(limits)
        } else {
            self.group.verify(limits)
        }
    }

    /// Kills everything in them.
    pub(crate) fn kill_all(&self) -> Result<(), HostError> {
        self.outer.private_folder().map_or(Ok(()), kill_all)
    }

    /// Kills what is in them and removes them.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        self.outer.remove().and(self.others.remove())
    }
}

fn open_procs(folder: &Path) -> Result<File, HostError> {
    let path = folder.join("cgroup.procs");
    let file = OpenOptions::new().write(true).open(&path);
    file.map_err(|e| HostError::io("open", &path, e))
}
