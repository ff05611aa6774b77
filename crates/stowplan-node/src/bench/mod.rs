//! Benchmarks: `bench NAME` measures one and prints its result as a line of JSON.
//!
//! The same static program under every engine: no compiler, userland or library can differ between places.

mod cpu;
mod dds;
mod dhrystone;
mod files;
mod locks;
mod measure;
mod memory;
mod mutex;
mod ramspeed;
mod sequential;
mod storage;
mod tcp;
mod threads;
mod whetstone;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use stowplan_wire::bench::{BENCH_SCHEMA, BenchFigure, BenchResult, Storage};

use crate::error::NodeError;

/// Arguments of `bench`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchArgs {
    /// Which one.
    pub name: String,
    /// How long one figure is measured, about.
    pub time: Duration,
    /// Where files are made; of benchmarks with files.
    pub folder: Option<PathBuf>,
    /// What that folder is: `image`, `volume` or `tmpfs`.
    pub disk: Option<String>,
    /// A file of the image that is read instead of one that was just written.
    pub read: Option<PathBuf>,
    /// Size of the file that is written and read, in bytes.
    pub bytes: u64,
    /// CycloneDDS configuration.
    pub config: Option<PathBuf>,
    /// DDS domain.
    pub domain: Option<u32>,
}

/// What a benchmark found, before it has its name.
#[derive(Debug, Default)]
struct Found {
    figures: Vec<BenchFigure>,
    settings: BTreeMap<String, String>,
    storage: Option<Storage>,
}

impl Found {
    fn of(figures: Vec<BenchFigure>) -> Self {
        Self {
            figures,
            ..Self::default()
        }
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.insert(name.to_owned(), value.to_string());
        self
    }
}

/// Compiler, level of optimisation, target and its features.
const COMPILED: &str = env!("STOWPLAN_COMPILED");

type Kernel = fn(&BenchArgs) -> Result<Found, NodeError>;

/// Every benchmark by name.
const KERNELS: [(&str, Kernel); 13] = [
    ("whetstone", whetstone::run),
    ("dhrystone", dhrystone::run),
    ("cpu", cpu::run),
    ("memory", memory::run),
    ("ramspeed", ramspeed::run),
    ("threads", threads::run),
    ("mutex", mutex::run),
    ("tcp", tcp::run),
    ("dds", dds::run),
    ("file-sequential", sequential::run),
    ("file-random", sequential::run_random),
    ("files", files::run),
    ("storage", storage::run),
];

/// Measures one and describes the result as one line of JSON.
///
/// # Errors
/// When there is no such benchmark, or it cannot run or gives a wrong answer.
pub fn run(args: &BenchArgs) -> Result<String, NodeError> {
    let kernel = KERNELS.iter().find(|(name, _)| *name == args.name);
    let Some((name, kernel)) = kernel else {
        let names = KERNELS.map(|(name, _)| name).join(", ");
        return Err(NodeError::Benchmark {
            name: args.name.clone(),
            message: format!("there is none of this name; hint: take one of {names}"),
        });
    };
    let found = kernel(args)?.with("compiled", COMPILED);
    let result = BenchResult {
        schema: BENCH_SCHEMA.to_owned(),
        benchmark: (*name).to_owned(),
        figures: found.figures,
        settings: found.settings,
        storage: found.storage,
    };
    Ok(serde_json::to_string(&result).expect("numbers and texts are JSON"))
}

/// An answer that a benchmark must not give, or something that it cannot do.
fn failed(name: &str, message: impl Into<String>) -> NodeError {
    NodeError::Benchmark {
        name: name.to_owned(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a test asks for: as short as can be.
    pub(super) fn args(name: &str) -> BenchArgs {
        BenchArgs {
            name: name.to_owned(),
            time: Duration::from_millis(1),
            folder: None,
            disk: None,
            read: None,
            bytes: 1 << 20,
            config: None,
            domain: None,
        }
    }

    #[test]
    fn benchmarks_without_files_give_figures_that_are_numbers() {
        for name in [
            "whetstone",
            "dhrystone",
            "cpu",
            "memory",
            "threads",
            "mutex",
            "tcp",
        ] {
            let line = run(&args(name)).unwrap();
            assert!(!line.contains('\n'));
            let result: BenchResult = serde_json::from_str(&line).unwrap();
            assert_eq!(result.benchmark, name);
            assert!(!result.figures.is_empty(), "{name}");
            for figure in &result.figures {
                let value = figure.value.unwrap();
                assert!(value.is_finite() && value > 0.0, "{name}: {figure:?}");
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let error = run(&args("linpack")).unwrap_err().to_string();
        assert!(
            error.contains("'linpack'") && error.contains("dhrystone"),
            "{error}"
        );
    }
}
