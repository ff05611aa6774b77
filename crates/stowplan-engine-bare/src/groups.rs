//! The control groups of a run and where those of its services lie.

use stowplan_engine::CpuGroups;
use stowplan_host::cgroup::{Group, Tree};
use stowplan_host::{Host, HostError};
use stowplan_wire::deployment::LimitsPlan;

/// What the groups of services are made in.
#[derive(Debug)]
pub(crate) enum Above {
    /// The run's group.
    Run(Group),
    /// The group that Stowplan was started in, for the run of this identity.
    Own(Tree, String),
}

/// The groups of a service.
#[derive(Debug)]
pub(crate) struct ServiceGroups {
    /// All of it: to be frozen, killed and removed.
    pub(crate) outer: Group,
    /// What holds the processes.
    pub(crate) inner: Group,
    /// That with the folders it shares with others, for processes to join and for the locator.
    pub(crate) located: Group,
}

impl Above {
    pub(crate) fn make(
        host: &dyn Host,
        tree: Tree,
        run: &str,
        cpu_groups: CpuGroups,
        controllers: &[&str],
    ) -> Result<Self, HostError> {
        Ok(match cpu_groups {
            CpuGroups::OnTop => Self::Own(tree, run.to_owned()),
            _ => Self::Run(tree.make_run(host, run, controllers)?),
        })
    }

    /// The run's group, where there is one.
    pub(crate) const fn run(&self) -> Option<&Group> {
        match self {
            Self::Run(run) => Some(run),
            Self::Own(..) => None,
        }
    }

    /// Makes the outermost group of a service.
    pub(crate) fn make_outer(
        &self,
        host: &dyn Host,
        name: &str,
        controllers: &[&str],
    ) -> Result<Group, HostError> {
        match self {
            Self::Run(run) => run.make_child(host, name, controllers),
            Self::Own(tree, run) => {
                let v2 = tree.own.contains_key("unified");
                // On v2 a group that gives controllers to others holds no processes.
                let controllers = if v2 { &[] } else { controllers };
                tree.make_run(host, &format!("{run}-{name}"), controllers)
            }
        }
    }

    /// Makes what is inside it.
    pub(crate) fn fill(
        &self,
        host: &dyn Host,
        outer: Group,
        cpu_groups: CpuGroups,
        controllers: &[&str],
    ) -> Result<ServiceGroups, HostError> {
        let inner = if cpu_groups == CpuGroups::WithPayload {
            outer.delegate(controllers)?;
            outer.make_child(host, "payload", controllers)?
        } else {
            outer.clone()
        };
        let located = match self.run() {
            Some(run) => inner.clone().with_missing_from(run),
            None => inner.clone(),
        };
        Ok(ServiceGroups {
            outer,
            inner,
            located,
        })
    }
}

impl ServiceGroups {
    /// Sets the limits where the engine with this layout has them.
    pub(crate) fn apply(&self, limits: &LimitsPlan) -> Result<(), HostError> {
        if self.inner != self.outer {
            // Services compete where their outer groups are.
            self.outer.apply(&LimitsPlan {
                cpu_weight: limits.cpu_weight,
                ..LimitsPlan::default()
            })?;
        }
        self.inner.apply(limits)
    }
}
