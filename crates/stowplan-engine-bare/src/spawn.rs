//! Making a process that waits for the word before it runs its program.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::program::Prepared;

/// A process that was made here.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pidfd: OwnedFd,
    /// Writing a byte lets the program run; closing it ends the waiting process.
    release: Option<OwnedFd>,
    /// Closed by the kernel when the program runs, or carries the reason why not.
    outcome: OwnedFd,
    reaped: bool,
}

/// Where the process belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// Output and errors.
    pub(crate) log: BorrowedFd<'a>,
    /// Input.
    pub(crate) null: BorrowedFd<'a>,
    /// A session of its own instead of only a process group.
    pub(crate) session: bool,
}

fn null_ended(texts: &[CString]) -> Vec<*const c_char> {
    texts
        .iter()
        .map(|text| text.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

/// Forks a process that waits. Everything it needs is made before the fork: between fork and exec it calls
/// nothing that allocates or locks.
pub(crate) fn park(program: &Prepared, layout: Layout<'_>) -> io::Result<Child> {
    let arguments = null_ended(&program.arguments);
    let environment = null_ended(&program.environment);
    let flags = rustix::pipe::PipeFlags::CLOEXEC;
    let (release_read, release) = rustix::pipe::pipe_with(flags)?;
    let (outcome, outcome_write) = rustix::pipe::pipe_with(flags)?;
    let parent = std::process::id();
    // SAFETY: the child calls only async-signal-safe functions until it executes or exits.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        let ends = [
            release_read.as_raw_fd(),
            release.as_raw_fd(),
            outcome_write.as_raw_fd(),
        ];
        // SAFETY: this is the child of a fork; the pointers are null-ended arrays of C strings that the parent
        // made before it.
        unsafe { child(program, &arguments, &environment, ends, layout, parent) }
    }
    let pid = pid.unsigned_abs();
    let handle = Pid::from_raw(pid.cast_signed()).ok_or_else(io::Error::last_os_error)?;
    Ok(Child {
        pid,
        start_ticks: stowplan_host::process::start_ticks(pid).unwrap_or(0),
        pidfd: pidfd_open(handle, PidfdFlags::empty())?,
        release: Some(release),
        outcome,
        reaped: false,
    })
}

/// What the child does.
///
/// # Safety
/// Only for the child of a fork; `arguments` and `environment` end with a null pointer.
unsafe fn child(
    program: &Prepared,
    arguments: &[*const c_char],
    environment: &[*const c_char],
    [wait, release, outcome]: [RawFd; 3],
    layout: Layout<'_>,
    parent: u32,
) -> ! {
    // SAFETY: plain system calls on descriptors that the parent made for this.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if let Some(ids) = program.user {
            let done = libc::setgroups(1, &raw const ids.group) == 0
                && libc::setresgid(ids.group, ids.group, ids.group) == 0
                && libc::setresuid(ids.user, ids.user, ids.user) == 0;
            if !done {
                fail(outcome);
            }
        }
        // After that: a change of user clears it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid().unsigned_abs() != parent {
            libc::_exit(126);
        }
        if layout.session {
            libc::setsid();
        } else {
            libc::setpgid(0, 0);
        }
        libc::dup2(layout.null.as_raw_fd(), 0);
        libc::dup2(layout.log.as_raw_fd(), 1);
        libc::dup2(layout.log.as_raw_fd(), 2);
        libc::close(release);
        if libc::chdir(program.working_dir.as_ptr()) != 0 {
            fail(outcome);
        }
        let mut word = 0_u8;
        loop {
            match libc::read(wait, (&raw mut word).cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(126),
            }
        }
        libc::execve(
            program.path.as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        fail(outcome)
    }
}

/// Tells why the program cannot run, and ends.
///
/// # Safety
/// Only for the child of a fork, after a call that set errno.
unsafe fn fail(outcome: RawFd) -> ! {
    // SAFETY: plain system calls on a descriptor that the parent made for this.
    unsafe {
        let reason = *libc::__errno_location();
        libc::write(outcome, (&raw const reason).cast(), size_of::<i32>());
        libc::_exit(127)
    }
}

impl Child {
    /// Lets the program run; the outcome comes by [`Child::outcome`].
    pub(crate) fn release(&mut self) -> io::Result<()> {
        if let Some(release) = self.release.take() {
            match rustix::io::write(&release, &[1]) {
                // One that has ended already tells by its outcome why.
                Ok(_) | Err(rustix::io::Errno::PIPE) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until the program runs or could not be executed.
    pub(crate) fn outcome(&self) -> io::Result<()> {
        let mut reason = [0; 4];
        loop {
            match rustix::io::read(&self.outcome, &mut reason) {
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
                Ok(0) => return Ok(()),
                Ok(_) => return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(reason))),
            }
        }
    }

    /// Readable when the process has ended.
    pub(crate) fn ended_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The wait status (exit code, or 128 + signal) if it has ended; reaps it.
    pub(crate) fn try_reap(&mut self) -> Option<i32> {
        self.reap(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    }

    /// Waits until it has ended; reaps it.
    pub(crate) fn wait(&mut self) {
        self.reap(WaitIdOptions::EXITED);
    }

    fn reap(&mut self, options: WaitIdOptions) -> Option<i32> {
        if self.reaped {
            return None;
        }
        let status = loop {
            match waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break None,
                Ok(status) => break status,
            }
        }?;
        self.reaped = true;
        status
            .exit_status()
            .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
    }

    pub(crate) const fn is_reaped(&self) -> bool {
        self.reaped
    }

    /// Sends a signal to the process, or with `group` to its process group.
    pub(crate) fn signal(&self, signal: rustix::process::Signal, group: bool) {
        if self.reaped {
            return;
        }
        // The group of process 1 would be every process of the machine (kill(2)).
        if group
            && self.pid > 1
            && let Some(pid) = Pid::from_raw(self.pid.cast_signed())
        {
            // The group may be empty already.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }
}
