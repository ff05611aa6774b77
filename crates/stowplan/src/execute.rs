//! Runs an experiment from the command line: programs, signals, progress.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stowplan_judge::Figures;
use stowplan_results::{Results, ResultsError};
pub use stowplan_run::Executed;
use stowplan_run::{Earlier, ExperimentError, Programs, Request, Session, StageCaller};
use stowplan_suite::{Caller, Fixed, Observer};

use crate::failure::{CommandError, ExitCode};
use crate::{engines, programs};

/// What the experiments of one command share: programs, and the one place where signals arrive.
pub struct Sessions {
    programs: Programs,
    interruption: Interruption,
    settle: Duration,
    /// The result that every experiment has to be comparable with.
    comparable_with: Option<Results>,
}

impl Sessions {
    /// Finds the programs and listens to signals from now on. Runs wait at most `settle` for a quiet machine.
    pub fn new(settle: Duration) -> Result<Self, CommandError> {
        Ok(Self {
            programs: programs()?,
            interruption: Interruption::listen()?,
            settle,
            comparable_with: None,
        })
    }

    /// The same, but an experiment that cannot be compared with this result is refused before anything is run.
    pub fn comparable(self, earlier: Option<Results>) -> Self {
        Self {
            comparable_with: earlier,
            ..self
        }
    }

    /// Runs a new experiment with a result folder below `out`, and beside it an earlier one again, if one is given.
    pub fn begin(
        &self,
        request: &Request,
        earlier: Option<&Earlier>,
        out: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Executed, CommandError> {
        self.run(observer, |session| {
            stowplan_run::begin(request, earlier, out, session)
        })
    }

    /// Goes on with the result in `folder`.
    pub fn resume(
        &self,
        folder: &Path,
        budget_ns: Option<u64>,
        observer: &mut dyn Observer,
    ) -> Result<Executed, CommandError> {
        self.run(observer, |session| {
            stowplan_run::resume(folder, budget_ns.map(Duration::from_nanos), session)
        })
    }

    /// Runs benchmarks or goes on with them.
    pub fn bench(
        &self,
        observer: &mut dyn Observer,
        run: impl FnOnce(
            stowplan_bench::Session<'_>,
        ) -> Result<stowplan_bench::Executed, ExperimentError>,
    ) -> Result<stowplan_bench::Executed, CommandError> {
        let ended = run(stowplan_bench::Session {
            programs: &self.programs,
            stop: &self.interruption.stop,
            agent_started: &mut |pid| self.interruption.has_agent(pid),
            outside: engines::TO_EXPERIMENTS,
            observer,
        });
        self.interruption.ended(ended, failed)
    }

    fn run(
        &self,
        observer: &mut dyn Observer,
        run: impl FnOnce(Session<'_>) -> Result<Executed, ExperimentError>,
    ) -> Result<Executed, CommandError> {
        let ended = run(Session {
            programs: &self.programs,
            stop: &self.interruption.stop,
            agent_started: &mut |pid| self.interruption.has_agent(pid),
            settle: self.settle,
            outside: engines::TO_EXPERIMENTS,
            observer,
            sizing: &mut size,
            accept: &mut |experiment| match &self.comparable_with {
                Some(earlier) => Ok(stowplan_judge::can_compare(earlier, experiment)?),
                None => Ok(()),
            },
        });
        self.interruption.ended(ended, failed)
    }

    /// Runs another suite, whose errors `failed` tells.
    pub fn suite<T, E>(
        &self,
        observer: &mut dyn Observer,
        failed: impl FnOnce(&E) -> CommandError,
        run: impl FnOnce(StageCaller<'_>, Caller<'_, '_>) -> Result<T, E>,
    ) -> Result<T, CommandError> {
        let stage = StageCaller {
            programs: &self.programs,
            agent_started: &mut |pid| self.interruption.has_agent(pid),
            outside: engines::TO_EXPERIMENTS,
        };
        let caller = Caller {
            stop: &self.interruption.stop,
            observer,
            sizing: &mut size,
        };
        let ended = run(stage, caller);
        self.interruption.ended(ended, failed)
    }
}

/// Fixes the number of blocks from the result of a pilot, by the spread of its figures.
fn size(dir: &Path, most: u32) -> Result<Fixed, String> {
    let told = |error: &dyn std::error::Error| stowplan_host::chain(error);
    let results = Results::open(dir).map_err(|e| told(&e))?;
    let figures = Figures::read(&results).map_err(|e| told(&e))?;
    let size = figures.size(most as usize).map_err(|e| told(&e))?;
    let size = size.ok_or("nothing was compared in two blocks")?;
    Ok(Fixed {
        blocks: u32::try_from(size.blocks).unwrap_or(most),
        reason: size.reason,
    })
}

/// The programs of experiments, and where their images are kept.
pub fn programs() -> Result<Programs, CommandError> {
    Ok(Programs {
        node: programs::node()?,
        agent: programs::agent()?,
        image_store: image_store(),
    })
}

/// Where images and the toolbox are kept.
pub fn image_store() -> PathBuf {
    let is_root = rustix::process::geteuid().is_root();
    stowplan_image::default_store(|name| std::env::var_os(name), is_root)
}

/// An error of an experiment, with its exit code.
pub fn failed(error: &ExperimentError) -> CommandError {
    let code = match error {
        ExperimentError::Read { .. }
        | ExperimentError::Request { .. }
        | ExperimentError::Version { .. }
        | ExperimentError::Spec(_)
        | ExperimentError::Name { .. }
        | ExperimentError::Place(_)
        | ExperimentError::NoCpu { .. }
        | ExperimentError::Plan(_)
        | ExperimentError::Replay(_)
        | ExperimentError::OtherMachine { .. }
        | ExperimentError::OtherNetwork
        | ExperimentError::OtherProgram
        | ExperimentError::Again { .. }
        | ExperimentError::NotAccepted(_) => ExitCode::BadInput,
        ExperimentError::Results(
            ResultsError::Json { .. }
            | ResultsError::Format { .. }
            | ResultsError::Parquet { .. }
            | ResultsError::Column { .. }
            | ResultsError::NotAResult { .. }
            | ResultsError::UnknownDeployment { .. },
        ) => ExitCode::BadInput,
        ExperimentError::NothingToRun { .. }
        | ExperimentError::Missing { .. }
        | ExperimentError::Ablation { .. }
        | ExperimentError::Lttng { .. } => ExitCode::EngineUnavailable,
        _ => ExitCode::RunFailed,
    };
    match error {
        // Told as itself, so it is not among the causes, where hints are looked for.
        ExperimentError::Results(results) => CommandError::from_error(code, results),
        ExperimentError::Engine(engine) => CommandError::from_error(code, engine.as_ref()),
        ExperimentError::Host(host) => CommandError::from_error(code, host),
        ExperimentError::Replay(replay) => CommandError::from_error(code, replay),
        ExperimentError::Place(place) => CommandError::from_error(code, place),
        ExperimentError::Missing { reasons, hint } => CommandError::new(code, reasons).hint(hint),
        ExperimentError::NotAccepted(why) => CommandError::from_error(code, why.as_ref()),
        _ => CommandError::from_error(code, error),
    }
}

/// SIGINT and SIGTERM end the current run at once: the agent is ended, which removes everything of the run,
/// and the experiment stops before the next.
struct Interruption {
    stop: Arc<AtomicBool>,
    agent: Arc<AtomicI32>,
}

impl Interruption {
    fn listen() -> Result<Self, CommandError> {
        let stop = Arc::new(AtomicBool::new(false));
        let agent = Arc::new(AtomicI32::new(0));
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| {
            CommandError::new(
                ExitCode::RunFailed,
                format!("cannot listen to signals: {error}"),
            )
        })?;
        let (flag, pid) = (Arc::clone(&stop), Arc::clone(&agent));
        std::thread::spawn(move || {
            for _ in signals.forever() {
                flag.store(true, Ordering::SeqCst);
                end_agent(pid.load(Ordering::SeqCst));
            }
        });
        Ok(Self { stop, agent })
    }

    /// There is an agent to end.
    fn has_agent(&self, pid: u32) {
        let agent = i32::try_from(pid).unwrap_or(0);
        self.agent.store(agent, Ordering::SeqCst);
        // A signal that came before there was an agent found none to end.
        if self.stop.load(Ordering::SeqCst) {
            end_agent(agent);
        }
    }

    /// What came of a session, which `failed` tells.
    fn ended<T, E>(
        &self,
        ended: Result<T, E>,
        failed: impl FnOnce(&E) -> CommandError,
    ) -> Result<T, CommandError> {
        // The agent has ended: by now its number may be another process's.
        self.agent.store(0, Ordering::SeqCst);
        ended.map_err(|error| {
            // Whatever broke after the signal broke because of it.
            if self.stop.load(Ordering::SeqCst) {
                CommandError::new(ExitCode::Interrupted, "interrupted")
            } else {
                failed(&error)
            }
        })
    }
}

fn end_agent(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        // It may have ended by itself in this moment; then there is nothing to end.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

#[cfg(test)]
mod tests;
