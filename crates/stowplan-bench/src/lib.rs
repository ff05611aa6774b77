//! The generic suite: benchmarks of CPU, memory, threads, disk and network at every place, in interleaved blocks.
//!
//! One static program runs everywhere, so that no compiler, library or userland differs between places. The reference is measured
//! twice in each block: what differs between the two is what this machine cannot tell apart.
#![forbid(unsafe_code)]

mod benchmarks;
mod cells;
mod execute;
mod floor;
mod medium;
mod published;
mod ratios;
mod reasons;
mod request;
mod rows;
mod start;
mod suite;
mod table;
mod toolbox;
mod tools;

pub use benchmarks::{Benchmark, Disk, names, names_of_tools};
pub use execute::{Executed, Session, begin, resume};
pub use floor::{FLOOR_LIMIT, Floor};
pub use medium::Medium;
pub use published::{Published, published};
pub use ratios::Ratio;
pub use request::{Request, Size};
pub use table::{BenchTable, Cell, TableRow};
pub use toolbox::{
    Toolbox, ToolboxError, ToolboxSpec, build as build_toolbox, digest_of as toolbox_digest,
};

/// Name of the suite in results.
pub const SUITE: &str = "bench";
