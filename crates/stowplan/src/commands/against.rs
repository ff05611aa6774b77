//! `--against RESULT`: holds a result against an earlier one, and says what got worse.

use stowplan_results::{Comparisons, Results};

use crate::cli::MeasureArgs;
use crate::failure::{CommandError, ExitCode, OrExit};

/// The earlier result, where one is asked for.
pub fn earlier(measure: &MeasureArgs) -> Result<Option<Results>, CommandError> {
    let opened = measure.against.as_ref().map(Results::open);
    opened.transpose().or_exit(ExitCode::BadInput)
}

/// Compares them and keeps the verdicts with the later one.
pub fn hold(earlier: &Results, later: &Results) -> Result<Comparisons, CommandError> {
    let verdicts = stowplan_report::across(earlier, later).or_exit(ExitCode::RunFailed)?;
    later.keep(&verdicts).or_exit(ExitCode::RunFailed)?;
    Ok(verdicts)
}

/// An error where something got worse.
pub fn judge(verdicts: &Comparisons) -> Result<(), CommandError> {
    let regressions = stowplan_report::regressions(verdicts);
    if regressions.is_empty() {
        return Ok(());
    }
    let earlier = verdicts.against.as_ref();
    let earlier = earlier.map_or("before", |earlier| &*earlier.result);
    let message = format!("worse than {earlier}: {}", regressions.join("; "));
    let error = CommandError::new(ExitCode::Regression, message);
    let slower = stowplan_report::slower_lines(&verdicts.slower);
    if slower.is_empty() {
        return Err(error);
    }
    Err(error.hint(slower.join("; ")))
}
