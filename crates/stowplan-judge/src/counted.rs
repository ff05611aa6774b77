//! Which runs count for what, and the order of names.

use std::collections::BTreeMap;

use stowplan_results::{ColdState, Results, RunRow, RunStatus, StartKind};

/// Which runs count for what, and the order of names.
pub(crate) struct Counted {
    runs: BTreeMap<u32, RunRow>,
    deployments: Vec<String>,
    chains: Vec<String>,
    modules: Vec<String>,
}

impl Counted {
    pub(crate) fn of(results: &Results) -> Self {
        let finished = results.runs.iter();
        let finished = finished.filter(|run| run.status == RunStatus::Finished);
        let experiment = &results.experiment;
        Self {
            runs: finished.map(|run| (run.run, run.clone())).collect(),
            deployments: experiment
                .deployments
                .iter()
                .map(|d| d.id.clone())
                .collect(),
            chains: experiment.stack.chains.clone(),
            modules: experiment.stack.modules.clone(),
        }
    }

    /// The run, if its latencies, usage and losses count.
    pub(crate) fn latency(&self, run: u32) -> Option<&RunRow> {
        self.runs.get(&run)
    }

    /// Whether a start-up counts: a cold start has to have been cold.
    pub(crate) fn startup(&self, run: u32, start: StartKind) -> bool {
        let run = self.runs.get(&run);
        run.is_some_and(|run| start != StartKind::Cold || run.cold != Some(ColdState::Failed))
    }

    pub(crate) fn rank(&self, deployment: &str) -> usize {
        position(&self.deployments, deployment)
    }

    pub(crate) fn id(&self, rank: usize) -> &str {
        self.deployments.get(rank).map_or("", |id| id)
    }

    pub(crate) fn chain_rank(&self, chain: &str) -> usize {
        position(&self.chains, chain)
    }

    pub(crate) fn module_rank(&self, module: &str) -> usize {
        position(&self.modules, module)
    }
}

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|n| n == name).unwrap_or(names.len())
}
