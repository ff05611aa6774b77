//! `--against RESULT`: holds a result against an earlier one, which is measured again or taken as it was measured, and says
//! what got worse.

use std::path::Path;

use stowplan_results::{Comparisons, Results};
use stowplan_run::Earlier;

use crate::cli::MeasureArgs;
use crate::execute::failed;
use crate::failure::{CommandError, ExitCode, OrExit};

/// What a result is held against, if anything.
#[derive(Default)]
pub struct Against {
    /// A result as it was measured.
    pub as_measured: Option<Results>,
    /// An experiment that is measured again beside the new one.
    pub again: Option<Earlier>,
}

impl Against {
    /// What a new experiment is to be held against.
    pub fn of_new(measure: &MeasureArgs) -> Result<Self, CommandError> {
        let (as_measured, again) = asked(measure)?;
        let Some(earlier) = again else {
            return Ok(Self {
                as_measured,
                again: None,
            });
        };
        let again = Earlier::read(&earlier).map_err(|error| {
            failed(&error).hint("--as-measured needs nothing but the figures of the earlier result")
        })?;
        Ok(Self {
            as_measured: None,
            again: Some(again),
        })
    }

    /// What a result is to be held against that is gone on with: what it began with, or an earlier one as it was measured.
    pub fn of_resumed(folder: &Path, measure: &MeasureArgs) -> Result<Self, CommandError> {
        let (as_measured, again) = asked(measure)?;
        let Some(earlier) = again else {
            return Ok(Self {
                as_measured,
                again: None,
            });
        };
        let resumed = Results::open(folder).or_exit(ExitCode::BadInput)?;
        let began_with = resumed.experiment.against;
        let asked = Earlier::read(&earlier).map_err(|error| failed(&error))?;
        if began_with.as_ref() == Some(&asked.of) {
            return Ok(Self::default());
        }
        let message = format!(
            "{} was begun without measuring {} again",
            folder.display(),
            asked.of.result
        );
        Err(CommandError::new(ExitCode::BadInput, message)
            .hint("--as-measured holds it against what that result measured itself"))
    }
}

/// The result that is taken as it was measured, or the one that is to be measured again.
fn asked(measure: &MeasureArgs) -> Result<(Option<Results>, Option<Results>), CommandError> {
    let opened = measure.against.as_ref().map(Results::open);
    let earlier = opened.transpose().or_exit(ExitCode::BadInput)?;
    Ok(if measure.as_measured {
        (earlier, None)
    } else {
        (None, earlier)
    })
}

/// Compares a result with the one that it is held against, if there is one, and keeps the verdicts with it.
pub fn hold(
    as_measured: Option<&Results>,
    result: &Results,
) -> Result<Option<Comparisons>, CommandError> {
    let verdicts = match as_measured {
        Some(earlier) => Some(stowplan_judge::across(earlier, result)),
        None => stowplan_judge::again(result).transpose(),
    };
    let verdicts = verdicts.transpose().or_exit(ExitCode::RunFailed)?;
    let verdicts = verdicts.map(|verdicts| verdicts.with_skipped(&result.experiment));
    if let Some(verdicts) = &verdicts {
        result.keep(verdicts).or_exit(ExitCode::RunFailed)?;
    }
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
