//! An agent that is a child of this process, behind two pipes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use stowplan_engine::EngineError;

use crate::transport::{Ending, Received, Transport};

/// How long an agent that was killed, or has closed its output, is waited for.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// An agent that is a child of this process.
#[derive(Debug)]
pub(crate) struct ChildAgent {
    program: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Its standard error: a file in memory, told when it dies.
    errors: File,
}

impl ChildAgent {
    /// Starts the program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn spawn(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
    ) -> Result<Self, EngineError> {
        let failed = || EngineError::new(format!("cannot start {}", program.display()));
        let errors = rustix::fs::memfd_create("stowplan-agent-errors", MemfdFlags::CLOEXEC)
            .map(File::from)
            .map_err(|e| failed().because(e))?;
        let theirs = errors.try_clone().map_err(|e| failed().because(e))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(theirs)
            .envs(environment.iter().copied())
            .spawn()
            .map_err(|e| failed().because(e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed());
        };
        Ok(Self {
            program: program.to_owned(),
            child,
            input: Some(input),
            output,
            errors,
        })
    }

    /// The end of its standard error.
    fn said(&mut self) -> String {
        let mut text = Vec::new();
        let length = self.errors.metadata().map_or(0, |meta| meta.len());
        let from = SeekFrom::Start(length.saturating_sub(4096));
        if self.errors.seek(from).is_ok() {
            let _ = self.errors.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    }
}

impl Transport for ChildAgent {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes).and_then(|()| input.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn receive(&mut self, into: &mut [u8], longest: Duration) -> io::Result<Received> {
        let timeout = Timespec::try_from(longest).ok();
        let mut fds = [PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Received::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match self.output.read(into) {
            Ok(0) => Ok(Received::End),
            Ok(length) => Ok(Received::Bytes(length)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Received::Nothing),
            Err(error) => Err(error),
        }
    }

    fn end(&mut self, how: Ending) -> String {
        // End of its input tells the agent to remove everything and end.
        self.input = None;
        let longest = match how {
            Ending::Farewell(time) => time,
            Ending::Kill => {
                let _ = self.child.kill();
                LAST_WAIT
            }
        };
        let status = wait_for(&mut self.child, longest);
        let status = status.map_or_else(|| "it still runs".to_owned(), |status| status.to_string());
        match self.said() {
            said if said.is_empty() => status,
            said => format!("{status}; it said: {said}"),
        }
    }

    fn name(&self) -> String {
        format!("{} (pid {})", self.program.display(), self.child.id())
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Waits for the end of a child, at most `time`.
fn wait_for(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    // Once it was waited for, its number may be that of another process.
    if let Ok(Some(status)) = child.try_wait() {
        return Some(status);
    }
    let handle = rustix::process::Pid::from_raw(child.id().cast_signed())?;
    if let Ok(fd) = rustix::process::pidfd_open(handle, rustix::process::PidfdFlags::empty()) {
        let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
        // An interrupted wait only means that the child is asked too early and left alone.
        let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
    }
    child.try_wait().ok().flatten()
}

impl Drop for ChildAgent {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
