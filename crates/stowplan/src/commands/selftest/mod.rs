//! `stowplan selftest`: does the instrument say of pairs what is known of them?

mod summary;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stowplan_model::WorkSpeed;
use stowplan_model::units::show_ns;
use stowplan_results::{SELFTEST_FILE, Selftest, folder_name};
use stowplan_run::Calibration;
use stowplan_selftest::{Ask, Design, Part, Progress, SelftestError, Target};
use stowplan_suite::End;

use super::measure::nanos;
use super::plan;
use crate::calibration;
use crate::cli::SelftestArgs;
use crate::documents;
use crate::execute::{self, Sessions};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::{note, tell};
use crate::progress::{ProgressLine, Style};

#[cfg(test)]
pub use summary::tests::example;

/// Comparisons of equal deployments, and blocks of each comparison.
struct Form {
    comparisons: u32,
    blocks: u32,
}

/// What docs/measuring.md §5 asks of the instrument.
const FULL: Form = Form {
    comparisons: 40,
    blocks: 10,
};

/// The least that says something: blocks that carry a verdict.
const QUICK: Form = Form {
    comparisons: 2,
    blocks: 6,
};

/// Long enough for endpoints that are matched to carry messages before the window: five inputs of the chain of `hello`.
const WARM_UP: Duration = Duration::from_millis(500);

/// Forty inputs of that chain, with equal draws in the deployments of a block. With twenty, ten blocks of equal deployments
/// had a half-width of 6 % (docs/evidence/selftest.md).
const WINDOW: Duration = Duration::from_secs(4);

/// Runs the command.
pub fn run(args: &SelftestArgs) -> Result<(), CommandError> {
    let (folder, mut design) = match &args.resume {
        Some(folder) => (folder.clone(), Design::load(folder).map_err(failed)?),
        None => begin(args)?,
    };
    measure(&folder, &mut design, args)?;
    let selftest = stowplan_selftest::selftest(&folder, &design).map_err(failed)?;
    selftest
        .save(&folder.join(SELFTEST_FILE))
        .or_exit(ExitCode::RunFailed)?;
    calibration::keep(&selftest)?;
    if args.json {
        documents::print(&selftest)?;
    } else {
        tell!("{}", summary::table(&selftest))?;
        tell!("\n{}", summary::sentence(&selftest))?;
        tell!("result: {}", folder.join(SELFTEST_FILE).display())?;
    }
    ended(&selftest)
}

/// A new selftest with its folder.
fn begin(args: &SelftestArgs) -> Result<(PathBuf, Design), CommandError> {
    let (file, text) = inputs::stack_text(&args.stack, Path::new("."))?;
    let form = if args.quick { QUICK } else { FULL };
    let window = args.window.as_deref().map(inputs::duration).transpose()?;
    let window = window.unwrap_or(WINDOW);
    if window.is_zero() {
        let message = "a selftest needs a window that is longer than 0";
        return Err(CommandError::new(ExitCode::Usage, message));
    }
    let spec = stowplan_spec::parse_spec(&text, &file).or_exit(ExitCode::BadInput)?;
    let speed = match spec.timed_work() {
        [] => None,
        _ => Some(plan::speed(&WorkSpeed::sizes(spec.stack()))?),
    };
    let design = Design::new(Ask {
        calibration: speed.as_ref().map(Calibration::now),
        stack_file: file,
        stack_text: text,
        place: inputs::places(std::slice::from_ref(&args.place))?.remove(0),
        comparisons: args.comparisons.unwrap_or(form.comparisons),
        blocks: args.blocks.unwrap_or(form.blocks),
        seed: args.seed.unwrap_or(1),
        warm_up_ns: nanos(WARM_UP),
        window_ns: nanos(window),
        host_network: args.host_network,
        command: std::env::args().collect(),
    });
    let stack = design.stack().map_err(failed)?;
    // Two hours from now would be late to say that the stack cannot be calibrated with.
    Target::find(&stack).map_err(failed)?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let name = folder_name(&format!("selftest-{}", stack.name), now.as_secs());
    let folder = args.out.join(name);
    // The folder itself has to be new: two selftests in one would take each other's experiments for their own.
    let made = std::fs::create_dir_all(&args.out).and_then(|()| std::fs::create_dir(&folder));
    made.map_err(|error| {
        let message = format!("cannot make {}: {error}", folder.display());
        CommandError::new(ExitCode::RunFailed, message)
    })?;
    design.save(&folder).map_err(failed)?;
    Ok((folder, design))
}

/// Measures what is not finished, while the budget lasts.
fn measure(folder: &Path, design: &mut Design, args: &SelftestArgs) -> Result<(), CommandError> {
    let settle = inputs::duration(&args.settle)?;
    let budget = args.budget.as_deref().map(inputs::duration).transpose()?;
    let sessions = Sessions::new(settle)?;
    let mut clock = Clock::new(folder, design)?;
    for part in design.parts() {
        if matches!(part, Part::Injected(_)) && design.injected.is_none() {
            fix_difference(folder, design)?;
        }
        let progress = stowplan_selftest::progress(folder, part).map_err(failed)?;
        let left = match &progress {
            Progress::Done => continue,
            Progress::NotBegun => runs_of(design, part),
            Progress::Begun { left, .. } => *left as u64,
        };
        let remaining = budget.map(|budget| budget.saturating_sub(clock.begun.elapsed()));
        if remaining == Some(Duration::ZERO) {
            return Err(out_of_budget(folder, design)?);
        }
        note!("{}", clock.line(design, part));
        let of = format!("{} · ", in_words(design, part));
        let mut observer = ProgressLine::new(Style::of(false), of);
        let interrupted = |error: CommandError| match error.code {
            ExitCode::Interrupted => error.hint(go_on(folder)),
            _ => error,
        };
        let executed = match progress {
            Progress::Begun { result, .. } => {
                // No budget is one that nothing exceeds: the experiment has kept that of its beginning.
                let budget = remaining.map_or(u64::MAX, nanos);
                sessions.resume(&result, Some(budget), &mut observer)
            }
            _ => {
                let request = design.request(part, remaining.map(nanos)).map_err(failed)?;
                sessions.begin(&request, None, folder, &mut observer)
            }
        };
        went_on(&executed.map_err(interrupted)?, folder, design)?;
        clock.done += left;
    }
    Ok(())
}

/// Fixes the size of the difference, once.
fn fix_difference(folder: &Path, design: &mut Design) -> Result<(), CommandError> {
    let injected = stowplan_selftest::injected(folder, design).map_err(failed)?;
    note!(
        "from the equal pairs: {} are injected ({:.1} % of the latency), as {:.0} iterations more of {} and as a \
         later release of {}",
        show_ns(injected.ns as f64),
        injected.share * 100.0,
        injected.work_iterations,
        injected.work_callback,
        injected.timer
    );
    design.injected = Some(injected);
    design.save(folder).map_err(failed)
}

/// Whether the next experiment can follow on this one.
fn went_on(
    executed: &execute::Executed,
    folder: &Path,
    design: &Design,
) -> Result<(), CommandError> {
    let outcome = &executed.outcome;
    match &outcome.end {
        End::Finished => {
            // Its comparison has the blocks without them; a resumed selftest repeats them.
            for (_, failure) in &outcome.failures {
                note!("warning: a run failed: {}", failure.message);
            }
            Ok(())
        }
        End::Budget => Err(out_of_budget(folder, design)?),
        End::Stopped => {
            Err(CommandError::new(ExitCode::Interrupted, "interrupted").hint(go_on(folder)))
        }
        End::Failed(failure) => {
            let go_on = go_on(folder);
            let hint = failure.hint.as_ref();
            let hint = hint.map_or_else(|| go_on.clone(), |hint| format!("{hint}; {go_on}"));
            Err(CommandError::new(ExitCode::RunFailed, failure.message.clone()).hint(hint))
        }
    }
}

/// The error that ends a session whose time is used up.
fn out_of_budget(folder: &Path, design: &Design) -> Result<CommandError, CommandError> {
    let clock = Clock::new(folder, design)?;
    let message = format!(
        "the budget ended before the last comparison, after {} of {} runs: nothing is judged yet",
        clock.done, clock.all
    );
    Ok(CommandError::new(ExitCode::Inconclusive, message).hint(go_on(folder)))
}

fn go_on(folder: &Path) -> String {
    let folder = folder.display();
    format!("finished runs are kept; go on with: stowplan selftest --resume {folder}")
}

fn ended(selftest: &Selftest) -> Result<(), CommandError> {
    if selftest.passed {
        return Ok(());
    }
    let hint = "no figure of this machine says more than the selftest allows: close what else runs on it, see \
                `stowplan doctor`, and repeat it with more blocks or a longer --window";
    let message = "the instrument does not pass on this machine";
    Err(CommandError::new(ExitCode::Regression, message).hint(hint))
}

/// How far it is.
struct Clock {
    begun: Instant,
    /// Runs of the whole selftest.
    all: u64,
    /// Runs that are done, those of earlier sessions included.
    done: u64,
    /// Runs that were done before this session.
    before: u64,
}

impl Clock {
    fn new(folder: &Path, design: &Design) -> Result<Self, CommandError> {
        let (mut all, mut done) = (0, 0);
        for part in design.parts() {
            let runs = runs_of(design, part);
            all += runs;
            done += match stowplan_selftest::progress(folder, part).map_err(failed)? {
                Progress::NotBegun => 0,
                Progress::Begun { left, .. } => runs.saturating_sub(left as u64),
                Progress::Done => runs,
            };
        }
        Ok(Self {
            begun: Instant::now(),
            all,
            done,
            before: done,
        })
    }

    /// What is next, and how long it may take.
    fn line(&self, design: &Design, part: Part) -> String {
        let elapsed = self.begun.elapsed();
        let measured = self.done - self.before;
        let to_go = if measured == 0 {
            String::new()
        } else {
            let each = elapsed.as_secs_f64() / measured as f64;
            let left = self.all.saturating_sub(self.done) as f64;
            format!(", about {} to go", minutes(each * left))
        };
        format!(
            "selftest: {}, {} of {} runs done, {} so far{to_go}",
            in_words(design, part),
            self.done,
            self.all,
            minutes(elapsed.as_secs_f64())
        )
    }
}

fn minutes(seconds: f64) -> String {
    format!("{:.0} min", seconds / 60.0)
}

fn runs_of(design: &Design, part: Part) -> u64 {
    u64::from(part.deployments() * design.ask.blocks)
}

fn in_words(design: &Design, part: Part) -> String {
    let all = design.ask.comparisons;
    match part {
        Part::Equal(number) => format!("A/A {number} of {all}"),
        Part::Injected(number) => format!("A/B {number} of {}", all.div_ceil(2)),
    }
}

/// An error of the selftest itself, with its exit code.
fn failed(error: SelftestError) -> CommandError {
    if let SelftestError::Experiment(experiment) = &error {
        return execute::failed(experiment);
    }
    let code = match &error {
        SelftestError::Request { .. }
        | SelftestError::Version { .. }
        | SelftestError::Spec(_)
        | SelftestError::Plan(_)
        | SelftestError::NoChain { .. }
        | SelftestError::OtherStation { .. }
        | SelftestError::Io { doing: "read", .. } => ExitCode::BadInput,
        _ => ExitCode::RunFailed,
    };
    let told = CommandError::from_error(code, &error);
    match error.hint() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
