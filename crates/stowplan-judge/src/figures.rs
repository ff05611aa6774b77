//! The figures of a result, read once.

use stowplan_results::{
    ColdState, DeploymentRecord, Experiment, NATURAL, Results, RunRow, RunStatus, Selftest,
    StartKind,
};

use crate::callbacks::{self, CallbackTimes};
use crate::counted::Counted;
use crate::edges::{self, DeploymentEdges};
use crate::error::JudgeError;
use crate::latency::{self, ChainLatency};
use crate::losses::{self, DeploymentLosses};
use crate::measurements::{self, Measurement};
use crate::memory::{self, DeploymentMemory};
use crate::phases::{self, TimerPhases};
use crate::startup::{self, DeploymentStartup};
use crate::throttling::{self, Throttled};
use crate::usage::{self, DeploymentUsage};
use crate::work::{self, WorkRatio};

/// Why a start was not cold, of runs that do not say it.
pub(crate) const RESIDENT: &str = "its files were in the page cache";

/// The figures of a result.
#[derive(Debug, Clone)]
pub struct Figures {
    /// What was asked for.
    pub experiment: Experiment,
    /// All runs.
    pub runs: Vec<RunRow>,
    /// Start-ups, by deployment and state of the page cache.
    pub startup: Vec<DeploymentStartup>,
    /// Chains, by chain and deployment.
    pub latency: Vec<ChainLatency>,
    /// Usage, by deployment.
    pub usage: Vec<DeploymentUsage>,
    /// Memory after the window, by deployment.
    pub memory: Vec<DeploymentMemory>,
    /// Losses, by deployment.
    pub losses: Vec<DeploymentLosses>,
    /// Edges as messages travelled on them, by deployment.
    pub edges: Vec<DeploymentEdges>,
    /// Services that a CPU quota stopped.
    pub throttled: Vec<Throttled>,
    /// Callbacks, those that took most time first.
    pub callbacks: Vec<CallbackTimes>,
    /// What a suite measured that is not of stacks.
    pub measurements: Vec<Measurement>,
    /// Phases of timers, by name.
    pub phases: Vec<TimerPhases>,
    /// The calibration of the instrument that is kept beside the result.
    pub selftest: Option<Selftest>,
    /// Whether work took the CPU time that it should; `None` where that was not recorded.
    pub work: Option<WorkRatio>,
}

impl Figures {
    /// Reads every table and computes all figures.
    ///
    /// # Errors
    /// When a table cannot be read or a figure cannot be computed.
    pub fn read(results: &Results) -> Result<Self, JudgeError> {
        let counted = Counted::of(results);
        let mut called = results.callbacks()?;
        called.retain(|row| counted.latency(row.run).is_some());
        Ok(Self {
            experiment: results.experiment.clone(),
            runs: results.runs.clone(),
            startup: startup::read(results, &counted)?,
            latency: latency::read(results, &counted)?,
            usage: usage::read(results, &counted)?,
            memory: memory::read(results, &counted)?,
            losses: losses::read(results, &counted)?,
            edges: edges::read(results, &counted)?,
            throttled: throttling::read(results, &counted)?,
            callbacks: callbacks::times(&called),
            measurements: measurements::read(results, &counted)?,
            phases: phases::of_timers(&called),
            selftest: results.selftest()?,
            work: work::of_all(&called),
        })
    }

    /// Label of a deployment.
    #[must_use]
    pub fn label<'a>(&'a self, id: &'a str) -> &'a str {
        match self.experiment.deployment(id) {
            Some(d) if !d.label.is_empty() => &d.label,
            _ => id,
        }
    }

    /// Finished runs of a deployment.
    #[must_use]
    pub fn finished(&self, id: &str) -> usize {
        let runs = self.runs.iter();
        runs.filter(|r| &*r.deployment == id && r.status == RunStatus::Finished)
            .count()
    }

    /// Deployments with finished runs, in the order of the experiment.
    #[must_use]
    pub fn deployments(&self) -> Vec<&DeploymentRecord> {
        let all = self.experiment.deployments.iter();
        all.filter(|d| self.finished(&d.id) > 0).collect()
    }

    /// Those of [`Self::deployments`] that are no step of an ablation, which answers another question (see `ablation`).
    #[must_use]
    pub fn alternatives(&self) -> Vec<&DeploymentRecord> {
        let mut ran = self.deployments();
        ran.retain(|d| !self.experiment.is_step(d));
        ran
    }

    /// Finished runs of a deployment whose start was to find the page cache in this state, counted or not.
    pub fn started<'a>(
        &'a self,
        id: &'a str,
        start: StartKind,
    ) -> impl Iterator<Item = &'a RunRow> {
        let runs = self.runs.iter();
        let finished = runs.filter(|run| run.status == RunStatus::Finished);
        finished.filter(move |run| &*run.deployment == id && run.start == start)
    }

    /// Why a deployment has no cold start at all, where it was to have some and none was cold.
    pub(crate) fn never_cold(&self, id: &str) -> Option<String> {
        let mut runs = self.started(id, StartKind::Cold);
        let first = runs.next()?;
        let all_failed = first.cold == Some(ColdState::Failed)
            && runs.all(|run| run.cold == Some(ColdState::Failed));
        all_failed.then(|| {
            let why = first.cold_reason.as_deref().unwrap_or(RESIDENT);
            format!("no start of {} was cold: {why}", self.label(id))
        })
    }

    /// Whether timer phases were left as they fell.
    #[must_use]
    pub fn has_natural_phases(&self) -> bool {
        self.experiment.phase.as_deref() == Some(NATURAL)
    }
}
