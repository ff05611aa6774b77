//! What a run makes on a machine.

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
