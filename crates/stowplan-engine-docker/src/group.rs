//! The control group of the containers of a run, where they need one.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::RunGroup;
use stowplan_host::{Host, scheduling};
use stowplan_wire::deployment::DeploymentPlan;

use crate::client::Client;

/// What to tell of it.
pub(crate) const NOTE: &str = "cgroup parent: one of the run's own, because that of the daemon has no real-time budget on this machine";

/// One of the run's own where the kernel shares out real-time budgets by group: that of the daemon has none, and is not ours
/// to change. The groups of a rootless daemon are another matter: there are none.
pub(crate) fn of_run(
    client: &Client,
    plan: &DeploymentPlan,
    host: &dyn Host,
) -> Result<Option<RunGroup>, EngineError> {
    if client.rootless_user().is_some() || !scheduling::needs_budgets(plan)? {
        return Ok(None);
    }
    RunGroup::enter(host, &plan.run).map(Some)
}
