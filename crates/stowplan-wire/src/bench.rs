//! What `stowplan-node bench` prints: one JSON document on one line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Format of [`BenchResult`].
pub const BENCH_SCHEMA: &str = "stowplan.bench-result/1";

/// What one benchmark gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchResult {
    /// [`BENCH_SCHEMA`].
    pub schema: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Its figures.
    pub figures: Vec<BenchFigure>,
    /// How it was done: threads, sizes, flags of the compiler.
    pub settings: BTreeMap<String, String>,
    /// Where its files were; none where it has no files.
    #[serde(default)]
    pub storage: Option<Storage>,
}

/// One figure of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchFigure {
    /// Name, as comparisons have it.
    pub metric: String,
    /// What it is of, as the size of a block; none where the metric says it all.
    #[serde(default)]
    pub subject: Option<String>,
    /// Unit.
    pub unit: String,
    /// Whether larger values are better.
    pub higher_is_better: bool,
    /// The figure; none where it could not be had.
    pub value: Option<f64>,
    /// The same of all that was measured, where the figure is that of the median piece of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// Why there is none.
    #[serde(default)]
    pub reason: Option<String>,
    /// How often the operation was done in the measured time.
    #[serde(default)]
    pub count: u64,
    /// The measured time in ns.
    #[serde(default)]
    pub ns: u64,
    /// Where the bytes went to or came from; none where no file is concerned.
    #[serde(default)]
    pub moved: Option<Moved>,
}

/// Bytes that a figure of a file is about, and what the kernel counted of them at block devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// Whether the file was read.
    pub direction: Direction,
    /// How.
    pub access: FileAccess,
    /// Bytes that the program read or wrote.
    pub bytes: u64,
    /// Bytes that it caused to be read from a block device, `read_bytes` of /proc/self/io; none where the kernel does not tell.
    pub from_device: Option<u64>,
    /// Bytes that it caused to be written to one, `write_bytes` of /proc/self/io.
    pub to_device: Option<u64>,
    /// Share of the file in the page cache before it was read, mincore(2); none where it was not looked at.
    #[serde(default)]
    pub resident: Option<f64>,
}

/// Direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From a file.
    Read,
    /// To a file.
    Write,
}

/// How a file is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// Through the page cache, as it is.
    Buffered,
    /// Through the page cache, which had nothing of the file before.
    Cold,
    /// Through the page cache, with fsync(2) before the time ends.
    Synced,
    /// Past the page cache: `O_DIRECT`.
    Direct,
}

impl FileAccess {
    /// Its name for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Cold => "cold",
            Self::Synced => "fsync",
            Self::Direct => "O_DIRECT",
        }
    }
}

/// Where files of a benchmark were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// What was asked for: `image`, `volume` or `tmpfs`.
    pub disk: String,
    /// What is behind it: shown by writing and syncing a file.
    pub backing: Backing,
    /// Kind of the file system, as its mount has it.
    pub file_system: String,
    /// What is mounted, as `/dev/vda`.
    pub device: String,
    /// Folder of an overlay that takes what is written; none for other file systems.
    #[serde(default)]
    pub upper: Option<String>,
}

/// What is behind a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backing {
    /// A block device took what was written and synced.
    Device,
    /// None did.
    Memory,
    /// The kernel does not count.
    Unknown,
}
