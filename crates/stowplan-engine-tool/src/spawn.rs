//! The program that holds a container.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use stowplan_engine::{EngineError, NODE_ENVIRONMENT};
use stowplan_host::{open_files, scheduling};
use stowplan_wire::deployment::SchedulingPlan;

use crate::ask::wait_until;
use crate::tool::Invocation;

/// A process known by a descriptor, which no other process can take over.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    fd: OwnedFd,
}

impl Handle {
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        let raw = Pid::from_raw(pid.cast_signed())
            .ok_or_else(|| io::Error::other(format!("{pid} is no process")))?;
        let fd = pidfd_open(raw, PidfdFlags::empty())?;
        Ok(Self {
            pid,
            start_ticks: stowplan_host::process::start_ticks(pid).unwrap_or(0),
            fd,
        })
    }

    /// Sends a signal; one that has ended needs none.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.fd, signal);
    }

    /// Readable when it has ended.
    pub(crate) fn ended_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Waits until it has ended, at most `patience`. Whether it has.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        wait_until(self.fd.as_fd(), patience)
    }
}

/// The program that holds a container: it ends with the container, and the container with it.
#[derive(Debug)]
pub(crate) struct Holder {
    child: Child,
    pub(crate) handle: Handle,
    status: Option<ExitStatus>,
}

impl Holder {
    /// Starts it in the control groups whose `cgroup.procs` these are, with this scheduling class.
    pub(crate) fn spawn(
        invocation: &Invocation,
        log: &File,
        groups: Vec<File>,
        class: Option<SchedulingPlan>,
        notices: Option<&Path>,
    ) -> Result<Self, EngineError> {
        let failed = |what: &str| {
            let class = class.map_or_else(String::new, |class| {
                format!(" in its control group with the scheduling class {class:?}")
            });
            EngineError::new(format!("cannot {what} '{invocation}'{class}"))
        };
        let copy = |file: &File| {
            let copied = file.try_clone();
            copied.map_err(|e| failed("write the log of").because(e))
        };
        let mut command = Command::new(&invocation.program);
        command
            .args(&invocation.arguments)
            .env_clear()
            .envs(NODE_ENVIRONMENT)
            .envs(invocation.environment.iter().cloned())
            .envs(notices.map(|path| ("NOTIFY_SOCKET", path)))
            .stdin(Stdio::null())
            .stdout(copy(log)?)
            .stderr(copy(log)?);
        let parent = std::process::id();
        // SAFETY: the caller has one thread, so the child of its fork may do anything.
        unsafe { command.pre_exec(move || enter(&groups, class, parent)) };
        let mut child = command.spawn().map_err(|e| {
            failed("start")
                .because(e)
                .hint("see 'stowplan doctor' for what this machine can do")
        })?;
        let handle = Handle::open(child.id()).inspect_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
        });
        let handle = handle.map_err(|e| failed("watch").because(e))?;
        Ok(Self {
            child,
            handle,
            status: None,
        })
    }

    /// The status (exit code, or 128 + signal) if it has ended and was not asked before; reaps it.
    pub(crate) fn try_reap(&mut self) -> Option<i32> {
        if self.status.is_some() {
            return None;
        }
        let status = self.child.try_wait().ok()??;
        self.status = Some(status);
        let signal = status.signal().map(|signal| 128 + signal);
        status.code().or(signal)
    }

    pub(crate) const fn is_reaped(&self) -> bool {
        self.status.is_some()
    }

    /// Waits until it has ended by itself, at most `patience`; then kills it.
    pub(crate) fn end(&mut self, patience: Duration) {
        if self.is_reaped() {
            return;
        }
        if !self.handle.wait(patience) {
            self.handle.signal(Signal::KILL);
        }
        self.status = self.child.wait().ok();
    }
}

/// What the child does before it becomes the program.
fn enter(groups: &[File], class: Option<SchedulingPlan>, parent: u32) -> io::Result<()> {
    // SAFETY: plain system calls on a local signal set.
    unsafe {
        // The agent blocks those that end it, and what it starts would inherit that.
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid().unsigned_abs() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // The session of the caller is one for all, as that of a login shell that starts them; a group of its own
        // keeps signals to one from the others.
        libc::setpgid(0, 0);
    }
    for file in groups {
        // The kernel takes 0 for the writing process (cgroups(7)).
        // SAFETY: writes one byte of a constant to an open descriptor.
        if unsafe { libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) } != 1 {
            return Err(io::Error::last_os_error());
        }
    }
    open_files::restore(std::process::id()).map_err(|_| io::Error::last_os_error())?;
    match class {
        Some(class) => scheduling::set_class(0, class).map_err(|_| io::Error::last_os_error()),
        None => Ok(()),
    }
}
