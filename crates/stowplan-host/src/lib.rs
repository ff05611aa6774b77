//! What a host can be asked, and the local machine: cgroups, facts, sampling, run folders, ledger.

pub mod cgroup;
mod error;
mod host;
pub mod ledger;
pub mod process;

pub use error::{HostError, chain};
pub use host::Host;
