//! Engine and measure: each place of a partition as a percentage of plain processes in one group there, and of plain processes in groups like
//! its own (docs/measuring.md §2).

use serde::Serialize;
use stowplan_results::{Comparison, DeploymentRecord};

use crate::difference_tables::{difference_name, verdict};
use crate::format::{dash, value};
use crate::text_table::TextTable;
use stowplan_judge::Judgement;

/// Measures beside what was declared primary, in the order in which they stand.
const MEASURES: [&str; 4] = [
    "startup_first_output",
    "e2e_paper_mean",
    "cpu",
    "memory_peak",
];

/// The places at which one partition ran.
#[derive(Debug, Serialize)]
pub(crate) struct AtPartition<'a> {
    partition: &'a str,
    resources: Option<&'a str>,
    variant: Option<&'a str>,
    /// Id of its plain processes in one group; null where they did not run.
    flat: Option<&'a str>,
    /// Plain processes first.
    places: Vec<Place<'a>>,
    measures: Vec<Measure<'a>>,
}

#[derive(Debug, Serialize)]
struct Place<'a> {
    deployment: &'a str,
    place: &'a str,
    /// Id of the plain processes in groups that it is held against.
    control: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Measure<'a> {
    metric: &'a str,
    subject: Option<&'a str>,
    name: String,
    unit: &'a str,
    /// Mean of the plain processes in one group.
    flat_value: Option<f64>,
}

/// Every partition at which places can be held against plain processes.
pub(crate) fn all(report: &Judgement) -> Vec<AtPartition<'_>> {
    let mut ran = report.figures.deployments();
    ran.retain(|d| !report.figures.experiment.is_step(d));
    let mut groups: Vec<Vec<&DeploymentRecord>> = Vec::new();
    for d in ran {
        let same = |g: &&mut Vec<&DeploymentRecord>| {
            (&g[0].partition, g[0].factors()) == (&d.partition, d.factors())
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(d),
            None => groups.push(vec![d]),
        }
    }
    let all = groups.into_iter().map(|group| at_partition(report, group));
    all.filter(|at| !at.measures.is_empty()).collect()
}

impl AtPartition<'_> {
    /// The place of plain processes in one group, for people.
    fn flat_name(&self) -> &str {
        let flat = self.places.iter().find(|p| Some(p.deployment) == self.flat);
        flat.map_or("plain processes in one group", |p| p.place)
    }
}

fn at_partition<'a>(
    report: &'a Judgement,
    mut group: Vec<&'a DeploymentRecord>,
) -> AtPartition<'a> {
    group.sort_by_key(|d| (!d.is_flat(), !d.is_plain()));
    let at = |place: &str| group.iter().find(|d| d.place == place).map(|d| &*d.id);
    let flat = group.iter().find(|d| d.is_flat()).map(|d| &*d.id);
    let places: Vec<Place<'_>> = group
        .iter()
        .map(|d| Place {
            deployment: &d.id,
            place: &d.place,
            control: d.controls().iter().find_map(|place| at(place)),
        })
        .collect();
    AtPartition {
        partition: &group[0].partition,
        resources: group[0].resources.as_deref(),
        variant: group[0].variant.as_deref(),
        measures: measures(report, flat, &places),
        flat,
        places,
    }
}

/// What was compared at this partition.
fn measures<'a>(
    report: &'a Judgement,
    flat: Option<&str>,
    places: &[Place<'a>],
) -> Vec<Measure<'a>> {
    let is_shown = |c: &&Comparison| {
        let mut here = places.iter().filter(|p| c.candidate == p.deployment);
        let held = here.any(|p| [flat, p.control].contains(&Some(&*c.reference)));
        held && (c.primary || MEASURES.contains(&&*c.metric))
    };
    let mut measures: Vec<Measure<'_>> = Vec::new();
    for c in report.comparisons.iter().filter(is_shown) {
        let of_flat = (flat == Some(&*c.reference)).then_some(c.reference_value);
        let same =
            |m: &&mut Measure<'_>| (m.metric, m.subject) == (&*c.metric, c.subject.as_deref());
        match measures.iter_mut().find(same) {
            Some(known) => known.flat_value = known.flat_value.or(of_flat.flatten()),
            None => measures.push(Measure {
                metric: &c.metric,
                subject: c.subject.as_deref(),
                name: difference_name(c),
                unit: &c.unit,
                flat_value: of_flat.flatten(),
            }),
        }
    }
    let position = |m: &Measure<'_>| MEASURES.iter().position(|metric| *metric == m.metric);
    measures.sort_by_key(|m| position(m).unwrap_or(MEASURES.len()));
    measures
}

/// A table for each partition.
pub(crate) fn tables(report: &Judgement) -> Vec<TextTable> {
    let all = all(report);
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
