//! The files of a finished run: versioned formats, Parquet.
//!
//! A result is a folder `results/NAME-TIME/` with `experiment.json`, one Parquet
//! file per table and `comparisons.json`. Every figure that Stowplan shows can be
//! rebuilt from it, without the machine that produced it.
//!
//! While an experiment runs, each finished run is kept as one small file per table
//! under `parts/`; [`ResultsWriter::finish`] merges them. The part of the `runs`
//! table is written last and by rename: a run without it never happened.
#![forbid(unsafe_code)]

mod ablation;
mod cell;
mod comparison;
mod comparisons;
mod deployment;
mod earlier;
mod edge;
mod error;
mod experiment;
mod file;
mod folder;
mod measurement;
mod place;
mod ranking;
mod reader;
mod rows;
mod scheduled;
mod selftest;
mod slower;
mod table;
mod writer;

pub use ablation::{Ablation, AblationDeployment, AblationStep};
pub use comparison::{Comparison, Effect, Unmarked};
pub use comparisons::{COMPARE_SCHEMA, Comparisons, Judged, Skipped};
pub use deployment::AGAIN;
pub use earlier::EarlierResult;
pub use edge::EdgeRow;
pub use error::ResultsError;
pub use experiment::{
    Assumption, BlockCalibration, CALLBACK_CPU, DDS_PROFILE, DeploymentRecord, EXPERIMENT_SCHEMA,
    EdgeCount, Experiment, InjectionRecord, LimitsRecord, Machine, MetricPlan, NATURAL, NEIGHBOURS,
    OF_A_START, PREEMPTION, PartitionRecord, PilotRecord, ProcessRecord, RE_BASED, REPLAY, STACKS,
    SensitivityRecord, StackRecord, StowplanOwn, WorkingSetCalibration,
};
pub use folder::{BEFORE, date, folder_name};
pub use measurement::{Better, MeasurementRow};
pub use place::PlaceRecord;
pub use ranking::{RankedPair, Ranking};
pub use reader::Results;
pub use rows::{
    CallbackRow, ColdState, LatencyRow, LossCause, LossRow, MemoryAt, MemoryRow, OutputRow,
    ProcessKind, ProcessRow, RunRow, RunStatus, StartKind, StartupRow, SubjectKind, UsageRow,
};
pub use scheduled::ScheduledRun;
pub use selftest::{
    Bound, Criterion, InjectedDifference, KindCounts, SELFTEST_FILE, SELFTEST_SCHEMA, Selftest,
    SelftestComparison, SelftestKind, SelftestSubject,
};
pub use slower::{CallbackGrowth, Growth, PartGrowth, Slower};
pub use table::{Column, Table};
pub use writer::{ResultsWriter, RunData};

/// Version of the Parquet tables, in each file's metadata as `stowplan.version`.
pub const TABLE_VERSION: u32 = 2;

/// Name that a text column holds many times over.
pub type Label = std::sync::Arc<str>;
