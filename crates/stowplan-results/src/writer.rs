//! Writing a result run by run, so that what is finished survives whatever comes.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::edge::EdgeRow;
use crate::error::ResultsError;
use crate::experiment::Experiment;
use crate::file::{sync_folder, write_json, write_table};
use crate::folder;
use crate::measurement::MeasurementRow;
use crate::reader::{Results, scan};
use crate::rows::{
    CallbackRow, LatencyRow, LossRow, MemoryRow, OutputRow, ProcessRow, RunRow, StartupRow,
    UsageRow,
};
use crate::table::Table;

/// Everything that a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct RunData {
    /// The run itself.
    pub run: RunRow,
    /// When it started up.
    pub startup: Vec<StartupRow>,
    /// The inputs of its chains.
    pub latency: Vec<LatencyRow>,
    /// The outputs of its chains.
    pub outputs: Vec<OutputRow>,
    /// Its samples.
    pub usage: Vec<UsageRow>,
    /// Its memory.
    pub memory: Vec<MemoryRow>,
    /// Samples of its processes.
    pub processes: Vec<ProcessRow>,
    /// Its losses.
    pub losses: Vec<LossRow>,
    /// What messages took on its edges.
    pub edges: Vec<EdgeRow>,
    /// Its callbacks.
    pub callbacks: Vec<CallbackRow>,
    /// What else was measured.
    pub measurements: Vec<MeasurementRow>,
}

impl RunData {
    /// A run without rows of its own: failed or skipped, or not filled in yet.
    #[must_use]
    pub fn of(run: RunRow) -> Self {
        Self {
            run,
            startup: Vec::new(),
            latency: Vec::new(),
            outputs: Vec::new(),
            usage: Vec::new(),
            memory: Vec::new(),
            processes: Vec::new(),
            losses: Vec::new(),
            edges: Vec::new(),
            callbacks: Vec::new(),
            measurements: Vec::new(),
        }
    }
}

/// The writer of a result. It holds a lock on the folder, so that there is only one.
#[derive(Debug)]
pub struct ResultsWriter {
    dir: PathBuf,
    _lock: File,
}

impl ResultsWriter {
    /// Makes the folder `PARENT/NAME-TIME` (with `-2`, `-3` … where it exists) and writes
    /// `experiment.json` into it.
    pub fn create(parent: &Path, experiment: &Experiment) -> Result<Self, ResultsError> {
        std::fs::create_dir_all(parent).map_err(ResultsError::io("create", parent))?;
        let name = folder::folder_name(&experiment.name, experiment.created_unix_s);
        let mut dir = parent.join(&name);
        let mut number = 1_u32;
        loop {
            match std::fs::create_dir(&dir) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    number += 1;
                    dir = parent.join(format!("{name}-{number}"));
                }
                Err(error) => return Err(ResultsError::io("create", &dir)(error)),
            }
        }
        Self::begin(&dir, experiment)
    }

    /// Makes the folder `before` in that of `beside`, for an earlier experiment that is measured again in the same blocks.
    pub fn create_before(beside: &Self, experiment: &Experiment) -> Result<Self, ResultsError> {
        let dir = beside.dir.join(folder::BEFORE);
        std::fs::create_dir(&dir).map_err(ResultsError::io("create", &dir))?;
        Self::begin(&dir, experiment)
    }

    fn begin(dir: &Path, experiment: &Experiment) -> Result<Self, ResultsError> {
        let writer = Self::lock(dir)?;
        let parts = dir.join("parts");
        std::fs::create_dir(&parts).map_err(ResultsError::io("create", &parts))?;
        writer.write_experiment(experiment)?;
        Ok(writer)
    }

    /// Goes on with a result that was interrupted; `Results` has the runs that are done.
    pub fn resume(dir: impl AsRef<Path>) -> Result<(Self, Results), ResultsError> {
        let dir = dir.as_ref();
        let writer = Self::lock(dir)?;
        let results = Results::open(dir)?;
        let parts = dir.join("parts");
        std::fs::create_dir_all(&parts).map_err(ResultsError::io("create", &parts))?;
        Ok((writer, results))
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces `experiment.json`.
    pub fn write_experiment(&self, experiment: &Experiment) -> Result<(), ResultsError> {
        write_json(&self.dir.join(folder::EXPERIMENT), experiment)?;
        sync_folder(&self.dir)
    }

    /// Keeps a run. When this returns the run survives a kill; before, it never happened.
    /// A run that exists already is replaced, as one that failed before a resume.
    pub fn write_run(&self, data: &RunData) -> Result<(), ResultsError> {
        let run = data.run.run;
        self.write_part(run, &data.startup)?;
        self.write_part(run, &data.latency)?;
        self.write_part(run, &data.outputs)?;
        self.write_part(run, &data.usage)?;
        self.write_part(run, &data.memory)?;
        self.write_part(run, &data.processes)?;
        self.write_part(run, &data.losses)?;
        self.write_part(run, &data.edges)?;
        self.write_part(run, &data.callbacks)?;
        if !data.measurements.is_empty() {
            self.write_part(run, &data.measurements)?;
        }
        let parts = self.dir.join("parts");
        sync_folder(&parts)?;
        // Last: readers take a run for done by this one.
        self.write_part(run, std::slice::from_ref(&data.run))?;
        sync_folder(&parts)
    }

    /// Merges the parts of all tables into one file each, sorted by run. Can be repeated,
    /// also after a kill midway.
    pub fn finish(self) -> Result<Results, ResultsError> {
        let results = Results::open(&self.dir)?;
        let runs: BTreeSet<u32> = results.runs.iter().map(|run| run.run).collect();
        self.merge::<StartupRow>(&runs)?;
        self.merge::<LatencyRow>(&runs)?;
        self.merge::<OutputRow>(&runs)?;
        self.merge::<UsageRow>(&runs)?;
        self.merge::<MemoryRow>(&runs)?;
        self.merge::<ProcessRow>(&runs)?;
        self.merge::<LossRow>(&runs)?;
        self.merge::<EdgeRow>(&runs)?;
        self.merge::<CallbackRow>(&runs)?;
        if folder::has_parts(&self.dir, MeasurementRow::NAME) {
            self.merge::<MeasurementRow>(&runs)?;
        }
        self.merge::<RunRow>(&runs)?;
        sync_folder(&self.dir)?;
        let parts = self.dir.join("parts");
        // Only now: until every table is merged the parts are the result.
        std::fs::remove_dir_all(&parts).map_err(ResultsError::io("remove", &parts))?;
        Results::open(&self.dir)
    }

    fn write_part<T: Table>(&self, run: u32, rows: &[T]) -> Result<(), ResultsError> {
        let path = folder::part(&self.dir, run, T::NAME);
        write_table::<T>(&path, &BTreeSet::from([run]), |file| file.append(rows))
    }

    fn merge<T: Table>(&self, runs: &BTreeSet<u32>) -> Result<(), ResultsError> {
        let path = folder::merged(&self.dir, T::NAME);
        write_table::<T>(&path, runs, |file| {
            scan(&self.dir, Some(runs), &mut |rows: Vec<T>| {
                file.append(&rows)
            })
        })
    }

    fn lock(dir: &Path) -> Result<Self, ResultsError> {
        let folder = File::open(dir).map_err(ResultsError::io("open", dir))?;
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                dir: dir.to_owned(),
                _lock: folder,
            }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(ResultsError::InUse {
                path: dir.to_owned(),
            }),
            Err(error) => Err(ResultsError::io("lock", dir)(error.into())),
        }
    }
}
