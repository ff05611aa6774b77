//! Reading a result, finished or not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::comparisons::{COMPARE_SCHEMA, Comparisons};
use crate::earlier::EarlierResult;
use crate::edge::EdgeRow;
use crate::error::ResultsError;
use crate::experiment::{EXPERIMENT_SCHEMAS, Experiment};
use crate::file::{TableReader, read_json, sync_folder, write_json};
use crate::folder;
use crate::measurement::MeasurementRow;
use crate::place::PlaceRecord;
use crate::rows::{
    CallbackRow, LatencyRow, LossRow, MemoryRow, OutputRow, ProcessRow, RunRow, StartupRow,
    UsageRow,
};
use crate::selftest::{SELFTEST_FILE, Selftest};
use crate::table::Table;

/// A result on disk. Tables are read when they are asked for; runs are known at once.
#[derive(Debug, Clone)]
pub struct Results {
    dir: PathBuf,
    /// What was asked for, and where.
    pub experiment: Experiment,
    /// The runs, ascending by number.
    pub runs: Vec<RunRow>,
}

impl Results {
    /// Opens a result; one that was interrupted gives the runs that ended.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, ResultsError> {
        let dir = dir.as_ref();
        let path = dir.join(folder::EXPERIMENT);
        if !path.exists() {
            return Err(ResultsError::NotAResult {
                path: dir.to_owned(),
            });
        }
        let mut experiment: Experiment = read_json(&path, &EXPERIMENT_SCHEMAS)?;
        for deployment in &mut experiment.deployments {
            let older = || PlaceRecord::of_older_result(&deployment.place);
            let facts = deployment.facts.take();
            deployment.facts = Some(facts.unwrap_or_else(older));
        }
        let mut runs: Vec<RunRow> = Vec::new();
        scan(dir, None, &mut |rows| {
            runs.extend(rows);
            Ok(())
        })?;
        runs.sort_by_key(|run| run.run);
        if let Some(run) = runs
            .iter()
            .find(|run| experiment.deployment(&run.deployment).is_none())
        {
            return Err(ResultsError::UnknownDeployment {
                path: dir.to_owned(),
                run: run.run,
                deployment: run.deployment.to_string(),
            });
        }
        Ok(Self {
            dir: dir.to_owned(),
            experiment,
            runs,
        })
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gives every row of a table to `take`, without holding them all.
    pub fn scan<T: Table>(&self, mut take: impl FnMut(T)) -> Result<(), ResultsError> {
        let known: BTreeSet<u32> = self.runs.iter().map(|run| run.run).collect();
        scan(&self.dir, Some(&known), &mut |rows| {
            rows.into_iter().for_each(&mut take);
            Ok(())
        })
    }

    /// All rows of a table.
    pub fn read<T: Table>(&self) -> Result<Vec<T>, ResultsError> {
        let mut all = Vec::new();
        self.scan(|row| all.push(row))?;
        Ok(all)
    }

    /// The start-up table.
    pub fn startup(&self) -> Result<Vec<StartupRow>, ResultsError> {
        self.read()
    }

    /// The latency table.
    pub fn latency(&self) -> Result<Vec<LatencyRow>, ResultsError> {
        self.read()
    }

    /// The outputs table; empty in a result of before there was one.
    pub fn outputs(&self) -> Result<Vec<OutputRow>, ResultsError> {
        self.read()
    }

    /// The usage table.
    pub fn usage(&self) -> Result<Vec<UsageRow>, ResultsError> {
        self.read()
    }

    /// The losses table.
    pub fn losses(&self) -> Result<Vec<LossRow>, ResultsError> {
        self.read()
    }

    /// The edges table; empty in a result of before there was one.
    pub fn edges(&self) -> Result<Vec<EdgeRow>, ResultsError> {
        self.read()
    }

    /// The memory table; empty in a result of before there was one.
    pub fn memory(&self) -> Result<Vec<MemoryRow>, ResultsError> {
        self.read()
    }

    /// The table of processes; empty in a result of before there was one.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, ResultsError> {
        self.read()
    }

    /// The table of what has none of its own; empty where there is nothing of that kind.
    pub fn measurements(&self) -> Result<Vec<MeasurementRow>, ResultsError> {
        self.read()
    }

    /// The callbacks table.
    pub fn callbacks(&self) -> Result<Vec<CallbackRow>, ResultsError> {
        self.read()
    }

    /// The calibration of the instrument that is kept beside the result; `None` where none is.
    pub fn selftest(&self) -> Result<Option<Selftest>, ResultsError> {
        Selftest::load(&self.dir.join(SELFTEST_FILE))
    }

    /// The verdicts that were saved with the result; `None` where none were.
    pub fn comparisons(&self) -> Result<Option<Comparisons>, ResultsError> {
        self.verdicts(folder::COMPARISONS)
    }

    /// The verdicts against an earlier result that were saved with this one; `None` where none were.
    pub fn against(&self) -> Result<Option<Comparisons>, ResultsError> {
        self.verdicts(folder::AGAINST)
    }

    /// Keeps verdicts with the result: `comparisons.json`, or `against.json` where they are against an earlier result.
    pub fn keep(&self, verdicts: &Comparisons) -> Result<(), ResultsError> {
        let file = match verdicts.against {
            None => folder::COMPARISONS,
            Some(_) => folder::AGAINST,
        };
        write_json(&self.dir.join(file), verdicts)?;
        sync_folder(&self.dir)
    }

    fn verdicts(&self, file: &str) -> Result<Option<Comparisons>, ResultsError> {
        let path = self.dir.join(file);
        if path.exists() {
            read_json(&path, &[COMPARE_SCHEMA]).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Gives the rows of the merged file and of all parts to `take`; only rows of `known` runs, where
/// given. A run in both was repeated after the merge, or the merge was killed before it removed
/// the parts: the part counts, but only once the run is complete, which its row says.
pub(crate) fn scan<T: Table>(
    dir: &Path,
    known: Option<&BTreeSet<u32>>,
    take: &mut dyn FnMut(Vec<T>) -> Result<(), ResultsError>,
) -> Result<(), ResultsError> {
    let counts = |run: u32| known.is_none_or(|known| known.contains(&run));
    let list =
        |table| folder::parts(dir, table).map_err(ResultsError::io("list", &dir.join("parts")));
    let complete: BTreeSet<u32> = list(RunRow::NAME)?.into_iter().collect();
    let parts: BTreeSet<u32> = list(T::NAME)?
        .into_iter()
        .filter(|run| complete.contains(run))
        .collect();
    if let Some(file) = TableReader::open(&folder::merged(dir, T::NAME))? {
        file.scan(&mut |mut rows: Vec<T>| {
            rows.retain(|row| counts(row.run()) && !parts.contains(&row.run()));
            take(rows)
        })?;
    }
    for run in parts.into_iter().filter(|run| counts(*run)) {
        if let Some(file) = TableReader::open(&folder::part(dir, run, T::NAME))? {
            file.scan(take)?;
        }
    }
    Ok(())
}

impl EarlierResult {
    /// What a result is called where another is held against it.
    #[must_use]
    pub fn of(result: &Results, measured_again: bool) -> Self {
        // A folder may be given as one that has no name, such as `.`.
        let dir = result.dir();
        let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let name = whole.file_name().unwrap_or(dir.as_os_str());
        Self {
            result: name.display().to_string(),
            created_unix_s: result.experiment.created_unix_s,
            build_id: result.experiment.build_id.clone(),
            measured_again,
        }
    }
}
