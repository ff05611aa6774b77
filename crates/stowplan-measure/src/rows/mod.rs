//! From what a run gave to the rows of its result.

mod callbacks;
mod edges;
mod latency;
mod losses;
mod memory;
mod outputs;
mod processes;
mod startup;
mod usage;

pub use callbacks::{Known, callback_rows};
pub use edges::edge_rows;
pub use latency::latency_rows;
pub use losses::loss_rows;
pub use memory::memory_rows;
pub use outputs::output_rows;
pub use processes::{Modules, process_rows};
pub use startup::{StartUpFacts, startup_rows};
pub use usage::usage_rows;

use stowplan_results::Label;

use crate::session::MeasuredHost;

/// Which run the rows belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    /// Number of the run, from 1.
    pub run: u32,
    /// Block, from 1.
    pub block: u32,
    /// Id of the deployment.
    pub deployment: Label,
}

/// What a host gave, of a run.
#[derive(Debug, Clone, Copy)]
pub struct HostRows<'a> {
    /// Which run.
    pub key: &'a RunKey,
    /// What it gave.
    pub of: &'a MeasuredHost,
}

impl HostRows<'_> {
    fn host(self) -> Option<Label> {
        Some(self.of.host.0.as_str().into())
    }
}

/// `t` relative to `zero`, both CLOCK_MONOTONIC ns.
fn since(zero: u64, t: u64) -> i64 {
    let signed = |x: u64| i64::try_from(x).unwrap_or(i64::MAX);
    signed(t) - signed(zero)
}
