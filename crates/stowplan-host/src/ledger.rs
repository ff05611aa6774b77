//! Everything that a run makes on a machine, written down before it is made.

use serde::{Deserialize, Serialize};

/// Something that outlives its maker if nobody removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "kebab-case")]
pub enum Object {
    /// A process; entered by a process that exists already or is the maker's own.
    Process {
        /// Pid.
        pid: u32,
        /// Field 22 of /proc/PID/stat.
        start_ticks: u64,
    },
    /// A cgroup folder; its processes are killed before it is removed.
    Cgroup {
        /// Absolute path.
        path: String,
    },
    /// A mount point; unmounted lazily with everything below it.
    Mount {
        /// Absolute path.
        path: String,
    },
    /// A folder and everything in it.
    Folder {
        /// Absolute path.
        path: String,
    },
    /// A network link.
    Link {
        /// Interface name.
        name: String,
    },
    /// A container of an engine with a daemon; `stowplan clean` asks that engine.
    Container {
        /// Engine name.
        engine: String,
        /// Identity that the engine knows.
        id: String,
    },
}
