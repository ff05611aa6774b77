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

pub use clean::{Cleaned, RemoveFromEngine, clean, remove_object, unescape};
pub use daemons::DaemonVariables;
pub use file::{Ledger, folder};
pub use owners::living_owners;

use serde::{Deserialize, Serialize};

/// Something that outlives its maker if nobody removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "kebab-case")]
pub enum Object {
    /// A process, entered while it still waits for the word to run its program.
    Process {
        /// Pid.
        pid: u32,
        /// Field 22 of /proc/PID/stat.
        start_ticks: u64,
    },
    /// A cgroup folder; its processes, and cgroups below it, are removed with it.
    Cgroup {
        /// Absolute path.
        path: String,
    },
    /// A mount point; everything mounted on it or below it is unmounted.
    Mount {
        /// Absolute path.
        path: String,
    },
    /// A folder and everything in it.
    Folder {
        /// Absolute path.
        path: String,
    },
    /// Empty folders in a folder that all share, which a program of the run has made and left.
    Scratch {
        /// Absolute path of the folder that has them.
        folder: String,
        /// How their names begin.
        prefix: String,
        /// Those made before are not the run's: CLOCK_REALTIME ns.
        since_ns: u64,
    },
    /// A file or folder as a process sees it, below /proc/PID/root; nothing is to be removed once that has ended.
    InRoot {
        /// Pid.
        pid: u32,
        /// Field 22 of /proc/PID/stat.
        start_ticks: u64,
        /// Absolute path without links.
        path: String,
    },
    /// A network link.
    Link {
        /// Interface name.
        name: String,
    },
    /// A container of an engine with a daemon; only that engine can remove it.
    Container {
        /// Engine name.
        engine: String,
        /// Identity that the engine knows.
        id: String,
    },
    /// An image in the store of an engine with a daemon; only that engine can remove it.
    Image {
        /// Engine name.
        engine: String,
        /// Tag of the image.
        tag: String,
    },
    /// A storage pool of an engine with a daemon; only that engine can remove it.
    Pool {
        /// Engine name.
        engine: String,
        /// Name of the pool.
        name: String,
    },
}

impl Object {
    /// The engine with a daemon that has it, which alone can remove it.
    #[must_use]
    pub fn engine(&self) -> Option<&str> {
        match self {
            Self::Container { engine, .. }
            | Self::Image { engine, .. }
            | Self::Pool { engine, .. } => Some(engine),
            _ => None,
        }
    }
}

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
