//! One recording: daemon, session, channel, contexts, events.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stowplan_host::HostError;
use stowplan_host::ledger::Object;

use crate::attach::{Attached, Container};
use crate::buffers::Buffers;
use crate::daemon::Daemon;
use crate::tools::Tools;

/// Name of the session in its own daemon, where it is the only one.
const SESSION: &str = "stowplan";

/// Name of the channel, which LTTng puts into the names of stream files; `ros2 trace` calls it so, too.
const CHANNEL: &str = "ros2";

/// What is recorded. Events of the second and third provider exist in patched middleware and with CARET only and cost
/// nothing elsewhere. The last two are LTTng's own: every program that reaches the daemon records them once, also one
/// that records nothing else.
const EVENTS: &str =
    "ros2:*,dds:*,ros2_caret:*,lttng_ust_statedump:start,lttng_ust_statedump:procname";

/// Contexts that every event gets, as `ros2 trace` adds them.
const CONTEXTS: [&str; 3] = ["vpid", "vtid", "procname"];

/// Contexts that tell containers apart, and the kernel's file of each. Pids, and with them all handles, are those of a
/// PID namespace; where containers share it their mounts still differ.
const NAMESPACES: [(&str, &str); 3] = [
    ("pid_ns", "pid"),
    ("cgroup_ns", "cgroup"),
    ("mnt_ns", "mnt"),
];

/// Longest wait for one command of `lttng`.
const COMMAND: Duration = Duration::from_secs(30);

/// Longest wait until consumers have written what buffers hold.
const FLUSH: Duration = Duration::from_secs(120);

/// What a recorder needs to begin.
#[derive(Debug)]
pub struct Options<'a> {
    /// The programs of LTTng.
    pub tools: &'a Tools,
    /// What tells this recorder from others of the machine.
    pub name: &'a str,
    /// Folder for the trace, which need not be there.
    pub trace_dir: &'a Path,
    /// Size of buffers.
    pub buffers: Buffers,
    /// A running container whose programs are recorded.
    pub container: Option<&'a Container>,
}

/// A recording that runs. Dropping it ends its daemon, and what buffers still held is lost.
#[derive(Debug)]
pub struct Recorder {
    daemon: Daemon,
    attached: Option<Attached>,
    home: PathBuf,
    left_out: Vec<String>,
}

/// What was recorded, as LTTng says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Contexts that this kernel or LTTng does not have.
    pub left_out: Vec<String>,
}

impl Recorder {
    /// Begins to record. Everything that is made is told to `enter` before.
    ///
    /// # Errors
    /// When LTTng refuses something; its words are in the error.
    pub fn start(
        options: &Options<'_>,
        enter: &mut dyn FnMut(&Object) -> Result<(), HostError>,
    ) -> Result<Self, HostError> {
        let home = home(options.name);
        let prepared = options
            .container
            .map(|container| Attached::prepare(options.tools, container, enter))
            .transpose()?;
        let socket = prepared.as_ref().map(Attached::socket);
        let daemon = Daemon::start(options.tools, &home, socket, enter)?;
        let mut recorder = Self {
            daemon,
            attached: prepared,
            home,
            left_out: Vec::new(),
        };
        recorder.set_up(options)?;
        if let Some(attached) = &recorder.attached {
            attached.wake()?;
        }
        Ok(recorder)
    }

    fn set_up(&mut self, options: &Options<'_>) -> Result<(), HostError> {
        let dir = std::path::absolute(options.trace_dir)
            .map_err(|e| HostError::io("find", options.trace_dir, e))?;
        let output = format!("--output={}", dir.display());
        let format = options.tools.format_option();
        self.lttng(&[&["create", SESSION, &output][..], format].concat())?;
        let size = format!("--subbuf-size={}", options.buffers.sub_buffer_bytes);
        let number = format!("--num-subbuf={}", options.buffers.sub_buffers);
        let channel = [
            "enable-channel",
            "--userspace",
            "--session",
            SESSION,
            "--discard",
            "--buffers-uid",
        ];
        self.lttng(&[&channel[..], &[&size, &number, CHANNEL]].concat())?;
        self.lttng(&[
            "enable-event",
            "--userspace",
            "--session",
            SESSION,
            "--channel",
            CHANNEL,
            EVENTS,
        ])?;
        for context in CONTEXTS {
            self.add_context(context)?;
        }
        for (context, file) in NAMESPACES {
            let known = Path::new("/proc/self/ns").join(file).exists();
            if !known || self.add_context(context).is_err() {
                self.left_out.push(context.to_owned());
            }
        }
        self.lttng(&["start", SESSION])
    }

    fn add_context(&self, context: &str) -> Result<(), HostError> {
        self.lttng(&[
            "add-context",
            "--userspace",
            "--session",
            SESSION,
            "--channel",
            CHANNEL,
            "--type",
            context,
        ])
    }

    fn lttng(&self, arguments: &[&str]) -> Result<(), HostError> {
        self.daemon.lttng(arguments, COMMAND).map(drop)
    }

    /// Environment in which programs find the daemon.
    #[must_use]
    pub fn environment(&self) -> [(String, String); 1] {
        [("LTTNG_HOME".to_owned(), self.home.display().to_string())]
    }

    /// Folder that a container must have at the same place for its programs to find the daemon.
    #[must_use]
    pub fn sockets(&self) -> PathBuf {
        self.daemon.folder()
    }

    /// The processes that record: their CPU time and memory are the recorder's cost, not the programs'.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        stowplan_host::process::tree_of(self.daemon.pid())
    }

    /// Whether the daemon is in the place of root's own.
    #[must_use]
    pub fn is_system_wide(&self) -> bool {
        self.daemon.is_system_wide()
    }

    /// Stops recording, waits until everything is written, ends the daemon and removes its files.
    ///
    /// # Errors
    /// When LTTng cannot write what it holds; the daemon is ended nevertheless.
    pub fn stop(self) -> Result<Recorded, HostError> {
        let stopped = self.daemon.lttng(&["stop", SESSION], FLUSH);
        let destroyed = self.daemon.lttng(&["destroy", SESSION], FLUSH);
        if let Some(attached) = self.attached {
            attached.detach()?;
        }
        self.daemon.end()?;
        stopped.and(destroyed)?;
        Ok(Recorded {
            left_out: self.left_out,
        })
    }
}

/// Folder of the daemon. On /dev/shm, which containers have for themselves: there it can be shown to them without
/// writing to their images. Short, because sockets lie in it (107 bytes, unix(7)).
fn home(name: &str) -> PathBuf {
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() {
        shm.to_owned()
    } else {
        std::env::temp_dir()
    };
    base.join(format!("stowplan-{name}-lttng"))
}
