//! Usage by module: what the processes of each used together.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_results::{ProcessKind, ProcessRow, Results};

use crate::counted::Counted;
use crate::error::JudgeError;
use crate::track::{Track, Tracks};

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
) -> Result<(), JudgeError> {
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
            host: None,
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
