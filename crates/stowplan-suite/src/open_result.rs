//! A result that is being measured.

use std::cell::{Ref, RefCell};
use std::collections::HashSet;
use std::path::Path;

use stowplan_results::{Experiment, Results, ResultsError, ResultsWriter, RunData, RunStatus};

/// A result that is being measured: its folder, what is known of the experiment so far, and which runs are finished.
#[derive(Debug)]
pub struct OpenResult {
    writer: ResultsWriter,
    experiment: RefCell<Experiment>,
    /// Numbers of runs that were finished before this session.
    finished: HashSet<u32>,
}

impl OpenResult {
    /// Makes a result folder below `parent`.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn create(parent: &Path, experiment: Experiment) -> Result<Self, ResultsError> {
        let writer = ResultsWriter::create(parent, &experiment)?;
        Ok(Self::new(writer, experiment, HashSet::new()))
    }

    /// Makes the folder of an earlier experiment that is measured again in the same blocks, below this result's.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn create_before(&self, experiment: Experiment) -> Result<Self, ResultsError> {
        let writer = ResultsWriter::create_before(&self.writer, &experiment)?;
        Ok(Self::new(writer, experiment, HashSet::new()))
    }

    /// Goes on with a result that was interrupted.
    ///
    /// # Errors
    /// When it is not a result, cannot be read, or another process writes it.
    pub fn resume(dir: &Path) -> Result<Self, ResultsError> {
        let (writer, results) = ResultsWriter::resume(dir)?;
        let finished = results.runs.iter();
        let finished = finished.filter(|run| run.status == RunStatus::Finished);
        let finished = finished.map(|run| run.run).collect();
        Ok(Self::new(writer, results.experiment, finished))
    }

    fn new(writer: ResultsWriter, experiment: Experiment, finished: HashSet<u32>) -> Self {
        Self {
            writer,
            experiment: RefCell::new(experiment),
            finished,
        }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.writer.dir()
    }

    /// What is known of the experiment so far.
    pub fn experiment(&self) -> Ref<'_, Experiment> {
        self.experiment.borrow()
    }

    /// Changes what is known of the experiment. It is written with the next [`OpenResult::save`].
    pub fn note(&self, change: impl FnOnce(&mut Experiment)) {
        change(&mut self.experiment.borrow_mut());
    }

    /// Writes what is known of the experiment.
    ///
    /// # Errors
    /// When `experiment.json` cannot be written.
    pub fn save(&self) -> Result<(), ResultsError> {
        self.writer.write_experiment(&self.experiment.borrow())
    }

    /// Keeps a run: when this returns, the run survives a kill.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub fn write_run(&self, data: &RunData) -> Result<(), ResultsError> {
        self.writer.write_run(data)
    }

    /// Whether a run was finished before this session.
    pub(crate) fn has_finished(&self, run: u32) -> bool {
        self.finished.contains(&run)
    }

    /// Merges the runs into one file per table.
    pub(crate) fn finish(self) -> Result<Results, ResultsError> {
        self.save()?;
        self.writer.finish()
    }
}
