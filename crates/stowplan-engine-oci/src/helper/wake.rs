//! Waiting for the next thing that happens: a line from the agent, the end of a child, lack of memory.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use super::error::{Context as _, HelperError};

/// Where the handler of SIGCHLD writes.
static CHILD_EVENT: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_child(_signal: libc::c_int) {
    let one = 1_u64.to_ne_bytes();
    let descriptor = CHILD_EVENT.load(Ordering::Relaxed);
    // SAFETY: write(2) is async-signal-safe, and the buffer has the eight bytes that an eventfd takes. A failure can
    // only mean that the counter is full, and then the poll wakes anyway.
    unsafe { libc::write(descriptor, one.as_ptr().cast(), one.len()) };
}

/// Blocks no signal any more; what the agent blocks for itself passes on to its helpers.
pub(crate) fn unblock_signals() {
    // SAFETY: `sigset_t` is plain data, made empty before it is used, and lives until the calls return.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// A descriptor that becomes readable when a child has ended.
///
/// A handler and not signalfd(2): that needs SIGCHLD blocked, and a blocked signal stays so in the container's
/// programs, while a handler goes at exec.
pub(crate) fn child_events() -> Result<OwnedFd, HelperError> {
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .context("cannot make an eventfd")?;
    CHILD_EVENT.store(event.as_raw_fd(), Ordering::Relaxed);
    // SAFETY: `sigaction` is plain data for which all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_child as *const () as usize;
    action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
    // SAFETY: the handler only makes an async-signal-safe call, and `action` lives until the call returns.
    if unsafe { libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error()).context("cannot handle SIGCHLD");
    }
    Ok(event)
}

/// Empties an eventfd.
pub(crate) fn drain(event: &OwnedFd) {
    let mut count = [0; 8];
    let _ = rustix::io::read(event, &mut count);
}

/// Lines of a descriptor, read only when it is readable.
pub(crate) struct Lines {
    from: RawFd,
    buffer: Vec<u8>,
}

impl Lines {
    pub(crate) const fn new(from: RawFd) -> Self {
        Self {
            from,
            buffer: Vec::new(),
        }
    }

    /// The next line that has already been read.
    pub(crate) fn next_read(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let rest = self.buffer.split_off(end + 1);
        let line = std::mem::replace(&mut self.buffer, rest);
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Reads once; false at end of file.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 16_384];
        // SAFETY: the descriptor is this process's standard input, which stays open.
        let from = unsafe { std::os::fd::BorrowedFd::borrow_raw(self.from) };
        let count = loop {
            match rustix::io::read(from, &mut chunk) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        self.buffer.extend_from_slice(&chunk[..count]);
        Ok(count > 0)
    }

    /// Waits for a whole line; `None` at end of file.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(line) = self.next_read() {
                return Ok(Some(line));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }
}

/// Sends one document as a line. An agent that is gone is noticed by its closed pipe, so failures are ignored here.
pub(crate) fn tell(message: &crate::protocol::Message) {
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        let mut out = io::stdout().lock();
        let _ = out.write_all(&line);
        let _ = out.flush();
    }
}
