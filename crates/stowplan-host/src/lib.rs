//! What a host can be asked, and the local machine: cgroups, facts, sampling, run folders, ledger.

mod error;
mod host;
pub mod ledger;

pub use error::{HostError, chain};
pub use host::Host;
