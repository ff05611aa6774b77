//! Calls to an agent over a link: a request, then its reply.

use std::time::{Duration, Instant};

use stowplan_engine::{EngineError, FailureKind};
use stowplan_wire::agent::{Answer, Call, Reply, Request};

use crate::timeouts::{timeout_of, verb_of};
use crate::transport::{Ending, Received, Transport};

/// Longest wait for the end of an agent that was told to end.
const FAREWELL: Duration = Duration::from_secs(60);

/// Longest wait for the end of an agent whose link is broken.
const LAST_WAIT: Duration = Duration::from_secs(5);

const CLEAN: &str = "run 'stowplan clean' to remove what the run left behind";

/// Why no more calls can be made.
#[derive(Debug, Clone)]
struct Broken {
    kind: FailureKind,
    message: String,
}

/// What went wrong with the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It does not take calls.
    IsGone,
    /// It closed its output, or that cannot be read.
    Ended,
    /// It did not reply in time.
    Late,
    /// What it said is no reply.
    NoReply,
}

impl Fault {
    fn kind(self) -> FailureKind {
        match self {
            Self::Late => FailureKind::Timeout,
            Self::IsGone | Self::Ended | Self::NoReply => FailureKind::Gone,
        }
    }

    fn ending(self) -> Ending {
        match self {
            Self::Late => Ending::Kill,
            Self::IsGone | Self::Ended | Self::NoReply => Ending::Farewell(LAST_WAIT),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::IsGone => "is gone",
            Self::Ended => "ended",
            Self::Late => "gave no reply in time",
            Self::NoReply => "said what is no reply",
        }
    }
}

/// The calls of one agent.
#[derive(Debug)]
pub(crate) struct Pipe {
    link: Box<dyn Transport>,
    buffer: Vec<u8>,
    next: u64,
    broken: Option<Broken>,
}

impl Pipe {
    pub(crate) fn new(link: Box<dyn Transport>) -> Self {
        Self {
            link,
            buffer: Vec::new(),
            next: 1,
            broken: None,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.link.pid()
    }

    /// Sends a call and waits for its reply.
    ///
    /// # Errors
    /// What the agent says of a call that failed. When the link breaks, all further calls fail in the same way.
    pub(crate) fn call(&mut self, call: Call) -> Result<Answer, EngineError> {
        self.call_within(timeout_of(&call), call)
    }

    fn call_within(&mut self, time: Duration, call: Call) -> Result<Answer, EngineError> {
        if let Some(broken) = &self.broken {
            return Err(error(broken));
        }
        let verb = verb_of(&call);
        let deadline = Instant::now() + time;
        let id = self.next;
        self.next += 1;
        let mut text = serde_json::to_vec(&Request { id, call })
            .map_err(|e| EngineError::new(format!("cannot write the call {verb}")).because(e))?;
        text.push(b'\n');
        if self.link.send(&text).is_err() {
            return Err(self.give_up(&verb, Fault::IsGone));
        }
        loop {
            let line = match self.line(deadline) {
                Ok(Some(line)) => line,
                Ok(None) => continue,
                Err(fault) => return Err(self.give_up(&verb, fault)),
            };
            let reply: Reply = match serde_json::from_slice(&line) {
                Ok(reply) => reply,
                Err(error) => return Err(self.give_up(&verb, Fault::NoReply).because(error)),
            };
            if reply.id == id {
                return reply.result.map_err(EngineError::from);
            }
        }
    }

    /// The next line, or `None` when only a part has come yet.
    fn line(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, Fault> {
        if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let rest = self.buffer.split_off(end + 1);
            return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let mut part = [0; 64 * 1024];
        match self.link.receive(&mut part, left) {
            Ok(Received::Bytes(length)) => {
                self.buffer.extend_from_slice(&part[..length]);
                Ok(None)
            }
            Ok(Received::Nothing) if left.is_zero() => Err(Fault::Late),
            Ok(Received::Nothing) => Ok(None),
            Ok(Received::End) | Err(_) => Err(Fault::Ended),
        }
    }

    /// Ends the agent and makes the error that says so.
    fn give_up(&mut self, verb: &str, fault: Fault) -> EngineError {
        let end = self.link.end(fault.ending());
        let name = self.link.name();
        let broken = Broken {
            kind: fault.kind(),
            message: format!("{name} {} during {verb}: {end}", fault.in_words()),
        };
        let told = error(&broken);
        self.broken = Some(broken);
        told
    }
}

fn error(broken: &Broken) -> EngineError {
    EngineError::new(broken.message.clone())
        .of_kind(broken.kind)
        .hint(CLEAN)
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Behind a broken link it may still remove what is of its run.
        self.link.end(Ending::Farewell(FAREWELL));
    }
}

#[cfg(test)]
#[path = "pipe_tests.rs"]
mod tests;
