//! `stowplan report`: views of a saved result.

use stowplan_results::Results;

use super::measure::terminal_width;
use crate::cli::{ReportArgs, ReportForm};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{tell, tell_on};

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<(), CommandError> {
    let results = Results::open(&args.result).or_exit(ExitCode::BadInput)?;
    match args.form {
        ReportForm::Html => {
            let path = args
                .output
                .clone()
                .unwrap_or_else(|| args.result.join("report.html"));
            stowplan_report::write_html(&results, &path).or_exit(ExitCode::RunFailed)?;
            tell!("{}", path.display())
        }
        ReportForm::Text => {
            tell_on!(
                "{}",
                stowplan_report::terminal(&results, terminal_width())
                    .or_exit(ExitCode::RunFailed)?
            )
        }
        ReportForm::Markdown => tell_on!(
            "{}",
            stowplan_report::markdown(&results).or_exit(ExitCode::RunFailed)?
        ),
    }
}
