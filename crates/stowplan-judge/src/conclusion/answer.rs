//! The answer to the question of an experiment, in one sentence.

use stowplan_results::Comparison;
use stowplan_stats::Verdict;

use super::{Asked, Question, questions};
use crate::format::{difference, percent, value};
use crate::judgement::Judgement;

/// `main` is the question of the experiment; there is none where nothing is compared.
pub(super) fn sentence(
    judgement: &Judgement,
    main: Option<&Question>,
    asked: &[Asked<'_>],
) -> String {
    match main {
        Some(main) => compared(judgement, main),
        None => alone(judgement, asked),
    }
}

/// A difference with its 95 % interval, as `−41.0 % [−49.4, −29.9]`.
pub(super) fn change(relative: bool, unit: &str, c: [Option<f64>; 3]) -> String {
    let [estimate, low, high] = c;
    let shown = difference(relative, unit, estimate);
    let text = match (low, high) {
        (Some(low), Some(high)) if relative || unit == "share" => {
            format!("{shown} [{:+.1}, {:+.1}]", low * 100.0, high * 100.0)
        }
        (Some(low), Some(high)) => {
            let end = |v| difference(relative, unit, Some(v));
            format!("{shown} [{}, {}]", end(low), end(high))
        }
        _ => shown,
    };
    // The sign of a number, not a hyphen.
    text.replace('-', "−")
}

/// The same of a comparison.
pub(super) fn change_of(c: &Comparison) -> String {
    change(c.relative, &c.unit, [c.difference, c.low, c.high])
}

fn change_in(q: &Question) -> String {
    change(q.relative, &q.unit, [q.difference, q.low, q.high])
}

fn compared(judgement: &Judgement, q: &Question) -> String {
    let label = |id: &str| judgement.figures.label(id).to_owned();
    let (candidate, reference, noun) = (label(&q.candidate), label(&q.reference), &q.noun);
    let change = change_in(q);
    match q.verdict {
        Verdict::Better => {
            let end = if q.higher_is_better {
                "highest"
            } else {
                "lowest"
            };
            let best = value(&q.unit, q.best_value);
            format!("{candidate} has the {end} {noun}: {best}, {change} against {reference}.")
        }
        Verdict::Equivalent | Verdict::Worse => none_is_better(judgement, q, &reference),
        Verdict::Inconclusive => match questions::comparisons(judgement, q).map(|c| c.blocks).max()
        {
            Some(1) => format!(
                "One block decides nothing: {candidate} is at {change} against {reference} in {noun}."
            ),
            blocks => format!(
                "{} blocks do not decide the {noun}: {candidate} is at {change} against {reference}.",
                blocks.unwrap_or(0)
            ),
        },
        Verdict::NoControl => format!(
            "{candidate} is at {change} against {reference} in {noun}, but its control is missing: {}.",
            q.verdict_reason
        ),
        Verdict::LostInputsDiffer => format!(
            "{candidate} and {reference} cannot be compared in {noun}, because they lost different inputs: {}.",
            q.verdict_reason
        ),
    }
}

/// All are decided, and none is better than the reference.
fn none_is_better(judgement: &Judgement, q: &Question, reference: &str) -> String {
    let all: Vec<&Comparison> = questions::comparisons(judgement, q).collect();
    let count = |verdict| all.iter().filter(|c| c.verdict == verdict).count();
    let (equal, worse) = (count(Verdict::Equivalent), count(Verdict::Worse));
    let noun = &q.noun;
    let limit = match q.relative || q.unit == "share" {
        true => percent(q.delta),
        false => value(&q.unit, Some(q.delta)),
    };
    if worse == 0 {
        return format!("No deployment differs from {reference} by more than {limit} in {noun}.");
    }
    let best = value(&q.unit, q.best_value);
    let rest = match (equal, &all[..]) {
        (0, [only]) => format!(
            "{} is at {}",
            judgement.figures.label(&only.candidate),
            change_of(only)
        ),
        (0, _) => format!(
            "all {worse} others are worse, the nearest by {}",
            change_in(q)
        ),
        _ => format!("{equal} are equivalent within {limit}, {worse} worse"),
    };
    format!("No deployment is better than {reference} in {noun} ({best}): {rest}.")
}

/// Nothing is compared: what was measured of the first question.
fn alone(judgement: &Judgement, asked: &[Asked<'_>]) -> String {
    let ran = judgement.figures.deployments();
    let Some(first) = ran.first() else {
        return "Nothing was measured: no run has finished.".to_owned();
    };
    let label = judgement.figures.label(&first.id);
    let measured = asked.iter().find_map(|asked| {
        let mean = asked.metric.mean(&first.id)?;
        let blocks = asked.metric.values.get(&first.id).map_or(0, |b| b.len());
        let over = if blocks == 1 {
            "one block"
        } else {
            "the blocks"
        };
        let shown = value(&asked.metric.unit, Some(mean));
        Some(format!("{label}: {} is {shown} over {over}.", asked.noun))
    });
    measured.unwrap_or_else(|| format!("{label} ran, and no figure of it is known."))
}
