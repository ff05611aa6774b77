//! In which settings deployments differ from those that they are compared with: the difference list beside a comparison
//! (docs/measuring.md §3).

use stowplan_results::{DeploymentRecord, Effect};

use crate::text_table::TextTable;
use stowplan_judge::Judgement;
use stowplan_judge::effect;
use stowplan_judge::equality::{self, is_of_a_start};

/// Settings that a terminal shows of one pair.
const SHOWN: usize = 6;

/// Settings of a deployment that differ from those of the reference and, for a container, of the plain processes in control
/// groups: that one's label, name, its value, own value.
pub(crate) fn differences(report: &Judgement, own: &DeploymentRecord) -> Vec<[String; 4]> {
    let all = &report.figures.experiment.deployments;
    let reference = report.figures.experiment.reference_id();
    let is_held = |d: &&DeploymentRecord| {
        Some(&*d.id) == reference || effect(d, own) == Effect::Isolation && d.refused.is_none()
    };
    let against = all.iter().filter(|d| d.id != own.id).filter(is_held);
    let of_one = |d: &DeploymentRecord| {
        let label = report.figures.label(&d.id).to_owned();
        let found = equality::differences(&d.fingerprint, &own.fingerprint);
        found
            .into_iter()
            .map(move |[name, there, here]| [label.clone(), name, there, here])
    };
    against.flat_map(of_one).collect()
}

/// A table for each deployment, with every setting.
pub(crate) fn whole(report: &Judgement) -> Vec<TextTable> {
    let all = report.figures.deployments().into_iter();
    let tables = all.map(|own| {
        let mut table = TextTable::new(
            format!("Settings of {} that differ", report.figures.label(&own.id)),
            "As read back from the processes: there in the deployment that it is compared with, here in its own.",
            &["Against", "Setting", "There", "Here"],
            &[],
        );
        let rows = differences(report, own).into_iter();
        table.rows = rows.map(Vec::from).collect();
        table
    });
    tables.collect()
}

/// All deployments in one table, a row for each that one is compared with: of many settings the first, what each start has
/// anew last.
pub(crate) fn short(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Settings that differ",
        "Setting: its value there → here, as read back from the processes. Markdown and the page have all.",
        &["Deployment", "Against"],
        &["Settings"],
    );
    let mut ran = report.figures.deployments();
    ran.retain(|d| !report.figures.experiment.is_step(d));
    for own in ran {
        let mut rows = differences(report, own);
        rows.sort_by_key(|[_, name, ..]| is_of_a_start(name));
        let mut against: Vec<&String> = rows.iter().map(|[label, ..]| label).collect();
        against.sort();
        against.dedup();
        for label in against {
            let of = rows.iter().filter(|row| row[0] == *label);
            let shown = of.clone().take(SHOWN);
            let mut texts: Vec<String> = shown
                .map(|[_, name, there, here]| format!("{name}: {there} → {here}"))
                .collect();
            let more = of.count().saturating_sub(SHOWN);
            if more > 0 {
                texts.push(format!("and {more} more"));
            }
            let pair = [report.figures.label(&own.id), label].map(str::to_owned);
            table
                .rows
                .push(pair.into_iter().chain([texts.join("; ")]).collect());
        }
    }
    table
}
