//! Usage by module, a column for each deployment.

use std::collections::BTreeSet;

use stowplan_judge::{DeploymentUsage, Judgement, UsageSpread, is_at_one_partition, module};
use stowplan_results::REPLAY;

use crate::format::{dash, share, value};
use crate::text_table::{TextTable, when};

/// Figures of a deployment by subject.
type Of = fn(&DeploymentUsage, &str) -> Option<f64>;

/// A table of CPU and one of memory with a column for each deployment, and one of how both varied.
pub(crate) fn tables(report: &Judgement, whole: &dyn Fn(&str) -> bool) -> [TextTable; 3] {
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
        over_time(report, whole),
    ]
}

/// Mean, standard deviation and maximum over the window of each module's CPU and memory, a row for each deployment; no rows
/// where no bag was replayed, whose experiments alone are asked for it.
fn over_time(report: &Judgement, whole: &dyn Fn(&str) -> bool) -> TextTable {
    let mut table = TextTable::new(
        format!("Modules over time {}", when(report)),
        "Mean, standard deviation and maximum over the samples of a run, of CPUs from one sample to the next and of resident memory; \
         each is a mean over the runs",
        &["Module", "Deployment"],
        &[
            "CPU",
            "CPU std",
            "CPU max",
            "Memory",
            "Memory std",
            "Memory max",
        ],
    );
    let all = report.figures.usage.iter();
    let views: Vec<&DeploymentUsage> = all.filter(|view| whole(&view.deployment)).collect();
    if !report.figures.experiment.parameters.contains_key(REPLAY) {
        return table;
    }
    for subject in subjects(report, &views) {
        for view in &views {
            let cells = |unit: &str, spread: Option<UsageSpread>| {
                let of = |figure: Option<f64>| figure.map_or_else(dash, |f| value(unit, Some(f)));
                let spread = spread.as_ref();
                let std = spread.and_then(|s| s.std);
                [spread.map(|s| s.mean), std, spread.map(|s| s.max)].map(of)
            };
            let (cpu, memory) = (view.cpu_spread(&subject), view.memory_spread(&subject));
            if cpu.is_none() && memory.is_none() {
                continue;
            }
            let name = module(&subject).unwrap_or_default().to_owned();
            let mut row = vec![name, report.figures.label(&view.deployment).to_owned()];
            row.extend(cells("cpus", cpu));
            row.extend(cells("bytes", memory));
            table.rows.push(row);
        }
    }
    table
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
