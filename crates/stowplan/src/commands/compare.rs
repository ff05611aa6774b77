//! `stowplan compare`: two deployments of one result, or two results.

use std::path::Path;

use stowplan_results::{BEFORE, Comparison, Comparisons, Results};
use stowplan_stats::Verdict;

use crate::cli::CompareArgs;
use crate::documents;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// One side: a result folder and perhaps one of its deployments.
struct Side {
    results: Results,
    deployment: Option<String>,
}

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<(), CommandError> {
    let (a, b) = (side(&args.a)?, side(&args.b)?);
    let document = match (&a.deployment, &b.deployment) {
        (Some(reference), Some(candidate)) if a.results.dir() == b.results.dir() => {
            stowplan_judge::pair(&a.results, reference, candidate).or_exit(ExitCode::BadInput)?
        }
        (None, None) => whole(&a.results, &b.results)?,
        _ => {
            let message = "deployments of two results have no blocks in common";
            return Err(CommandError::new(ExitCode::Usage, message)
                .hint("compare RESULT:DEPLOYMENT with RESULT:DEPLOYMENT of one result, or two whole results"));
        }
    };
    if args.json {
        return documents::print(&document);
    }
    let rows = shown(&document.comparisons, args.full);
    tell!("{}\n", answer(&document.comparisons))?;
    if !rows.is_empty() {
        tell!("{}", text(&rows))?;
    }
    let hidden = document.comparisons.len() - rows.len();
    if hidden > 0 {
        tell!("{hidden} more comparisons: --full prints them")?;
    }
    let slower = stowplan_report::slower_lines(&document.slower);
    if slower.is_empty() {
        return Ok(());
    }
    tell!("\nWhat got slower\n- {}", slower.join("\n- "))
}

/// Comparisons that are printed without `--full`, at most.
const ROWS: usize = 24;

/// What answers the question, then what differs; with `full` everything.
fn shown(all: &[Comparison], full: bool) -> Vec<&Comparison> {
    let differs = |c: &&Comparison| matches!(c.verdict, Verdict::Better | Verdict::Worse);
    let mut rows: Vec<&Comparison> = all
        .iter()
        .filter(|c| full || c.primary || differs(c))
        .collect();
    if !full {
        rows.sort_by_key(|c| !c.primary);
        rows.truncate(ROWS);
    }
    rows
}

/// The verdicts on what answers the question, counted.
fn answer(all: &[Comparison]) -> String {
    let primary: Vec<&Comparison> = all.iter().filter(|c| c.primary).collect();
    let (what, of): (&str, Vec<&Comparison>) = match primary.is_empty() {
        true => ("comparisons", all.iter().collect()),
        false => ("primary comparisons", primary),
    };
    if let [only] = &of[..] {
        let subject = only.subject.as_deref().unwrap_or_default();
        return format!(
            "{} {subject}: {} {} ({}).",
            only.label,
            signed(only, only.difference),
            only.verdict,
            only.verdict_reason
        );
    }
    let counts = stowplan_judge::verdict_counts(of.iter().copied());
    format!("{} {what}: {counts}.", of.len())
}

fn signed(c: &Comparison, value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if c.relative => format!("{:+.1} %", v * 100.0),
        Some(v) => format!("{v:+.0} {}", c.unit),
    }
}

/// Two results, of which the first may be what was measured again beside the second.
fn whole(earlier: &Results, later: &Results) -> Result<Comparisons, CommandError> {
    let is_beside = later
        .dir()
        .join(BEFORE)
        .canonicalize()
        .is_ok_and(|before| earlier.dir().canonicalize().is_ok_and(|dir| dir == before));
    let beside = if is_beside {
        stowplan_judge::again(later).or_exit(ExitCode::BadInput)?
    } else {
        None
    };
    let found = beside.map_or_else(|| stowplan_judge::across(earlier, later), Ok);
    let found = found.or_exit(ExitCode::BadInput)?;
    Ok(found.with_skipped(&later.experiment))
}

/// A folder, or `FOLDER:DEPLOYMENT` where the whole is no folder.
fn side(text: &str) -> Result<Side, CommandError> {
    let (folder, deployment) = match text.rsplit_once(':') {
        Some((folder, deployment)) if !Path::new(text).is_dir() => (folder, Some(deployment)),
        _ => (text, None),
    };
    let results = Results::open(folder).or_exit(ExitCode::BadInput)?;
    let deployments = &results.experiment.deployments;
    let id = match deployment {
        None => None,
        Some(name) => {
            let known = || {
                deployments
                    .iter()
                    .map(|d| d.id.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let found = deployments.iter().find(|d| d.id == name || d.label == name);
            let found = found.ok_or_else(|| {
                CommandError::new(
                    ExitCode::BadInput,
                    format!("{folder} has no deployment '{name}'"),
                )
                .hint(format!("its deployments are: {}", known()))
            })?;
            Some(found.id.clone())
        }
    };
    Ok(Side {
        deployment: id,
        results,
    })
}

fn text(comparisons: &[&Comparison]) -> comfy_table::Table {
    let mut table = table::new([
        "metric",
        "of",
        "reference",
        "candidate",
        "difference",
        "95 % interval",
        "verdict",
    ]);
    for c in comparisons {
        let value = |v: Option<f64>| signed(c, v);
        table.add_row([
            c.label.clone(),
            c.subject.clone().unwrap_or_default(),
            c.reference.clone(),
            c.candidate.clone(),
            value(c.difference),
            format!("{} … {}", value(c.low), value(c.high)),
            c.verdict.to_string(),
        ]);
    }
    table
}
