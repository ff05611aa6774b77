//! Whether the program of a container was really executed: a pipe that execve(2) closes.
//!
//! Libcontainer, as runc, calls a container started when its first process was told to go on. What comes after that, and may
//! fail, is still the engine's work.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::pipe::{PipeFlags, pipe_with};

use super::error::{Context as _, HelperError};

/// The helper's end.
pub(crate) struct Executed(File);

/// The end of the container's first process, by the descriptor that it inherits and that is closed when it executes its
/// program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reporter(RawFd);

/// A pipe for one container. The descriptor has to stay open until the first process is there, and no longer.
pub(crate) fn pipe() -> Result<(Executed, Reporter, OwnedFd), HelperError> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).context("cannot make a pipe")?;
    Ok((Executed(read.into()), Reporter(write.as_raw_fd()), write))
}

impl Executed {
    /// Waits until the program was executed, or the process has ended before it could be.
    pub(crate) fn wait(&mut self) -> Result<(), HelperError> {
        let mut failure = String::new();
        self.0
            .read_to_string(&mut failure)
            .context("cannot read whether the program was executed")?;
        if failure.is_empty() {
            return Ok(());
        }
        Err(HelperError::new(failure))
    }
}

impl Reporter {
    /// Tells why the program could not be executed.
    pub(crate) fn failed(self, why: &str) {
        // SAFETY: the first process inherits the descriptor, and libcontainer only marks it close-on-exec.
        let end = unsafe { BorrowedFd::borrow_raw(self.0) };
        // A helper that is gone needs no reason.
        let _ = rustix::io::write(end, why.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_means_executed() {
        let (mut executed, _, end) = pipe().unwrap();
        drop(end);
        executed.wait().unwrap();
    }

    #[test]
    fn a_reason_arrives() {
        let (mut executed, reporter, end) = pipe().unwrap();
        reporter.failed("cannot execute x: it is none");
        drop(end);
        let error = executed.wait().unwrap_err();
        assert_eq!(error.to_string(), "cannot execute x: it is none");
    }
}
