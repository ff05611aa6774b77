//! Everything that a run makes on a machine, written down before it is made.
//!
//! One JSON-lines file a run and owner in [`folder`]: the first line is the [`Owner`], every further line an
//! [`Object`]. A line is written before the object exists, so that a killed owner leaves nothing that no ledger
//! names; [`clean`] removes what the ledgers of dead owners name, and nothing else.

mod clean;
mod daemons;
mod file;
mod owners;
mod scratch;

pub use crate::mount_table::unescape;
pub use clean::{Cleaned, RemoveFromEngine, clean, remove_object};
pub use daemons::DaemonVariables;
pub use file::{Ledger, folder};
pub use owners::living_owners;

pub use crate::object::Object;

use serde::{Deserialize, Serialize};

/// The process that made the objects: dead when no process has this pid and start time in this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Identity of the run.
    pub run: String,
    /// Pid.
    pub pid: u32,
    /// Field 22 of /proc/PID/stat.
    pub start_ticks: u64,
    /// Identity of the boot.
    pub boot: String,
    /// Where it looked for daemons.
    #[serde(default = "DaemonVariables::of_this_process")]
    pub daemons: DaemonVariables,
}

impl Owner {
    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.boot == crate::process::boot_id()
            && crate::process::is_alive(self.pid, self.start_ticks)
    }
}
