//! The pipe to an agent: a request, then its reply.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use stowplan_engine::EngineError;
use stowplan_wire::agent::{Answer, Call, Reply, Request};

use crate::timeouts::{timeout_of, verb_of};

/// Longest wait for the end of an agent that was told to end.
const FAREWELL: Duration = Duration::from_secs(60);

/// A running agent.
#[derive(Debug)]
pub(crate) struct Pipe {
    program: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Its standard error: a file in memory, told when it dies.
    errors: File,
    buffer: Vec<u8>,
    next: u64,
    broken: Option<String>,
}

impl Pipe {
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
            buffer: Vec::new(),
            next: 1,
            broken: None,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a call and waits for its reply.
    pub(crate) fn call(&mut self, call: Call) -> Result<Answer, EngineError> {
        if let Some(why) = &self.broken {
            return Err(EngineError::new(why.clone()).hint(CLEAN));
        }
        let verb = verb_of(&call);
        let deadline = Instant::now() + timeout_of(&call);
        let id = self.next;
        self.next += 1;
        let mut text = serde_json::to_vec(&Request { id, call })
            .map_err(|e| EngineError::new(format!("cannot write the call {verb}")).because(e))?;
        text.push(b'\n');
        let sent = match &mut self.input {
            Some(input) => input.write_all(&text).and_then(|()| input.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        if sent.is_err() {
            return Err(self.give_up(&verb, "is gone"));
        }
        loop {
            let Some(line) = self.line(deadline, &verb)? else {
                continue;
            };
            let reply: Reply = match serde_json::from_slice(&line) {
                Ok(reply) => reply,
                Err(error) => {
                    return Err(self.give_up(&verb, "said what is no reply").because(error));
                }
            };
            if reply.id == id {
                return reply.result.map_err(EngineError::from);
            }
        }
    }

    /// The next line, or `None` when only a part has come yet.
    fn line(&mut self, deadline: Instant, verb: &str) -> Result<Option<Vec<u8>>, EngineError> {
        if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let rest = self.buffer.split_off(end + 1);
            return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) if left.is_zero() => return Err(self.give_up(verb, "gave no reply in time")),
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(self.give_up(verb, "cannot be waited for").because(error)),
        }
        let mut part = [0; 64 * 1024];
        match self.output.read(&mut part) {
            Ok(length) if length > 0 => {
                self.buffer.extend_from_slice(&part[..length]);
                Ok(None)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(None),
            Ok(_) | Err(_) => Err(self.give_up(verb, "ended")),
        }
    }

    /// Ends the agent and makes the error that says so.
    fn give_up(&mut self, verb: &str, what: &str) -> EngineError {
        self.input = None;
        if what == "gave no reply in time" {
            let _ = self.child.kill();
        }
        let status = wait_for(&mut self.child, Duration::from_secs(5))
            .map_or_else(|| "it still runs".to_owned(), |status| status.to_string());
        let said = self.said();
        let said = if said.is_empty() {
            String::new()
        } else {
            format!("; it said: {said}")
        };
        let why = format!(
            "{} (pid {}) {what} during {verb}: {status}{said}",
            self.program.display(),
            self.child.id()
        );
        self.broken = Some(why.clone());
        EngineError::new(why).hint(CLEAN)
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

const CLEAN: &str = "run 'stowplan clean' to remove what the run left behind";

/// Waits for the end of a child, at most `time`.
fn wait_for(child: &mut Child, time: Duration) -> Option<std::process::ExitStatus> {
    let handle = rustix::process::Pid::from_raw(child.id().cast_signed())?;
    if let Ok(fd) = rustix::process::pidfd_open(handle, rustix::process::PidfdFlags::empty()) {
        let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
        // An interrupted wait only means that the child is asked too early and left alone.
        let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
    }
    child.try_wait().ok().flatten()
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // End of its input tells the agent to remove everything and end.
        self.input = None;
        if wait_for(&mut self.child, FAREWELL).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
