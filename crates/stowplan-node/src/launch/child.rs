//! A process of the service, as its launcher has it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Pid;

use crate::dds::Matching;
use crate::error::NodeError;
use crate::link::Link;

/// A started process.
#[derive(Debug)]
pub struct Child {
    /// Which process of the plan.
    pub process: usize,
    /// Its process id.
    pub pid: Pid,
    /// The connection to it.
    pub link: Link,
    /// Becomes readable when its load service is discovered; `None` when there is nothing to discover
    /// (any more).
    pub discovery: Option<&'static Matching>,
    /// Its end of the link is closed.
    pub hung_up: bool,
}

impl Child {
    /// Starts `exec` for a process. It dies with this thread, which is the launcher's first and lives
    /// as long as the launcher.
    pub fn start(
        process: usize,
        name: &str,
        plan: &Path,
        files: &Path,
        discovery: Option<&'static Matching>,
    ) -> Result<Self, NodeError> {
        let (link, other) = Link::pair()?;
        let spawned = spawn(name, plan, files, &other);
        let pid = spawned.map_err(|source| NodeError::Spawn {
            process: name.to_owned(),
            source,
        })?;
        Ok(Self {
            process,
            pid,
            link,
            discovery,
            hung_up: false,
        })
    }
}

fn spawn(name: &str, plan: &Path, files: &Path, link: &OwnedFd) -> std::io::Result<Pid> {
    let (fd, parent) = (link.as_raw_fd(), rustix::process::getpid());
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("stowplan-node")
        .arg("exec")
        .arg(plan)
        .arg(name);
    command.arg("--files").arg(files);
    command.arg("--load-fd").arg(fd.to_string());
    let prepare = move || {
        // SAFETY: plain system calls, which are all that is allowed between fork and exec: the
        // launcher has other threads.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                || libc::fcntl(fd, libc::F_SETFD, 0) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            // The launcher died before the line above.
            if libc::getppid() != parent.as_raw_nonzero().get() {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and calls only what is safe after fork.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    // The launcher waits for all its children at once.
    Ok(Pid::from_child(&child))
}
