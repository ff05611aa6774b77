//! The table of rankings under other values of assumed parameters.

use stowplan_results::Ranking;

use crate::format::share;
use crate::text_table::TextTable;
use stowplan_judge::Judgement;

/// One row per pair of neighbours; no rows where nothing was varied.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let varied = report.figures.experiment.sensitivity.as_ref();
    let varied = varied.map_or(0, |s| s.varied.len());
    let mut table = TextTable::new(
        "Sensitivity: does the ranking survive?",
        format!(
            "In each block {varied} assumed parameters had other values from their ranges, the same in all deployments. \
             A ranking that comes out the same in less than 90 % of the blocks, or of which there are less than 10, is undecided."
        ),
        &["Metric", "At"],
        &["Ranking, least first", "Survived", "Of blocks", "So"],
    );
    for ranking in &report.rankings {
        let name = match &ranking.subject {
            Some(subject) => format!("{}, {subject}", ranking.label),
            None => ranking.label.clone(),
        };
        let mut row = |order: String, survived: usize, decided| {
            table.rows.push(vec![
                name.clone(),
                ranking.place.clone(),
                order,
                share(survived as f64 / ranking.blocks as f64),
                ranking.blocks.to_string(),
                if decided { "decided" } else { "undecided" }.to_owned(),
            ]);
        };
        row(whole(report, ranking), ranking.survived, ranking.decided);
        for pair in ranking.pairs.iter().filter(|_| ranking.pairs.len() > 1) {
            let order = format!(
                "{} before {}",
                partition(report, &pair.first),
                partition(report, &pair.second)
            );
            row(order, pair.survived, pair.decided);
        }
    }
    table
}

fn whole(report: &Judgement, ranking: &Ranking) -> String {
    let names = ranking.order.iter().map(|id| partition(report, id));
    names.collect::<Vec<_>>().join(" < ")
}

fn partition<'a>(report: &'a Judgement, id: &'a str) -> &'a str {
    report
        .figures
        .experiment
        .deployment(id)
        .map_or(id, |d| &*d.partition)
}
