//! Signals as something to poll for, and what the process is called.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::NodeError;

/// Signals that this process takes by reading, not by handlers.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks these signals in this thread and in all that it starts. To be called before there are
    /// other threads.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn block(signals: &[libc::c_int]) -> Result<Self, NodeError> {
        // SAFETY: a signal set is plain memory that `sigemptyset` initialises; the other calls read it.
        let descriptor = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for &signal in signals {
                libc::sigaddset(&raw mut set, signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(last("block signals"));
            }
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            return Err(last("wait for signals"));
        }
        // SAFETY: a new descriptor that nothing else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Readable when a signal is pending.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The pending signals.
    pub fn take(&self) -> Vec<u32> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut bytes = [0_u8; 16 * SIZE];
        // Would block: none is pending.
        let read = rustix::io::read(&self.0, &mut bytes).unwrap_or(0);
        bytes[..read]
            .chunks_exact(SIZE)
            .map(|info| {
                // `ssi_signo` is the first field.
                let mut number = [0; 4];
                number.copy_from_slice(&info[..4]);
                u32::from_ne_bytes(number)
            })
            .collect()
    }
}

fn last(what: &'static str) -> NodeError {
    NodeError::System {
        what,
        source: std::io::Error::last_os_error(),
    }
}

/// Lets tools show the process under this name, cut as the kernel cuts it, instead of as `exe`.
pub fn name_process(name: &str) {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // Only how it is shown depends on it.
    let _named = rustix::thread::set_name(&name);
}

/// Whether one of them asks to end.
#[must_use]
pub fn asks_to_end(signals: &[u32]) -> bool {
    let ends = [libc::SIGTERM, libc::SIGINT];
    signals
        .iter()
        .any(|signal| ends.contains(&signal.cast_signed()))
}
