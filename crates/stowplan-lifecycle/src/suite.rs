//! The life cycle as a suite: each job starts one deployment, and tries every operation and every fault once.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stowplan_host::chain;
use stowplan_measure::RunError;
use stowplan_model::Chain;
use stowplan_results::{Experiment, MetricPlan, RunData, RunRow, RunStatus};
use stowplan_run::{ExperimentError, Request, Stage, StageCaller};
use stowplan_spec::Scenario;
use stowplan_stats::DEFAULT_DELTA;
use stowplan_suite::{
    Asked, Caller, Job, JobContext, Kept, OpenResult, Outcome, RunFailed, Suite, finish,
};
use stowplan_wire::agent::FailureKind;

use crate::applications::{Application, Applications, Step};
use crate::fault::{Fault, Settings};
use crate::figures::{Figure, PRIMARY, metrics};
use crate::images::Images;
use crate::scenario::{self, OnDemand, chains_of};
use crate::scratch::{self, unwritable};
use crate::session::Session;
use crate::trials::Trials;

/// Name of the suite in results.
pub const SUITE: &str = "lifecycle";

/// Key in [`Experiment::parameters`] of what was tried.
const KEY: &str = "lifecycle";

/// What is tried of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The service that is stopped, started and damaged; the others run.
    pub service: String,
    /// Which faults.
    pub faults: Vec<Fault>,
    /// What is not detected within this time never is, ns.
    pub patience_ns: u64,
    /// Memory limit of the service, where the place has memory limits.
    pub memory_bytes: u64,
    /// What is built and started beside that.
    #[serde(default)]
    pub applications: Vec<Application>,
    /// What they are compiled with; there where there are applications.
    #[serde(default)]
    pub toolbox: Option<CompilerRoot>,
}

/// A root file system with a compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompilerRoot {
    /// Digest of its packages with their versions.
    pub digest: String,
    /// Its folder on this machine.
    pub tree: PathBuf,
}

/// Key in [`Experiment::parameters`] of the scenario that was played.
const SCENARIO: &str = "scenario";

/// What a job does with a deployment.
#[derive(Debug, Clone, PartialEq)]
pub enum Trial {
    /// Verbs and faults of one service.
    Verbs(Plan),
    /// Services that are started on demand.
    Scenario(Scenario),
}

/// A life cycle that is measured.
struct Lifecycle<'a> {
    stage: &'a Stage<'a>,
    result: &'a OpenResult,
    trial: &'a Trial,
    /// Chains that a scenario looks at.
    chains: Vec<Chain>,
    ids: Vec<String>,
    labels: Vec<String>,
    settle: Duration,
}

/// Measures a new life cycle into a folder below `out`.
///
/// # Errors
/// When it cannot begin. What fails later is in the outcome.
pub fn begin(
    request: &Request,
    trial: &Trial,
    out: &Path,
    settle: Duration,
    stage: StageCaller<'_>,
    caller: Caller<'_, '_>,
) -> Result<(PathBuf, Outcome), LifecycleError> {
    let (stage, mut record) = Stage::open(request, stage)?;
    let chains = fits(&stage, &record, trial)?;
    describe(&mut record, trial);
    std::fs::create_dir_all(out).map_err(|source| ExperimentError::Write {
        path: out.to_owned(),
        source,
    })?;
    let result = OpenResult::create(out, record).map_err(ExperimentError::from)?;
    stage.keep(result.dir())?;
    run(&stage, result, (trial, chains), settle, caller)
}

/// Goes on with a life cycle that was interrupted.
///
/// # Errors
/// When the folder is not that of one, or this is another machine or program than the one it began with.
pub fn resume(
    dir: &Path,
    budget: Option<Duration>,
    settle: Duration,
    stage: StageCaller<'_>,
    caller: Caller<'_, '_>,
) -> Result<(PathBuf, Outcome), LifecycleError> {
    let (stage, result) = Stage::resume(dir, budget, stage)?;
    let record = result.experiment().clone();
    let trial = trial_of(&record)?;
    let chains = fits(&stage, &record, &trial)?;
    run(&stage, result, (&trial, chains), settle, caller)
}

fn run(
    stage: &Stage<'_>,
    result: OpenResult,
    (trial, chains): (&Trial, Vec<Chain>),
    settle: Duration,
    caller: Caller<'_, '_>,
) -> Result<(PathBuf, Outcome), LifecycleError> {
    let request = stage.request();
    for warning in stage.warnings() {
        caller.observer.warning(warning);
    }
    let asked = Asked {
        blocks: request.blocks,
        seed: request.seed,
        budget: request.budget_ns.map(Duration::from_nanos),
    };
    let dir = result.dir().to_owned();
    scratch::clear(&dir).map_err(|source| ExperimentError::Write {
        path: dir.clone(),
        source,
    })?;
    let results = [result];
    let mut suite = Lifecycle {
        stage,
        result: &results[0],
        trial,
        chains,
        ids: stage.deployments().map(|d| d.id.clone()).collect(),
        labels: stage.deployments().map(|d| d.label.clone()).collect(),
        settle,
    };
    // For as long as the suite lives, which is less than its caller does.
    let caller = Caller {
        stop: caller.stop,
        observer: &mut *caller.observer,
        sizing: &mut *caller.sizing,
    };
    let outcome = stowplan_suite::run(&mut suite, &results, asked, caller);
    let outcome = outcome.map_err(ExperimentError::from)?;
    finish(results.into(), &outcome).map_err(ExperimentError::from)?;
    Ok((dir, outcome))
}

/// Whether the stack is one of modelled services, with those that are to be tried; the chains that are looked at.
fn fits(
    stage: &Stage<'_>,
    record: &Experiment,
    trial: &Trial,
) -> Result<Vec<Chain>, LifecycleError> {
    if let Some(real) = stage.real_services().first() {
        return Err(LifecycleError::RealService {
            service: real.name.to_string(),
        });
    }
    match trial {
        Trial::Verbs(plan) => {
            has(record, &plan.service)?;
            match &plan.toolbox {
                Some(toolbox) if !toolbox.tree.is_dir() => Err(LifecycleError::NoToolbox {
                    tree: toolbox.tree.clone(),
                }),
                _ => Ok(Vec::new()),
            }
        }
        Trial::Scenario(scenario) => {
            let partitions = &stage.request().partitions;
            let services = partitions.first().map_or(&[][..], |of| &of.services[..]);
            let chains = chains_of(scenario, stage.stack(), services);
            let chains = chains.map_err(|why| LifecycleError::Unplayable {
                message: why.message,
                hint: why.hint,
            })?;
            Ok(chains.into_iter().cloned().collect())
        }
    }
}

/// Whether a partition has the service.
fn has(record: &Experiment, service: &str) -> Result<(), LifecycleError> {
    let partitions = record.partitions.iter();
    let mut services = partitions.flat_map(|partition| &partition.services);
    if services.any(|one| one == service) {
        return Ok(());
    }
    let partitions = record.partitions.iter();
    let all = partitions.flat_map(|partition| partition.services.clone());
    Err(LifecycleError::NoService {
        service: service.to_owned(),
        have: all.collect::<Vec<_>>().join(", "),
    })
}

/// Makes the record of an experiment that of a life cycle.
fn describe(record: &mut Experiment, trial: &Trial) {
    record.suite = SUITE.to_owned();
    let (metrics, primary, key, value) = match trial {
        Trial::Verbs(plan) => {
            let steps = (!plan.applications.is_empty()).then_some(Step::ALL);
            let steps = steps.into_iter().flatten().map(Step::metric);
            let all = metrics().into_iter().chain(steps).collect();
            (all, PRIMARY, KEY, serde_json::to_value(plan))
        }
        Trial::Scenario(scenario) => {
            let value = serde_json::to_value(scenario);
            (scenario::metrics(), scenario::READY, SCENARIO, value)
        }
    };
    let of = |metric: &str| MetricPlan {
        metric: metric.to_owned(),
        delta: DEFAULT_DELTA,
        primary: metric == primary,
    };
    record.metrics = metrics.into_iter().map(of).collect();
    let value = value.unwrap_or(Value::Null);
    record.parameters.insert(key.to_owned(), value);
}

/// What a life cycle was to try.
///
/// # Errors
/// When the result is not that of a life cycle.
pub fn trial_of(experiment: &Experiment) -> Result<Trial, LifecycleError> {
    let parameters = &experiment.parameters;
    let plan = parameters.get(KEY).cloned();
    let plan = plan.and_then(|plan| serde_json::from_value(plan).ok());
    let scenario = parameters.get(SCENARIO).cloned();
    let scenario = scenario.and_then(|one| serde_json::from_value(one).ok());
    let trial = plan.map(Trial::Verbs);
    let trial = trial.or_else(|| scenario.map(Trial::Scenario));
    trial.ok_or_else(|| LifecycleError::OtherSuite {
        suite: experiment.suite.clone(),
    })
}

/// Why a life cycle cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// It cannot begin or go on.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The stack has real programs, whose readiness is another.
    #[error(
        "the stack has the real program '{service}', and only modelled services have a life cycle here"
    )]
    RealService {
        /// The first of them.
        service: String,
    },
    /// The partition does not have the service.
    #[error("the partition has no service '{service}'; it has {have}")]
    NoService {
        /// What was asked for.
        service: String,
        /// What there is.
        have: String,
    },
    /// What applications were compiled with is not there any more.
    #[error("the toolbox '{}' is not there, and applications are compiled with it", tree.display())]
    NoToolbox {
        /// Its root file system.
        tree: PathBuf,
    },
    /// The scenario cannot be played with the partition.
    #[error("the scenario cannot be played: {message}")]
    Unplayable {
        /// Why.
        message: String,
        /// What to change.
        hint: String,
    },
    /// The result is of another suite.
    #[error("this is a result of the suite '{suite}', not of a life cycle")]
    OtherSuite {
        /// Which.
        suite: String,
    },
}

impl Suite for Lifecycle<'_> {
    fn deployments(&self) -> usize {
        self.ids.len()
    }

    fn kept(&self, job: Job) -> Kept {
        let id = &self.ids[job.deployment];
        Kept::one(job, self.ids.len(), id, self.stage.request().seed)
    }

    fn run(&mut self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed> {
        let label = &self.labels[job.deployment];
        context.step(job, label, "life cycle");
        let run = &self.kept(job).runs[0];
        let name = format!(
            "{}-{}-{}",
            std::process::id(),
            job.block + 1,
            context.elapsed().as_millis()
        );
        let quiet = self.stage.quiet(self.settle);
        let measured = quiet.and_then(|quiet| Ok((quiet, self.measured(job, &name)?)));
        let data = match &measured {
            Ok((quiet, figures)) => {
                let mut row = RunRow::of_scheduled(run, RunStatus::Finished);
                row.quiet = Some(*quiet);
                let mut data = RunData::of(row);
                data.measurements = figures.iter().map(|figure| figure.row(run)).collect();
                data
            }
            Err(error) => {
                let mut row = RunRow::of_scheduled(run, RunStatus::Failed);
                row.reason = Some(chain(error).as_str().into());
                RunData::of(row)
            }
        };
        let kept = self.result.write_run(&data);
        kept.map_err(|error| RunFailed::of_results(label, &error))?;
        measured.map(drop).map_err(|error| RunFailed {
            message: format!("{label}: {}", chain(&error)),
            hint: error.hint.clone(),
            fatal: error.kind == FailureKind::Full || self.stage.is_gone(),
        })
    }
}

impl Lifecycle<'_> {
    fn measured(&self, job: Job, run: &str) -> Result<Vec<Figure>, RunError> {
        match self.trial {
            Trial::Verbs(plan) => self.tried(job, run, plan),
            Trial::Scenario(scenario) => self.played(job, run, scenario),
        }
    }

    /// Verbs and faults; then the faults once more as the engine restarts by default, with its restart policy, and with its health
    /// checks, where it has those.
    fn tried(&self, job: Job, run: &str, plan: &Plan) -> Result<Vec<Figure>, RunError> {
        let mut figures = self.images(job, run)?;
        for settings in Settings::ALL {
            let run = match settings {
                Settings::None => run.to_owned(),
                Settings::ByDefault => format!("{run}-default"),
                Settings::Restarts => format!("{run}-policy"),
                Settings::HealthChecks => format!("{run}-health"),
            };
            figures.extend(self.session(job, &run, plan, settings)?);
        }
        if let Some(toolbox) = &plan.toolbox {
            let run = format!("{run}-applications");
            figures.extend(self.applications(job, &run, plan, toolbox)?);
        }
        Ok(figures)
    }

    fn applications(
        &self,
        job: Job,
        run: &str,
        plan: &Plan,
        toolbox: &CompilerRoot,
    ) -> Result<Vec<Figure>, RunError> {
        let staged = self.stage.run(job.deployment, job.block, run)?;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        self.in_scratch(run, |scratch| {
            let scratch = scratch
                .canonicalize()
                .map_err(|error| unwritable(scratch, &error))?;
            Applications {
                site: Rc::clone(self.stage.host()) as Rc<dyn stowplan_site::Site>,
                engine: staged.engine.as_ref(),
                can: &staged.can,
                plan: staged.plan,
                toolbox: &toolbox.tree,
                scratch: &scratch,
                // Seconds of ten years have 28 bits.
                first_revision: seconds.map_or(1, |since| (since.as_secs() as u32) & 0x0fff_ffff),
                deployments: Cell::new(0),
            }
            .run(&plan.applications)
        })
    }

    fn images(&self, job: Job, run: &str) -> Result<Vec<Figure>, RunError> {
        let run = format!("{run}-image");
        let staged = self.stage.run(job.deployment, job.block, &run)?;
        self.in_scratch(&run, |scratch| {
            Images {
                site: Rc::clone(self.stage.host()) as Rc<dyn stowplan_site::Site>,
                engine: staged.engine.as_ref(),
                can: &staged.can,
                plan: staged.plan,
                scratch,
            }
            .run()
        })
    }

    /// Gives a folder for what does not belong to the result.
    fn in_scratch<T>(
        &self,
        run: &str,
        with: impl FnOnce(&Path) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        scratch::within(self.result.dir(), run, with)
    }

    fn session(
        &self,
        job: Job,
        run: &str,
        plan: &Plan,
        settings: Settings,
    ) -> Result<Vec<Figure>, RunError> {
        let staged = self.stage.run(job.deployment, job.block, run)?;
        let trials = Trials {
            faults: plan.faults.clone(),
            patience: Duration::from_nanos(plan.patience_ns) + settings.delay(&staged.can),
            memory_bytes: Some(plan.memory_bytes),
            seed: self.stage.request().seed,
            settings,
        };
        let faults = trials.with_settings();
        if faults.is_empty() && settings != Settings::None {
            return Ok(Vec::new());
        }
        if let Some(reasons) = trials.without(&staged.can) {
            return Ok(reasons);
        }
        let trials = Trials { faults, ..trials };
        Session {
            site: Rc::clone(self.stage.host()) as Rc<dyn stowplan_site::Site>,
            engine: staged.engine.as_ref(),
            can: &staged.can,
            services: &staged.services,
            plan: staged.plan,
            cyclonedds_xml: staged.cyclonedds_xml,
            service: &plan.service,
            trials: &trials,
            block: job.block,
        }
        .run()
    }

    /// Every strategy once, each in a run of its own, in the order of the block.
    fn played(&self, job: Job, run: &str, scenario: &Scenario) -> Result<Vec<Figure>, RunError> {
        let mut strategies = scenario.strategies.clone();
        let seed = u128::from(self.stage.request().seed);
        strategies.shuffle(&mut Pcg64::new(seed, u128::from(job.block)));
        let mut figures = Vec::new();
        for strategy in strategies {
            let run = format!("{run}-{strategy}");
            let staged = self.stage.run(job.deployment, job.block, &run)?;
            let played = self.in_scratch(&run, |scratch| {
                OnDemand {
                    site: Rc::clone(self.stage.host()) as Rc<dyn stowplan_site::Site>,
                    engine: staged.engine.as_ref(),
                    can: &staged.can,
                    services: staged.services,
                    plan: staged.plan,
                    cyclonedds_xml: staged.cyclonedds_xml,
                    scenario,
                    strategy,
                    chains: &self.chains,
                    ring_bytes: self.stage.ring_bytes(),
                    scratch,
                }
                .run()
            });
            figures.extend(played?);
        }
        Ok(figures)
    }
}
