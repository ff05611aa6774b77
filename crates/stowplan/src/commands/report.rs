//! `stowplan report`: views of a saved result.

use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_judge::Judgement;
use stowplan_results::Results;

use crate::calibration;
use crate::cli::{ReportArgs, ReportForm};
use crate::commands::{bench, lifecycle};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{tell, tell_on};
use crate::table;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<(), CommandError> {
    let opened = Results::open(&args.result).or_exit(ExitCode::BadInput);
    let results = opened.map_err(|error| match TraceFolder::open(&args.result) {
        Ok(_) => error.hint("this is a trace: `stowplan trace report DIR -o FILE` writes its page"),
        Err(_) => error,
    })?;
    calibration::beside(&results);
    let judgement = Judgement::read(&results).or_exit(ExitCode::RunFailed)?;
    match args.form {
        ReportForm::Html => {
            let path = args
                .output
                .clone()
                .unwrap_or_else(|| args.result.join("report.html"));
            let sections = match &*results.experiment.suite {
                stowplan_bench::SUITE => bench::sections(&results, &judgement),
                _ => lifecycle::sections(&results, &judgement),
            };
            let sections = sections.or_exit(ExitCode::RunFailed)?;
            let written = stowplan_report::write_html_with(&judgement, &sections, &path);
            written.or_exit(ExitCode::RunFailed)?;
            tell!("{}", path.display())
        }
        ReportForm::Conclusion => {
            let page = format!("result: {}", args.result.display());
            let text = stowplan_report::conclusion(&judgement, &page, table::screen());
            put(&text, args.output.as_deref())
        }
        ReportForm::Text => {
            let text = stowplan_report::terminal(&judgement, table::width().into());
            put(&text, args.output.as_deref())
        }
        ReportForm::Markdown => put(
            &stowplan_report::markdown(&judgement),
            args.output.as_deref(),
        ),
    }
}

/// Into a file, where one is named, else to standard output.
fn put(text: &str, file: Option<&Path>) -> Result<(), CommandError> {
    let Some(file) = file else {
        return tell_on!("{text}");
    };
    std::fs::write(file, text).map_err(|error| {
        let message = format!("cannot write {}: {error}", file.display());
        CommandError::new(ExitCode::RunFailed, message)
    })?;
    tell!("{}", file.display())
}
