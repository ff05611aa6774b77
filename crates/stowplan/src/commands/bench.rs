//! `bench`: benchmarks at several places, and their table.

mod full;
mod shown;
pub(super) mod toolbox;
mod words;

use std::path::Path;
use std::time::Duration;

use stowplan_bench::{BenchTable, Executed, Request, Size};
use stowplan_results::Results;

use crate::cli::{BenchArgs, BenchCommand};
use crate::commands::{doctor, measure};
use crate::engines;
use crate::execute::Sessions;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::tell;
use crate::progress::{ProgressLine, Style};

pub use full::sections;

/// `stowplan bench`.
pub fn run(args: &BenchArgs) -> Result<(), CommandError> {
    if let Some(BenchCommand::Toolbox(toolbox)) = &args.command {
        return toolbox::run(toolbox.action.as_ref());
    }
    let budget = args.budget.as_deref().map(inputs::duration).transpose()?;
    let sessions = Sessions::new(Duration::ZERO)?;
    let mut progress = ProgressLine::new(Style::of(args.quiet), String::new());
    let executed = match &args.resume {
        Some(folder) => sessions.bench(&mut progress, |session| {
            stowplan_bench::resume(folder, budget, session)
        })?,
        None => {
            let request = request(args, budget)?;
            sessions.bench(&mut progress, |session| {
                stowplan_bench::begin(&request, &args.out, session)
            })?
        }
    };
    drop(progress);
    let shown = show(&executed, args);
    // Why runs failed says more than what could not be shown of them.
    measure::ended(&executed.outcome, &executed.dir)?;
    shown
}

fn request(args: &BenchArgs, budget: Option<Duration>) -> Result<Request, CommandError> {
    let places = places(args)?;
    let size = if args.quick { Size::QUICK } else { Size::FULL };
    let mut request = Request::new(inputs::places(&places)?, size);
    request.benchmarks.clone_from(&args.benchmark);
    if args.full && args.benchmark.is_empty() && toolbox::find()?.is_some() {
        let names = stowplan_bench::names().into_iter();
        request.benchmarks = names.map(str::to_owned).collect();
    }
    request.blocks = args.blocks.unwrap_or(request.blocks);
    request.seed = args.seed.unwrap_or(request.seed);
    request.budget_ns = budget.map(measure::nanos);
    request.command = std::env::args().collect();
    Ok(request)
}

/// Those that were named, else the controlled ones, and with `--full` every engine that works here.
fn places(args: &BenchArgs) -> Result<Vec<String>, CommandError> {
    let mut places = measure::or_default(&args.place, &engines::CONTROLLED);
    if args.full && args.place.is_empty() {
        for engine in doctor::available()? {
            let has = places
                .iter()
                .any(|one| one.split(':').next() == Some(&engine));
            if !has {
                places.push(engine);
            }
        }
    }
    Ok(places)
}

/// Keeps the verdicts, writes the report and prints the tables.
fn show(executed: &Executed, args: &BenchArgs) -> Result<(), CommandError> {
    let results = Results::open(&executed.dir).or_exit(ExitCode::RunFailed)?;
    let (judgement, _, page) = measure::judged(&results, |of| sections(&results, of))?;
    let table = full::read(&executed.dir, &judgement).or_exit(ExitCode::RunFailed)?;
    let text = if args.full {
        full::tables(&table)
    } else {
        shown::short(&table)
    };
    if !table.rows.is_empty() {
        tell!("{text}")?;
    }
    if let Some(files) = shown::files(&results.experiment, &table) {
        tell!("{files}")?;
    }
    if !table.ratios.is_empty() {
        tell!("{}", shown::ratios(&table))?;
        keep_ratios(&table, &executed.dir)?;
    }
    if args.published {
        tell!("{}", shown::published(&table))?;
    }
    tell!("report: {}", page.display())?;
    if let Some(end) = measure::budget_end(&executed.outcome, &results, &executed.dir) {
        tell!("{end}")?;
    }
    Ok(())
}

/// Keeps the ratios to the tools in the result folder.
fn keep_ratios(table: &BenchTable, dir: &Path) -> Result<(), CommandError> {
    let path = dir.join("ratios.json");
    let text = serde_json::to_string_pretty(&table.ratios).unwrap_or_default();
    std::fs::write(&path, text).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CommandError::new(ExitCode::RunFailed, message)
    })
}
