//! How a command that measures ends: verdicts, report, conclusion, exit code.

use std::path::{Path, PathBuf};

use stowplan_judge::Judgement;
use stowplan_report::Section;
use stowplan_results::{Comparisons, Results, ResultsError};
use stowplan_suite::{End, Outcome};

use crate::calibration;
use crate::cli::MeasureArgs;
use crate::commands::against;
use crate::commands::require::Requirements;
use crate::documents;
use crate::execute;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{tell, tell_on};
use crate::table;

/// Tables, report, and how the command ends.
pub(super) fn finish(
    executed: &execute::Executed,
    measure: &MeasureArgs,
    as_measured: Option<&Results>,
    requirements: &Requirements,
) -> Result<(), CommandError> {
    let shown = show(executed, measure, as_measured);
    // Why runs failed says more than what could not be shown of them.
    ended(&executed.outcome, &executed.dir)?;
    let (judgement, verdicts) = shown?;
    requirements.check(&judgement)?;
    if verdicts.against.is_some() {
        against::judge(&verdicts)?;
    }
    let mut comparisons = verdicts.comparisons.iter();
    let decided = comparisons.any(|c| c.primary && c.verdict.is_decided());
    if measure.require_verdict && !decided {
        let message = "no primary comparison has a verdict";
        return Err(
            CommandError::new(ExitCode::Inconclusive, message).hint(format!(
                "measure more blocks: the comparison table says how many; go on with --resume {}",
                executed.dir.display()
            )),
        );
    }
    Ok(())
}

/// Writes verdicts and report, and prints the tables or the verdicts. Gives those on the earlier result where there is
/// one, else those on the deployments.
fn show(
    executed: &execute::Executed,
    measure: &MeasureArgs,
    as_measured: Option<&Results>,
) -> Result<(Judgement, Comparisons), CommandError> {
    let results = Results::open(&executed.dir).or_exit(ExitCode::RunFailed)?;
    calibration::beside(&results);
    // Before the report, which shows it.
    let held = against::hold(as_measured, &results)?;
    let (judgement, own, page) = judged(&results, |_| Ok(Vec::new()))?;
    let verdicts = held.unwrap_or(own);
    if measure.json {
        documents::print(&verdicts)?;
    } else {
        let end = end_of_report(executed, &results, &verdicts, &page);
        concluded(&judgement, &end, measure.full)?;
    }
    Ok((judgement, verdicts))
}

/// Judges a result, keeps the verdicts with it and writes its report, with what a suite adds to it. Gives the file of that, too.
pub fn judged(
    results: &Results,
    sections: impl FnOnce(&Judgement) -> Result<Vec<Section>, ResultsError>,
) -> Result<(Judgement, Comparisons, PathBuf), CommandError> {
    let judgement = Judgement::read(results).or_exit(ExitCode::RunFailed)?;
    let verdicts = judgement.verdicts();
    results.keep(&verdicts).or_exit(ExitCode::RunFailed)?;
    let page = results.dir().join("report.html");
    let sections = sections(&judgement).or_exit(ExitCode::RunFailed)?;
    let written = stowplan_report::write_html_with(&judgement, &sections, &page);
    written.or_exit(ExitCode::RunFailed)?;
    Ok((judgement, verdicts, page))
}

/// The conclusion at the end of standard output, with `full` after every table.
fn concluded(judgement: &Judgement, end: &str, full: bool) -> Result<(), CommandError> {
    if full {
        let tables = stowplan_report::terminal(judgement, table::width().into());
        tell!("{tables}")?;
    }
    tell_on!(
        "{}",
        stowplan_report::conclusion(judgement, end, table::screen())
    )
}

/// What was not measured and how to go on, and where the report is.
fn end_of_report(
    executed: &execute::Executed,
    results: &Results,
    verdicts: &Comparisons,
    page: &Path,
) -> String {
    let mut lines = vec![format!("report: {}", page.display())];
    lines.extend(budget_end(&executed.outcome, results, &executed.dir));
    let skipped = verdicts.skipped.iter();
    lines.extend(skipped.map(|skipped| format!("skipped: {}: {}", skipped.label, skipped.reason)));
    lines.join("\n")
}

/// What the budget left to be measured, and how to go on.
pub fn budget_end(outcome: &Outcome, results: &Results, dir: &Path) -> Option<String> {
    (outcome.end == End::Budget).then(|| {
        format!(
            "the budget ended the experiment after {} of {} blocks; go on with --resume {} --budget DURATION",
            outcome.complete_blocks,
            results.experiment.blocks_planned,
            dir.display()
        )
    })
}

/// The error of an experiment that did not come to its end, or of which a run failed.
pub fn ended(outcome: &Outcome, dir: &Path) -> Result<(), CommandError> {
    let resume = format!(
        "finished runs are kept; go on with --resume {}",
        dir.display()
    );
    match &outcome.end {
        End::Stopped => Err(CommandError::new(ExitCode::Interrupted, "interrupted").hint(resume)),
        End::Failed(failure) => {
            let hint = failure
                .hint
                .as_ref()
                .map_or_else(|| resume.clone(), |hint| format!("{hint}; {resume}"));
            Err(CommandError::new(ExitCode::RunFailed, failure.message.clone()).hint(hint))
        }
        End::Finished | End::Budget => match outcome.failures.first() {
            None => Ok(()),
            Some((_, failure)) => {
                let message = format!(
                    "{} of the runs failed, the first: {}",
                    outcome.failures.len(),
                    failure.message
                );
                Err(CommandError::new(ExitCode::RunFailed, message).hint(resume))
            }
        },
    }
}
