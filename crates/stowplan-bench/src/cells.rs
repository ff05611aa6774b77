//! What every benchmark printed, beside the tables of a result: with file systems, devices, bytes and settings.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stowplan_results::ScheduledRun;
use stowplan_wire::bench::BenchResult;

/// File in the result folder: a line for each run.
const FILE: &str = "bench.jsonl";

/// A run and what it printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrintedRun {
    pub(crate) run: u32,
    pub(crate) block: u32,
    pub(crate) deployment: String,
    pub(crate) result: BenchResult,
}

pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Adds a run.
pub(crate) fn append(dir: &Path, run: &ScheduledRun, result: &BenchResult) -> io::Result<()> {
    let line = PrintedRun {
        run: run.run,
        block: run.block,
        deployment: run.deployment.clone(),
        result: result.clone(),
    };
    let text = serde_json::to_string(&line)?;
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .append(true)
        .read(true)
        .open(path(dir))?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    // After a line that was cut a new one begins.
    let begin = if last == [b'\n'] { "" } else { "\n" };
    (&file).write_all(format!("{begin}{text}\n").as_bytes())
}

/// Every run, the last of those with one number: one that was killed is measured again. A line that was cut is no run.
pub(crate) fn read(dir: &Path) -> io::Result<Vec<PrintedRun>> {
    let text = match fs::read_to_string(path(dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut runs = BTreeMap::new();
    for line in text.lines() {
        if let Ok(run) = serde_json::from_str::<PrintedRun>(line) {
            runs.insert(run.run, run);
        }
    }
    Ok(runs.into_values().collect())
}

#[cfg(test)]
mod tests {
    use stowplan_wire::bench::FileAccess;

    use super::*;
    use crate::rows::tests::{read as printed, run};

    #[test]
    fn the_last_of_a_number_counts_and_a_cut_line_does_not() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), []);
        for value in [1.0, 2.0] {
            let result = printed(value, FileAccess::Direct, 0);
            append(dir.path(), &run(3, 1, "a"), &result).unwrap();
        }
        let mut file = OpenOptions::new()
            .append(true)
            .open(path(dir.path()))
            .unwrap();
        file.write_all(b"{\"run\": 4, \"blo").unwrap();
        append(
            dir.path(),
            &run(5, 1, "b"),
            &printed(1.0, FileAccess::Direct, 0),
        )
        .unwrap();
        let runs = read(dir.path()).unwrap();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].result.figures[0].value, Some(2.0));
    }
}
