//! Memory after the window with what processes share divided between them.

use std::collections::BTreeMap;

use stowplan_results::{MemoryAt, MemoryRow, Results};

use crate::counted::Counted;
use crate::error::JudgeError;
use crate::usage::{ENGINE, engine_program, mean};

/// Bytes of some processes together, or their mean over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SharedMemory {
    /// Resident, what is shared by its share.
    pub pss: f64,
    /// Of these, anonymous memory.
    pub anon: f64,
    /// Of these, pages of files.
    pub file: f64,
    /// Of these, shared memory and tmpfs.
    pub shmem: f64,
    /// Resident and mapped by no other process.
    pub private: f64,
}

impl SharedMemory {
    fn add(&mut self, row: &MemoryRow) {
        self.pss += row.pss_bytes as f64;
        self.anon += row.pss_anon_bytes as f64;
        self.file += row.pss_file_bytes as f64;
        self.shmem += row.pss_shmem_bytes as f64;
        self.private += row.private_bytes as f64;
    }
}

/// Memory of one run after its window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunMemory {
    /// Block.
    pub block: u32,
    /// All services.
    pub services: SharedMemory,
    /// The engine's own processes, PSS in bytes; `None` where it has none.
    pub engine_pss: Option<f64>,
    /// The same of its programs, by subject.
    pub programs: BTreeMap<String, f64>,
    /// The same before the run had services.
    pub idle_programs: BTreeMap<String, f64>,
}

/// Memory of a deployment's runs after their windows.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentMemory {
    /// Id of the deployment.
    pub deployment: String,
    /// Run by run.
    pub runs: Vec<RunMemory>,
}

/// What [`DeploymentMemory::figures`] are.
pub const FIGURES: [&str; 6] = [
    "Services",
    "Anonymous",
    "Files",
    "Shared memory",
    "Private",
    "Engine",
];

impl DeploymentMemory {
    /// Means over the runs in bytes, in the order of [`FIGURES`].
    #[must_use]
    pub fn figures(&self) -> [Option<f64>; 6] {
        let of_services = |of: fn(&SharedMemory) -> f64| self.mean(|run| Some(of(&run.services)));
        [
            of_services(|s| s.pss),
            of_services(|s| s.anon),
            of_services(|s| s.file),
            of_services(|s| s.shmem),
            of_services(|s| s.private),
            self.mean(|run| run.engine_pss),
        ]
    }

    /// Mean over the runs of the PSS of a program of the engine, bytes.
    #[must_use]
    pub fn program(&self, subject: &str) -> Option<f64> {
        self.mean(|run| run.programs.get(subject).copied())
    }

    /// The same before the run had services.
    #[must_use]
    pub fn idle_program(&self, subject: &str) -> Option<f64> {
        self.mean(|run| run.idle_programs.get(subject).copied())
    }

    /// Mean over the runs.
    fn mean(&self, of: impl Fn(&RunMemory) -> Option<f64>) -> Option<f64> {
        mean(self.runs.iter().filter_map(of))
    }
}

/// Reads the memory table of the runs that count.
pub(crate) fn read(
    results: &Results,
    counted: &Counted,
) -> Result<Vec<DeploymentMemory>, JudgeError> {
    let mut by: BTreeMap<usize, BTreeMap<u32, RunMemory>> = BTreeMap::new();
    let mut idle: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
    results.scan(|row: MemoryRow| {
        if counted.latency(row.run).is_none() || row.at == MemoryAt::Arm {
            return;
        }
        let pss = row.pss_bytes as f64;
        let program = engine_program(&row.subject).map(|_| row.subject.to_string());
        if row.at == MemoryAt::Idle {
            let programs = idle.entry(row.run).or_default();
            if let Some(program) = program {
                *programs.entry(program).or_default() += pss;
            }
            return;
        }
        let runs = by.entry(counted.rank(&row.deployment)).or_default();
        let run = runs.entry(row.run).or_default();
        run.block = row.block;
        if let Some(program) = program {
            *run.programs.entry(program).or_default() += pss;
        } else if &*row.subject == ENGINE {
            *run.engine_pss.get_or_insert_default() += pss;
        } else {
            run.services.add(&row);
        }
    })?;
    for (number, run) in by.values_mut().flatten() {
        run.idle_programs = idle.remove(number).unwrap_or_default();
    }
    let views = by.into_iter().map(|(rank, runs)| DeploymentMemory {
        deployment: counted.id(rank).to_owned(),
        runs: runs.into_values().collect(),
    });
    Ok(views.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_added_up_and_runs_averaged() {
        let row = |pss_bytes| MemoryRow {
            run: 1,
            block: 1,
            deployment: "d".into(),
            host: None,
            subject: "s".into(),
            at: MemoryAt::Disarm,
            processes: 2,
            rss_bytes: 900,
            pss_bytes,
            pss_anon_bytes: 50,
            pss_file_bytes: 30,
            pss_shmem_bytes: 20,
            private_bytes: 60,
        };
        let mut run = RunMemory::default();
        run.services.add(&row(100));
        run.services.add(&row(200));
        assert_eq!((run.services.pss, run.services.private), (300.0, 120.0));
        let with_engine = RunMemory {
            engine_pss: Some(10.0),
            programs: BTreeMap::from([("engine: shim".to_owned(), 4.0)]),
            ..RunMemory::default()
        };
        let view = DeploymentMemory {
            deployment: "d".to_owned(),
            runs: vec![run, with_engine],
        };
        assert_eq!(view.mean(|run| Some(run.services.pss)), Some(150.0));
        assert_eq!(
            view.mean(|run| run.engine_pss),
            Some(10.0),
            "where there is one"
        );
        assert_eq!(view.program("engine: shim"), Some(4.0));
        assert_eq!(view.idle_program("engine: shim"), None);
    }
}
