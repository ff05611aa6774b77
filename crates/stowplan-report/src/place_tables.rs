//! A table of each partition: its places in percent of plain processes.

use stowplan_judge::Judgement;
use stowplan_judge::places::{self, AtPartition, Place};
use stowplan_results::Comparison;

use crate::difference_tables::verdict;
use crate::format::{dash, value};
use crate::text_table::TextTable;

/// A table for each partition.
pub(crate) fn tables(report: &Judgement) -> Vec<TextTable> {
    let all = places::all(report);
    all.iter().map(|at| table(report, at)).collect()
}

fn table(report: &Judgement, at: &AtPartition<'_>) -> TextTable {
    let names = [Some(at.partition), at.resources, at.variant];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    let mut table = TextTable::new(
        format!("Places, partition {}", names.join(" · ")),
        format!(
            "Percent of {} at this partition, paired by block, with the 95 % interval; less is better. X of Y: percent of the \
             plain processes in control groups that X is held against. * primary metric, Holm-corrected, all else is \
             exploratory.",
            at.flat_name()
        ),
        &["Measure", "Place"],
        &["Percent", "Verdict"],
    );
    for measure in &at.measures {
        let found = |reference: Option<&str>, place: &Place<'_>| {
            report.comparisons.iter().find(|c| {
                (&*c.metric, c.subject.as_deref()) == (measure.metric, measure.subject)
                    && (Some(&*c.reference), &*c.candidate) == (reference, place.deployment)
            })
        };
        let mut push = |place: String, cells: [String; 2]| {
            let row = [measure.name.clone(), place].into_iter().chain(cells);
            table.rows.push(row.collect());
        };
        for place in &at.places {
            if Some(place.deployment) == at.flat {
                let base = value(measure.unit, measure.flat_value);
                push(place.place.to_owned(), [format!("100 % = {base}"), dash()]);
            } else if at.flat.is_some() {
                push(place.place.to_owned(), cells(found(at.flat, place)));
            }
            if let Some(control) = at
                .places
                .iter()
                .find(|p| Some(p.deployment) == place.control)
            {
                let name = format!("{} of {}", place.place, control.place);
                push(name, cells(found(place.control, place)));
            }
        }
    }
    table
}

/// Percentage with its interval, and the verdict.
fn cells(c: Option<&Comparison>) -> [String; 2] {
    let Some(c) = c else {
        return [dash(), dash()];
    };
    let star = if c.primary { " *" } else { "" };
    [
        percent(c).unwrap_or_else(dash),
        format!("{}{star}", verdict(c)),
    ]
}

/// The candidate as a percentage of its reference; nothing of a difference that is not relative.
fn percent(c: &Comparison) -> Option<String> {
    let of = |change: f64| format!("{:.1}", (1.0 + change) * 100.0);
    let value = of(c.difference.filter(|_| c.relative)?);
    Some(match (c.low, c.high) {
        (Some(low), Some(high)) => format!("{value} % [{}, {}]", of(low), of(high)),
        _ => format!("{value} %"),
    })
}

#[cfg(test)]
mod tests {
    use stowplan_results::Effect;
    use stowplan_stats::Verdict;

    use super::*;

    fn of(relative: bool, difference: Option<f64>, ends: Option<(f64, f64)>) -> Comparison {
        Comparison {
            metric: String::new(),
            label: String::new(),
            unit: "ns".to_owned(),
            subject: None,
            effect: Effect::Total,
            primary: true,
            reference: String::new(),
            candidate: String::new(),
            reference_value: None,
            candidate_value: None,
            relative,
            difference,
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
            delta: 0.02,
            bootstrap_low: None,
            bootstrap_high: None,
            p_sign_flip: None,
            p_t: None,
            blocks: 8,
            verdict: Verdict::Better,
            verdict_reason: String::new(),
            blocks_needed: None,
            difference_reason: None,
            unmarked: None,
        }
    }

    #[test]
    fn a_change_is_told_as_a_percentage_of_the_whole() {
        let told = |c| cells(Some(&c));
        let whole = of(true, Some(-0.018), Some((-0.03, -0.005)));
        assert_eq!(told(whole), ["98.2 % [97.0, 99.5]", "better *"]);
        let one_block = of(true, Some(0.5), None);
        assert_eq!(told(one_block)[0], "150.0 %");
        // A difference in the metric's unit is no share of anything.
        let absolute = of(false, Some(0.01), Some((0.0, 0.02)));
        assert_eq!(told(absolute)[0], "–");
        assert_eq!(cells(None), ["–", "–"]);
    }
}
