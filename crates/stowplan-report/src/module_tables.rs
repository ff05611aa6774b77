//! Usage by module, a column for each deployment.

use std::collections::BTreeSet;

use stowplan_judge::{DeploymentUsage, Judgement, is_at_one_partition, module};

use crate::format::{dash, share, value};
use crate::text_table::{TextTable, when};

/// Figures of a deployment by subject.
type Of = fn(&DeploymentUsage, &str) -> Option<f64>;

/// A table of CPU and one of memory, with a column for each deployment.
pub(crate) fn tables(report: &Judgement, whole: &dyn Fn(&str) -> bool) -> [TextTable; 2] {
    let cpu = "CPU time of the module's processes in CPUs (1 = one CPU busy all the time), mean over the runs";
    let memory = "Highest resident memory of the module's processes together, mean over the runs. Pages that processes share count in \
                  each of them, so that modules add up to more than the services have";
    [
        table(
            report,
            whole,
            "CPU per module",
            cpu,
            "cpus",
            |view, subject| view.cpus(subject),
        ),
        table(
            report,
            whole,
            "Resident memory per module",
            memory,
            "bytes",
            |view, subject| view.memory(subject),
        ),
    ]
}

fn table(
    report: &Judgement,
    whole: &dyn Fn(&str) -> bool,
    title: &str,
    note: &str,
    unit: &str,
    of: Of,
) -> TextTable {
    let shown = report
        .figures
        .usage
        .iter()
        .filter(|view| whole(&view.deployment));
    let views: Vec<&DeploymentUsage> = shown.collect();
    let flats: Vec<Option<&DeploymentUsage>> = views.iter().map(|v| flat(report, v)).collect();
    let compared = flats.iter().any(Option::is_some);
    let more = if compared {
        "; in brackets as a percentage of bare:flat at the same partition"
    } else {
        ""
    };
    let mut table = TextTable::new(
        format!("{title} {}", when(report)),
        format!(
            "{note}{more}. A process whose nodes are of several modules stands under all of their names."
        ),
        &["Module"],
        &[],
    );
    let labels = views
        .iter()
        .map(|v| report.figures.label(&v.deployment).to_owned());
    table.headers.extend(labels);
    for subject in subjects(report, &views) {
        let mut row = vec![module(&subject).unwrap_or_default().to_owned()];
        row.extend(views.iter().zip(&flats).map(|(view, flat)| {
            let Some(figure) = of(view, &subject) else {
                return dash();
            };
            let of_flat = flat
                .and_then(|flat| of(flat, &subject))
                .filter(|v| *v > 0.0);
            let percent = of_flat.map(|of_flat| format!(" ({})", share(figure / of_flat)));
            format!(
                "{}{}",
                value(unit, Some(figure)),
                percent.unwrap_or_default()
            )
        }));
        table.rows.push(row);
    }
    table
}

/// The `bare:flat` that a deployment is held against; `None` for `bare:flat` itself.
fn flat<'a>(report: &'a Judgement, view: &DeploymentUsage) -> Option<&'a DeploymentUsage> {
    let own = report.figures.experiment.deployment(&view.deployment)?;
    let mut others = report.figures.experiment.deployments.iter();
    let flat = others.find(|d| d.id != own.id && is_at_one_partition(d, own))?;
    let mut views = report.figures.usage.iter();
    views.find(|other| other.deployment == flat.id)
}

/// Modules in the order of the stack, then what is of several and what is of none.
fn subjects(report: &Judgement, views: &[&DeploymentUsage]) -> Vec<String> {
    let runs = views.iter().flat_map(|view| &view.runs);
    let all: BTreeSet<&String> = runs
        .flat_map(|run| run.cpus.keys().chain(run.memory.keys()))
        .filter(|subject| module(subject).is_some())
        .collect();
    let order = &report.figures.experiment.stack.modules;
    let rank = |subject: &str| {
        let name = module(subject).unwrap_or_default();
        let position = order.iter().position(|module| module == name);
        position.unwrap_or(order.len() + usize::from(name.starts_with('(')))
    };
    let mut all: Vec<String> = all.into_iter().cloned().collect();
    all.sort_by_key(|subject| rank(subject));
    all
}
