//! What was asked for: kept with the result, so that a resumed one does the same.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stowplan_run::ExperimentError;
use stowplan_suite::Asked;

use crate::benchmarks::Benchmark;

/// File in the result folder.
const FILE: &str = "request.json";

/// Version of the file.
const VERSION: u32 = 2;

/// The least that gives a verdict.
const BLOCKS: u32 = 6;

/// Blocks of a quick table: a half of the pairs that give its floors has four.
const QUICK_BLOCKS: u32 = 8;

/// How long a figure is measured, and how large files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Time of a figure without files, ms, about. A virtual machine can be slow for a quarter of a second: the median piece of a longer
    /// time is one of the rest.
    pub time_ms: u64,
    /// Time of a figure of files, ms, about.
    pub file_time_ms: u64,
    /// Size of a file, bytes.
    pub file_bytes: u64,
}

impl Size {
    /// For a table in some minutes.
    pub const QUICK: Self = Self {
        time_ms: 400,
        file_time_ms: 100,
        file_bytes: 8 << 20,
    };

    /// For a night.
    pub const FULL: Self = Self {
        time_ms: 1000,
        file_time_ms: 1000,
        file_bytes: 256 << 20,
    };
}

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    version: u32,
    /// Places, as results name them; the first is the reference.
    pub places: Vec<String>,
    /// Names of benchmarks; all that are built in where there are none.
    pub benchmarks: Vec<String>,
    /// Number of blocks.
    pub blocks: u32,
    /// Seed of the order.
    pub seed: u64,
    /// How long and how large.
    pub size: Size,
    /// Most time to spend in a session, ns.
    pub budget_ns: Option<u64>,
    /// The command line.
    pub command: Vec<String>,
}

impl Request {
    /// Of all benchmarks at these places, in as many blocks as this size has by default.
    #[must_use]
    pub fn new(places: Vec<String>, size: Size) -> Self {
        Self {
            version: VERSION,
            places,
            benchmarks: Vec::new(),
            blocks: if size == Size::QUICK {
                QUICK_BLOCKS
            } else {
                BLOCKS
            },
            seed: 1,
            size,
            budget_ns: None,
            command: Vec::new(),
        }
    }

    /// Its benchmarks in the order of a block.
    #[must_use]
    pub(crate) fn chosen(&self) -> Vec<Benchmark> {
        Benchmark::of_names(&self.benchmarks)
    }

    /// Whether a tool of the toolbox is among them.
    pub(crate) fn has_tools(&self) -> bool {
        self.chosen().iter().any(|one| one.tool().is_some())
    }

    /// What is asked of the schedule. Each benchmark of a block is a block of the schedule: all places measure it one directly
    /// after another.
    pub(crate) fn asked(&self) -> Asked {
        let rounds = u32::try_from(self.chosen().len()).unwrap_or(u32::MAX);
        Asked {
            blocks: self.blocks.saturating_mul(rounds),
            seed: self.seed,
            budget: self.budget_ns.map(Duration::from_nanos),
        }
    }

    pub(crate) fn save(&self, dir: &Path) -> Result<(), ExperimentError> {
        let path = dir.join(FILE);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(&path, text).map_err(|source| ExperimentError::Write { path, source })
    }

    pub(crate) fn load(dir: &Path) -> Result<Self, ExperimentError> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ExperimentError::Read { path, source }),
        };
        let request: Self = match serde_json::from_str(&text) {
            Ok(request) => request,
            Err(source) => return Err(ExperimentError::Request { path, source }),
        };
        if request.version != VERSION {
            return Err(ExperimentError::Version {
                path,
                found: request.version,
                known: VERSION,
            });
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = Request::new(vec!["bare:flat".to_owned()], Size::QUICK);
        request.budget_ns = Some(5);
        request.save(dir.path()).unwrap();
        assert_eq!(Request::load(dir.path()).unwrap(), request);
        request.version = 9;
        request.save(dir.path()).unwrap();
        let error = Request::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
    }

    #[test]
    fn the_schedule_has_a_round_for_each_benchmark_of_a_block() {
        let mut request = Request::new(vec!["oci".to_owned()], Size::QUICK);
        request.benchmarks = vec!["cpu".to_owned(), "files".to_owned()];
        assert_eq!(request.asked().blocks, QUICK_BLOCKS * 4);
    }
}
