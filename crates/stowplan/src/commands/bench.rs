//! `bench`: benchmarks at several places, and their table.

mod shown;

use std::time::Duration;

use stowplan_bench::{BenchTable, Executed, Request, Size};
use stowplan_results::Results;

use crate::cli::BenchArgs;
use crate::commands::measure;
use crate::engines;
use crate::execute::Sessions;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::tell;
use crate::progress::{ProgressLine, Style};

/// `stowplan bench`.
pub fn run(args: &BenchArgs) -> Result<(), CommandError> {
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
    let places = measure::or_default(&args.place, &engines::CONTROLLED);
    let size = if args.quick { Size::QUICK } else { Size::FULL };
    let mut request = Request::new(inputs::places(&places)?, size);
    request.benchmarks.clone_from(&args.benchmark);
    request.blocks = args.blocks.unwrap_or(request.blocks);
    request.seed = args.seed.unwrap_or(request.seed);
    request.budget_ns = budget.map(measure::nanos);
    request.command = std::env::args().collect();
    Ok(request)
}

/// Keeps the verdicts, writes the report and prints the tables.
fn show(executed: &Executed, args: &BenchArgs) -> Result<(), CommandError> {
    let results = Results::open(&executed.dir).or_exit(ExitCode::RunFailed)?;
    let (judgement, _, page) = measure::judged(&results, |_| Ok(Vec::new()))?;
    let table = BenchTable::read(&judgement, &executed.dir).or_exit(ExitCode::RunFailed)?;
    let text = if args.full {
        shown::full(&table)
    } else {
        shown::short(&table)
    };
    tell!("{text}")?;
    if args.published {
        tell!("{}", shown::published(&table))?;
    }
    tell!("report: {}", page.display())?;
    if let Some(end) = measure::budget_end(&executed.outcome, &results, &executed.dir) {
        tell!("{end}")?;
    }
    Ok(())
}
