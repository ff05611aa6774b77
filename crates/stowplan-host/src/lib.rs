//! What a host can be asked, and the local machine: cgroups, facts, sampling, run folders, ledger.

pub mod cgroup;
pub mod cold;
pub mod digest;
mod error;
pub mod facts;
mod host;
pub mod ledger;
mod local;
pub mod open_files;
pub mod process;
pub mod quiet;
pub mod rundir;
pub mod sampler;

pub use error::{HostError, chain};
pub use host::Host;
pub use local::LocalHost;
