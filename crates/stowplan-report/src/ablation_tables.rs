//! The tables of an ablation.

use stowplan_results::{Ablation, Comparison, DeploymentRecord};

use crate::difference_tables::{APART, difference_name, outcome};
use crate::format::{dash, value};
use crate::text_table::TextTable;
use stowplan_judge::Judgement;
use stowplan_judge::isolation;

/// What is attributed, and what the processes said of themselves; no rows where there was no ablation.
pub(crate) fn tables(report: &Judgement) -> [TextTable; 2] {
    [attributed(report), read_back(report)]
}

fn attributed(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Ablation: what each addition does",
        "Each row adds one thing to all above it. Values are geometric means over the blocks in which every row \
         finished; the ratios of the steps multiply to the whole. Paired by block, with the 95 % interval; * primary \
         metric, Holm-corrected over the steps of all chains; others over their own. Neighbouring steps share a deployment: what is too much \
         in one is too little in the next.",
        &["Metric", "Added"],
        &["Value", "Difference", "95 % interval", "n", "Verdict"],
    );
    for ablation in report.ablations.iter().filter(|a| printed(a)) {
        table.rows.extend(rows(report, ablation));
    }
    table
}

fn printed(ablation: &Ablation) -> bool {
    let primary = ablation.steps.iter().any(|s| s.comparison.primary);
    primary || APART.contains(&&*ablation.whole.metric) || ablation.whole.metric == "cpu"
}

fn rows(report: &Judgement, ablation: &Ablation) -> Vec<Vec<String>> {
    let whole = &ablation.whole;
    let primary = ablation.steps.iter().any(|s| s.comparison.primary);
    let star = if primary { " *" } else { "" };
    let name = format!("{}{star}", difference_name(whole));
    let after = |c: &Comparison| value(&c.unit, c.candidate_value);
    let mut first = vec![
        name.clone(),
        report.figures.label(&whole.reference).to_owned(),
    ];
    first.push(value(&whole.unit, whole.reference_value));
    first.extend([dash(), dash(), whole.blocks.to_string(), String::new()]);
    let mut rows = vec![first];
    for step in &ablation.steps {
        let mut row = vec![name.clone(), format!("+ {}", step.label)];
        row.push(after(&step.comparison));
        row.extend(outcome(&step.comparison));
        rows.push(row);
    }
    let mut all = vec![
        name,
        format!("= {}, whole", report.figures.label(&whole.candidate)),
    ];
    all.push(after(whole));
    all.extend(outcome(whole));
    rows.push(all);
    rows
}

fn read_back(report: &Judgement) -> TextTable {
    let ladder = report.figures.experiment.ablation.iter();
    let ran: Vec<&DeploymentRecord> = ladder
        .filter_map(|step| report.figures.experiment.deployment(&step.deployment))
        .filter(|d| !d.fingerprint.is_empty())
        .collect();
    let mut table = TextTable::new(
        "Isolation, read back",
        "What the processes of each deployment said of themselves after their start, held against plain processes; \
         – cannot be told.",
        &["Deployment"],
        &[],
    );
    let Some((plain, _)) = ran.split_first() else {
        return table;
    };
    let found: Vec<_> = ran.iter().map(|d| isolation::found(plain, d)).collect();
    let ever = |feature: &&String| found.iter().any(|f| f.get(*feature) == Some(&true));
    let mut features: Vec<&String> = found.iter().flat_map(|f| f.keys()).collect();
    features.sort();
    features.dedup();
    let features: Vec<&String> = features.into_iter().filter(ever).collect();
    let heads = features.iter().map(|f| f.replace('_', " "));
    table.headers.extend(heads);
    for (deployment, found) in ran.iter().zip(&found) {
        let mut row = vec![deployment.label.clone()];
        row.extend(features.iter().map(|feature| match found.get(*feature) {
            Some(true) => "on".to_owned(),
            Some(false) => String::new(),
            None => dash(),
        }));
        table.rows.push(row);
    }
    table
}
