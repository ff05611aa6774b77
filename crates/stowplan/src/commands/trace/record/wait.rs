//! Waiting for the end of a process, for a signal, and for time, whichever comes first.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use stowplan_lttng::RECORDED;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// The process ended.
    Ended,
    /// A signal came; `to_all` if from the terminal, which sends it to each process of the foreground.
    Signal { number: i32, to_all: bool },
    /// The given instant has come.
    Time,
}

/// Signals of this process and the end of another.
#[derive(Debug)]
pub struct Waiting {
    signals: OwnedFd,
    process: OwnedFd,
}

impl Waiting {
    /// For the end of `pid`. The signals have to be blocked.
    pub fn new(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: the set is initialised before it is used; the descriptor is new and nobody else's.
        let signals = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for signal in RECORDED {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            match libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        Ok(Self {
            signals,
            process: pidfd_open(pid, PidfdFlags::empty())?,
        })
    }

    /// The next thing that happens.
    pub fn until(&self, instant: Instant) -> io::Result<Happened> {
        loop {
            let left = instant.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [&self.signals, &self.process].map(|fd| PollFd::new(fd, PollFlags::IN));
            match poll(&mut fds, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(Happened::Time),
                Ok(_) => {}
            }
            if !fds[0].revents().is_empty() {
                return self.signal();
            }
            return Ok(Happened::Ended);
        }
    }

    fn signal(&self) -> io::Result<Happened> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let bytes = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes whole structures into memory of their size (signalfd(2)).
        let info = unsafe {
            let read = libc::read(
                self.signals.as_fd().as_raw_fd(),
                info.as_mut_ptr().cast(),
                bytes,
            );
            if read.unsigned_abs() != bytes {
                return Err(io::Error::last_os_error());
            }
            info.assume_init()
        };
        Ok(Happened::Signal {
            number: info.ssi_signo.cast_signed(),
            to_all: info.ssi_code == libc::SI_KERNEL,
        })
    }
}
