//! What to do with an answer.

use stowplan_stats::Verdict;

use super::{Question, questions};
use crate::format::{difference, percent};
use crate::judgement::Judgement;

pub(super) fn sentence(judgement: &Judgement, all: &[Question]) -> String {
    let Some(main) = all.first() else {
        return "Nothing is recommended: one deployment alone is compared with none.".to_owned();
    };
    let best = judgement.figures.label(&main.best);
    match main.verdict {
        Verdict::Better => format!("Use {best}.{}", costs(judgement, main, &all[1..])),
        Verdict::Worse => format!("Stay with {best}."),
        Verdict::Equivalent => {
            let seen = questions::comparisons(judgement, main);
            let worse = seen.filter(|c| c.verdict == Verdict::Worse).count();
            if worse > 0 {
                return "Choose among those that are equivalent.".to_owned();
            }
            let limit = percent(main.delta);
            format!("Choose freely: no difference above {limit} was seen.")
        }
        Verdict::Inconclusive => "Nothing is recommended yet.".to_owned(),
        Verdict::NoControl => {
            "Nothing is recommended yet: measure the control in the same experiment.".to_owned()
        }
        Verdict::LostInputsDiffer => {
            "Nothing is recommended: let the deployments consume the same inputs first, for example with a lower \
             --utilisation."
                .to_owned()
        }
    }
}

/// What the best deployment is worse at.
fn costs(judgement: &Judgement, main: &Question, others: &[Question]) -> String {
    let costs = others.iter().filter_map(|other| {
        let mut seen = questions::comparisons(judgement, other);
        let c = seen.find(|c| c.candidate == main.best && c.verdict == Verdict::Worse)?;
        let change = difference(c.relative, &c.unit, c.difference);
        Some(format!("{} {change}", lower_first(&other.question)))
    });
    let costs: Vec<String> = costs.collect();
    match costs.is_empty() {
        true => String::new(),
        false => format!(" It costs: {}.", costs.join(", ")),
    }
}

/// `Start-up` within a sentence; an abbreviation stays.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    match (first, letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}
