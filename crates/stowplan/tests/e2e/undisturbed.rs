//! Measurements whose outcome is known as long as the stack has the CPUs. Where others take them, be it programs of this
//! machine or of its host, the measurement is done again; whether they did is read from its runs, not from its outcome.

use std::io::Write;
use std::path::Path;

use stowplan_report::Report;
use stowplan_results::Results;

use crate::one_at_a_time::turn;
use crate::support::Bench;

/// Share of the time of all CPUs that others may take of a run. What these tests start is idle for two thirds of it.
const MOST: f64 = 0.25;

const ATTEMPTS: u32 = 3;

/// What `measure` gives, alone on this machine and in a folder of its own. `None` where others took much of the CPUs in
/// each of some attempts, which is said.
pub fn undisturbed<T>(measure: impl Fn(&Bench) -> T) -> Option<(Bench, T)> {
    let mut taken = Vec::new();
    for _ in 0..ATTEMPTS {
        let bench = Bench::new();
        let measured = {
            let _turn = turn();
            measure(&bench)
        };
        let most = most_taken(bench.path());
        if most <= MOST {
            return Some((bench, measured));
        }
        taken.push(format!("{:.0} %", 100.0 * most));
    }
    // Not by a macro: what those print is not shown of tests that pass.
    let told = taken.join(", ");
    let skipped = format!("skipped: others took {told} of a run's CPU time, {ATTEMPTS} attempts\n");
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    None
}

/// The highest share that others took of a run, over all results in a folder.
fn most_taken(folder: &Path) -> f64 {
    let entries = std::fs::read_dir(folder).unwrap();
    let folders = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let inside = folders.map(|folder| most_taken(&folder));
    let own = folder
        .join("experiment.json")
        .exists()
        .then(|| of_result(folder));
    inside.chain(own).fold(0.0, f64::max)
}

fn of_result(folder: &Path) -> f64 {
    // One that was interrupted before its first run has nothing to read.
    let Ok(results) = Results::open(folder) else {
        return 0.0;
    };
    let cpus = f64::from(results.experiment.machine.cpus);
    let usage = Report::read(&results).unwrap().usage;
    let runs = usage.iter().flat_map(|deployment| &deployment.runs);
    let taken = runs.map(|run| run.others.values().sum::<f64>() / cpus);
    taken.fold(0.0, f64::max)
}
