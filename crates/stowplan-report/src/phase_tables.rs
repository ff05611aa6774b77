//! Phases of timers that nobody set.

use stowplan_judge::{Judgement, TimerPhases};

use crate::format::value;
use crate::text_table::TextTable;

/// The timers on chains, where nobody set their phases; none where they were set.
pub(crate) fn shown(report: &Judgement) -> Vec<&TimerPhases> {
    let on_chain = |timer: &String| {
        let mut chains = report.figures.experiment.stack.chain_callbacks.values();
        chains.any(|callbacks| callbacks.contains(timer))
    };
    let all = report.figures.phases.iter();
    all.filter(|timer| report.figures.has_natural_phases() && on_chain(&timer.timer))
        .collect()
}

/// Their phases.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Timer phases",
        "First release after the window begins, in each block, as the start of the nodes happened to give it. Data waits for \
         the next release of a timer on its chain: other phases are another idle and another end-to-end latency.",
        &["Timer", "Deployment"],
        &["Period", "Phase by block"],
    );
    for timer in shown(report) {
        for (deployment, phases) in &timer.by {
            let phases: Vec<String> = phases.values().map(|phase| ms(*phase)).collect();
            table.rows.push(vec![
                timer.timer.clone(),
                report.figures.label(deployment).to_owned(),
                ms(timer.period_ns),
                phases.join(", "),
            ]);
        }
    }
    table
}

fn ms(ns: i64) -> String {
    value("ns", Some(ns as f64))
}
