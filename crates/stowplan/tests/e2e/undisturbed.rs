//! Measurements whose outcome is known as long as the stack has the CPUs. Where others take them, be it programs of this
//! machine or of its host, the measurement is done again; whether they did is read from its runs, not from its outcome.

use std::path::Path;

use stowplan_judge::Figures;
use stowplan_results::Results;
use stowplan_testkit::disturbed;

use crate::one_at_a_time::turn;
use crate::support::Bench;

/// Share of the time of all CPUs that others may take of a run. What these tests start is idle for two thirds of it.
const MOST: f64 = 0.25;

const ATTEMPTS: u32 = 3;

/// What `measure` gives, alone on this machine and in a folder of its own. `None` where others took much of the CPUs in
/// each of some attempts, which is recorded.
pub fn undisturbed<T>(measure: impl Fn(&Bench) -> T) -> Option<(Bench, T)> {
    let done = best_of_some(measure);
    is_undisturbed(done.taken.as_ref()).then_some((done.bench, done.measured))
}

/// A measurement, and what others took of it in each attempt where that was much in all of them.
pub struct Attempted<T> {
    pub bench: Bench,
    pub measured: T,
    pub taken: Option<String>,
}

/// Whether others left the CPUs alone; else the test is recorded as disturbed.
pub fn is_undisturbed(taken: Option<&String>) -> bool {
    if let Some(taken) = taken {
        disturbed!("others took {taken} of a run's CPU time, {ATTEMPTS} attempts");
    }
    taken.is_none()
}

/// What `measure` gives, alone on this machine and in a folder of its own: the first attempt that others left alone, else the last.
pub fn best_of_some<T>(measure: impl Fn(&Bench) -> T) -> Attempted<T> {
    let mut taken = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let bench = Bench::new();
        let measured = {
            let _turn = turn();
            measure(&bench)
        };
        let most = most_taken(bench.path());
        taken.push(format!("{:.0} %", 100.0 * most));
        if most <= MOST || attempt == ATTEMPTS {
            let taken = (most > MOST).then(|| taken.join(", "));
            return Attempted {
                bench,
                measured,
                taken,
            };
        }
    }
    unreachable!("there is a last attempt")
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
    let usage = Figures::read(&results).unwrap().usage;
    let runs = usage.iter().flat_map(|deployment| &deployment.runs);
    let taken = runs.map(|run| run.others.values().sum::<f64>() / cpus);
    taken.fold(0.0, f64::max)
}
