//! Usage by module: what the processes of each used together.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_results::{ProcessKind, ProcessRow, Results};

use crate::compare::is_at_one_partition;
use crate::error::ReportError;
use crate::format::{dash, share, value};
use crate::report::{Counted, Report};
use crate::tables::TextTable;
use crate::usage::{DeploymentUsage, Track, Tracks};

/// What the name of a module has before it as a subject. Names of modules and services have no colon.
const MODULE: &str = "module: ";
/// Launchers belong to all modules of their service.
const LAUNCHERS: &str = "(launchers)";
/// Real programs, and what an engine puts beside the node program.
const PROGRAMS: &str = "(other programs)";

/// The module that a subject is of; `None` for other subjects.
#[must_use]
pub fn module(subject: &str) -> Option<&str> {
    subject.strip_prefix(MODULE)
}

/// Samples of one process: t, CPU time since it began, resident memory.
type Samples = Vec<(i64, u64, u64)>;
/// By module and process: service and pid.
type Modules = BTreeMap<String, BTreeMap<(String, u32), Samples>>;

/// Adds a subject for each module to the tracks of every run that counts, by place of the deployment and run.
pub(crate) fn add(
    results: &Results,
    counted: &Counted,
    by: &mut BTreeMap<usize, BTreeMap<u32, Tracks>>,
) -> Result<(), ReportError> {
    let mut runs: BTreeMap<(usize, u32), Modules> = BTreeMap::new();
    results.scan(|row: ProcessRow| {
        if counted.latency(row.run).is_some() {
            let run = (counted.rank(&row.deployment), row.run);
            let modules = runs.entry(run).or_default();
            let processes = modules.entry(subject(&row)).or_default();
            let process = (row.service.to_string(), row.pid);
            let samples = processes.entry(process).or_default();
            samples.push((row.t_ns, row.cpu_ns, row.resident_bytes));
        }
    })?;
    for ((rank, run), modules) in runs {
        let tracks = by.entry(rank).or_default().entry(run).or_default();
        for (subject, processes) in modules {
            tracks.insert(subject, together(processes.into_values()));
        }
    }
    Ok(())
}

fn subject(row: &ProcessRow) -> String {
    let of = match (&row.module, row.kind) {
        (Some(module), _) => module,
        (None, ProcessKind::Launcher) => LAUNCHERS,
        (None, _) => PROGRAMS,
    };
    format!("{MODULE}{of}")
}

/// Processes as one, at every instant at which any was there: CPU time also of those that have ended by then, memory of
/// those that have not.
fn together(processes: impl Iterator<Item = Samples>) -> Track {
    let mut instants = BTreeSet::new();
    let mut all: Vec<Samples> = processes.collect();
    for samples in &mut all {
        samples.sort_unstable();
        instants.extend(samples.iter().map(|(t, ..)| *t));
    }
    let mut next = vec![0; all.len()];
    let sums = instants.into_iter().map(|t| {
        let (mut cpu, mut memory) = (0, 0);
        for (samples, next) in all.iter().zip(&mut next) {
            while samples.get(*next).is_some_and(|(at, ..)| *at <= t) {
                *next += 1;
            }
            if let Some((at, used, resident)) = next.checked_sub(1).map(|last| samples[last]) {
                cpu += used;
                memory += if at == t { resident } else { 0 };
            }
        }
        (t, Some(cpu), Some(memory))
    });
    sums.collect()
}

/// Figures of a deployment by subject.
type Of = fn(&DeploymentUsage, &str) -> Option<f64>;

/// A table of CPU and one of memory, with a column for each deployment.
pub(crate) fn tables(report: &Report, whole: &dyn Fn(&str) -> bool) -> [TextTable; 2] {
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
    report: &Report,
    whole: &dyn Fn(&str) -> bool,
    title: &str,
    note: &str,
    unit: &str,
    of: Of,
) -> TextTable {
    let shown = report.usage.iter().filter(|view| whole(&view.deployment));
    let views: Vec<&DeploymentUsage> = shown.collect();
    let flats: Vec<Option<&DeploymentUsage>> = views.iter().map(|v| flat(report, v)).collect();
    let compared = flats.iter().any(Option::is_some);
    let more = if compared {
        "; in brackets as a percentage of bare:flat at the same partition"
    } else {
        ""
    };
    let mut table = TextTable::new(
        format!("{title} {}", report.when()),
        format!(
            "{note}{more}. A process whose nodes are of several modules stands under all of their names."
        ),
        &["Module"],
        &[],
    );
    let labels = views.iter().map(|v| report.label(&v.deployment).to_owned());
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
fn flat<'a>(report: &'a Report, view: &DeploymentUsage) -> Option<&'a DeploymentUsage> {
    let own = report.experiment.deployment(&view.deployment)?;
    let mut others = report.experiment.deployments.iter();
    let flat = others.find(|d| d.id != own.id && is_at_one_partition(d, own))?;
    let mut views = report.usage.iter();
    views.find(|other| other.deployment == flat.id)
}

/// Modules in the order of the stack, then what is of several and what is of none.
fn subjects(report: &Report, views: &[&DeploymentUsage]) -> Vec<String> {
    let runs = views.iter().flat_map(|view| &view.runs);
    let all: BTreeSet<&String> = runs
        .flat_map(|run| run.cpus.keys().chain(run.memory.keys()))
        .filter(|subject| module(subject).is_some())
        .collect();
    let order = &report.experiment.stack.modules;
    let rank = |subject: &str| {
        let name = module(subject).unwrap_or_default();
        let position = order.iter().position(|module| module == name);
        position.unwrap_or(order.len() + usize::from(name.starts_with('(')))
    };
    let mut all: Vec<String> = all.into_iter().cloned().collect();
    all.sort_by_key(|subject| rank(subject));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_module_are_added_up_exactly() {
        // One is there all the time, one comes later, and one ends.
        let stays = vec![(0, 100, 7), (10, 130, 7), (20, 160, 8)];
        let comes = vec![(20, 5, 3), (10, 1, 2)];
        let ends = vec![(0, 40, 1), (10, 60, 1)];
        let track = together([stays, comes, ends].into_iter());
        assert_eq!(
            track,
            [
                (0, Some(140), Some(8)),
                (10, Some(191), Some(10)),
                (20, Some(225), Some(11)),
            ]
        );
    }

    #[test]
    fn what_has_no_module_is_told_apart() {
        let row = |kind, module: Option<&str>| ProcessRow {
            run: 1,
            block: 1,
            deployment: "d".into(),
            service: "s".into(),
            kind,
            process: "p".into(),
            module: module.map(Into::into),
            pid: 1,
            t_ns: 0,
            cpu_ns: 0,
            resident_bytes: 0,
        };
        let of = |kind, module| {
            let subject = subject(&row(kind, module));
            super::module(&subject).unwrap().to_owned()
        };
        assert_eq!(of(ProcessKind::Nodes, Some("a + b")), "a + b");
        assert_eq!(of(ProcessKind::Launcher, None), LAUNCHERS);
        assert_eq!(of(ProcessKind::Program, None), PROGRAMS);
        assert_eq!(module("sensing"), None);
    }
}
