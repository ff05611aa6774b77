//! Programs of a container that runs already.
//!
//! They look for the session daemon in their own root and wait for it on a futex in their own /dev/shm. So the daemon
//! listens in the container's /run/lttng, which the host reaches below /proc/PID/root, and the futex is woken from
//! here. Nothing is mounted and no setting of the container is changed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use stowplan_host::ledger::Object;
use stowplan_host::{HostError, process};

use crate::tools::Tools;

/// Bytes of that file that are mapped: it holds one futex.
const WAIT_BYTES: usize = 4096;

/// A running container, by the pid of its first process on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    /// Pid on the host.
    pub pid: u32,
    /// Field 22 of /proc/PID/stat: pids are re-used.
    pub start_ticks: u64,
}

impl Container {
    /// The one in which the process `pid` runs.
    ///
    /// # Errors
    /// When there is no such process, or it shares the host's mounts and so is in no container.
    pub fn of(pid: u32) -> Result<Self, HostError> {
        let start_ticks = process::start_ticks(pid)
            .ok_or_else(|| HostError::new(format!("there is no process {pid}")))?;
        let namespace = |of: &str| {
            let path = format!("/proc/{of}/ns/mnt");
            fs::read_link(&path).map_err(|e| {
                HostError::io("look at", path.as_ref(), e).hint("recording a container needs root")
            })
        };
        if namespace(&pid.to_string())? == namespace("self")? {
            return Err(HostError::new(format!(
                "process {pid} has the mounts of this one: it is in no container of its own"
            ))
            .hint("start its command with `stowplan trace record -o DIR -- COMMAND`"));
        }
        Ok(Self { pid, start_ticks })
    }

    /// Its processes on the host: those with the same mounts.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let mounts = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let Some(own) = mounts(self.pid) else {
            return Vec::new();
        };
        process::all()
            .filter(|pid| mounts(*pid).as_ref() == Some(&own))
            .collect()
    }

    fn root(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.pid))
    }
}

/// The place of the daemon's socket in a container.
#[derive(Debug)]
pub(crate) struct Attached {
    container: Container,
    folder: PathBuf,
    made: bool,
    socket: PathBuf,
    wait_file: PathBuf,
}

impl Attached {
    /// Makes the folder of the socket where there is none.
    pub(crate) fn prepare(
        tools: &Tools,
        container: &Container,
        enter: &mut dyn FnMut(&Object) -> Result<(), HostError>,
    ) -> Result<Self, HostError> {
        // A link in the container is relative to its root and must not be followed from here.
        let base = container.root().join("run");
        let is_folder = fs::symlink_metadata(&base).is_ok_and(|meta| meta.is_dir());
        let var_run = fs::read_link(container.root().join("var/run"));
        let leads_there =
            var_run.is_ok_and(|to| to.ends_with("run") && to.components().count() <= 2);
        if !(is_folder && leads_there) {
            return Err(HostError::new(format!(
                "the container of process {} has no /run with a link /var/run to it, where programs look for LTTng",
                container.pid
            )));
        }
        let folder = base.join("lttng");
        let name = tools.apps_socket();
        let socket = folder.join(&name);
        if UnixStream::connect(&socket).is_ok() {
            return Err(HostError::new(format!(
                "a session daemon of LTTng runs in the container of process {} already",
                container.pid
            ))
            .hint("end it: programs know only one of root"));
        }
        let made = !folder.exists();
        let entered = if made {
            "/run/lttng".to_owned()
        } else {
            format!("/run/lttng/{name}")
        };
        enter(&Object::InRoot {
            pid: container.pid,
            start_ticks: container.start_ticks,
            path: entered,
        })?;
        if made {
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o755);
            builder
                .create(&folder)
                .map_err(|e| HostError::io("make", &folder, e))?;
        }
        Ok(Self {
            container: *container,
            folder,
            made,
            socket,
            wait_file: container.root().join("dev/shm").join(tools.wait_file()),
        })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Wakes the programs that wait for a daemon.
    pub(crate) fn wake(&self) -> Result<(), HostError> {
        self.announce(1)
    }

    /// Removes what was made; the daemon has ended.
    pub(crate) fn detach(&self) -> Result<(), HostError> {
        if !process::is_alive(self.container.pid, self.container.start_ticks) {
            return Ok(());
        }
        self.announce(0)?;
        let removed = if self.made {
            fs::remove_dir_all(&self.folder)
        } else {
            fs::remove_file(&self.socket)
        };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(HostError::io("remove", &self.folder, e))
            }
            _ => Ok(()),
        }
    }

    /// Says whether there is a daemon, as `futex_wait_update` of LTTng-tools does.
    fn announce(&self, there: u32) -> Result<(), HostError> {
        let path = &self.wait_file;
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path);
        let file = match opened {
            // No program of the container has looked for a daemon yet.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|e| HostError::io("open", path, e))?,
        };
        set_futex(&file, there).map_err(|e| HostError::io("map", path, e))
    }
}

fn set_futex(file: &File, value: u32) -> std::io::Result<()> {
    if file.metadata()?.len() < WAIT_BYTES as u64 {
        // Whoever makes it has not sized it yet, and so waits for nothing.
        return Ok(());
    }
    // SAFETY: a shared mapping of a file that is large enough, used only as an atomic and unmapped below.
    let mapped = unsafe {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        mmap(
            std::ptr::null_mut(),
            WAIT_BYTES,
            protection,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    // SAFETY: the mapping is page-aligned, lives until the call below, and other processes use it as an atomic, too.
    unsafe {
        let futex = AtomicU32::from_ptr(mapped.cast());
        futex.store(value, Ordering::SeqCst);
        if value != 0 {
            let wake = libc::FUTEX_WAKE;
            libc::syscall(libc::SYS_futex, futex.as_ptr(), wake, i32::MAX, 0, 0, 0);
        }
        munmap(mapped, WAIT_BYTES)?;
    }
    Ok(())
}
