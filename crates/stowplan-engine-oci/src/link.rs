//! The agent's end of one helper process.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command as Spawn, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::Serialize;
use stowplan_engine::EngineError;
use stowplan_host::cgroup::Group;
use stowplan_host::process::{clock_ns, start_ticks};

use crate::protocol::{Created, Message};

/// A helper process and what is known of its service.
pub(crate) struct Link {
    /// Service name.
    pub name: String,
    /// Log file of the service.
    pub log: String,
    /// The container, once it is made.
    pub created: Option<Created>,
    /// Its cgroup, once it is made.
    pub group: Option<Group>,
    /// Whether the program was let run and has not been seen ending.
    pub running: bool,
    /// Before it was sent what it has not answered yet, CLOCK_MONOTONIC in ns.
    pub asked_ns: Option<u64>,
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    buffer: Vec<u8>,
}

impl Link {
    /// Starts a helper.
    pub(crate) fn spawn(
        program: &std::path::Path,
        arguments: &[String],
        name: &str,
        log: &str,
    ) -> Result<Self, EngineError> {
        let failed = |what: &str, error: io::Error| {
            EngineError::new(what)
                .of_service(name, Some(log.to_owned()))
                .because(error)
        };
        let errors = OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .map_err(|error| failed("cannot open its log", error))?;
        let mut child = Spawn::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|error| failed("cannot start its helper process", error))?;
        let output = child.stdout.take();
        if let Some(output) = &output {
            // Reading happens when poll says so; it must never block a thread that serves other services.
            fcntl_getfl(output)
                .and_then(|flags| fcntl_setfl(output, flags | OFlags::NONBLOCK))
                .map_err(|error| failed("cannot prepare its pipe", error.into()))?;
        }
        Ok(Self {
            name: name.to_owned(),
            log: log.to_owned(),
            created: None,
            group: None,
            running: false,
            asked_ns: None,
            input: child.stdin.take(),
            output,
            child,
            buffer: Vec::new(),
        })
    }

    /// Pid and start time of the helper itself, for the ledger.
    pub(crate) fn process(&self) -> Option<(u32, u64)> {
        let pid = self.child.id();
        Some((pid, start_ticks(pid)?))
    }

    /// Whether the helper is there.
    pub(crate) const fn is_alive(&self) -> bool {
        self.output.is_some()
    }

    /// What to poll for answers and events.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.output.as_ref().map(AsFd::as_fd)
    }

    /// Sends a document.
    pub(crate) fn send(&mut self, document: &impl Serialize) -> Result<(), EngineError> {
        let mut line = serde_json::to_vec(document)
            .map_err(|error| self.error("cannot tell its helper").because(error))?;
        line.push(b'\n');
        self.asked_ns = Some(clock_ns());
        let sent = match &mut self.input {
            Some(input) => input.write_all(&line),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|error| self.error("its helper process is gone").because(error))
    }

    /// The messages that have come; `false` beside them when the helper is gone.
    pub(crate) fn receive(&mut self) -> (Vec<Message>, bool) {
        let alive = self.read();
        let mut messages = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(message) => messages.push(message),
                Err(error) => messages.push(Message::Failed(
                    EngineError::new("its helper process says what it should not")
                        .because(error)
                        .into(),
                )),
            }
        }
        (messages, alive)
    }

    fn read(&mut self) -> bool {
        let Some(output) = &self.output else {
            return false;
        };
        let mut chunk = [0; 16_384];
        loop {
            match rustix::io::read(output, &mut chunk) {
                Ok(0) => break,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.output = None;
        false
    }

    /// Closes its input, which makes it remove everything and end; kills it when it takes longer than `patience`.
    pub(crate) fn close(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        self.input = None;
        let deadline = Instant::now() + patience;
        while self.is_alive() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.child.kill()?;
                self.output = None;
                break;
            }
            if let Some(output) = &self.output {
                let timeout = Timespec::try_from(left).ok();
                let _ = poll(&mut [PollFd::new(output, PollFlags::IN)], timeout.as_ref());
            }
            let _ = self.receive();
        }
        self.child.wait()
    }

    /// An error about this service.
    pub(crate) fn error(&self, message: impl Into<String>) -> EngineError {
        EngineError::new(message).of_service(&self.name, Some(self.log.clone()))
    }
}
