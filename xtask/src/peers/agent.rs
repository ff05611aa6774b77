//! An agent as a child, driven in its own protocol: a comparison of engines needs nothing above it.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stowplan_wire::agent::{Announced, Answer, Call, Reply, Request};

use super::error::PeersError;

/// Longest silence of the agent during a call.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running agent. It removes everything that it made when this is dropped.
pub struct Agent {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    last: u64,
}

impl Agent {
    /// Starts `program`.
    pub fn start(program: &Path) -> Result<Self, PeersError> {
        let failed = || PeersError::io(format!("run {}", program.display()));
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed())?;
        let requests = child.stdin.take();
        let replies = child.stdout.take().ok_or_else(|| PeersError::output("the agent has no output", ""))?;
        let mut agent = Self {
            child,
            requests,
            replies: BufReader::new(replies),
            last: 0,
        };
        agent.call(Call::Hello {
            build_id: stowplan_wire::build_id(),
        })?;
        Ok(agent)
    }

    /// Asks and waits for the answer.
    pub fn call(&mut self, call: Call) -> Result<Answer, PeersError> {
        self.last += 1;
        let request = Request {
            id: self.last,
            call,
        };
        let mut text = serde_json::to_string(&request)
            .map_err(|error| PeersError::output(format!("cannot write a request: {error}"), ""))?;
        text.push('\n');
        if let Some(requests) = &mut self.requests {
            requests
                .write_all(text.as_bytes())
                .map_err(PeersError::io("write to the agent"))?;
        }
        let line = self.line()?;
        let reply: Reply = serde_json::from_str(&line)
            .map_err(|error| PeersError::output(format!("the agent's reply: {error}"), &line))?;
        reply.result.map_err(|failure| {
            let hint = failure.hint.map_or_else(String::new, |hint| format!("hint: {hint}"));
            PeersError::output(format!("the agent failed: {}", failure.message), &hint)
        })
    }

    /// Collects announcements until `enough` says so.
    pub fn watch(
        &mut self,
        limit: Duration,
        enough: impl Fn(&[Announced]) -> bool,
    ) -> Result<Vec<Announced>, PeersError> {
        let deadline = Instant::now() + limit;
        let mut heard = Vec::new();
        while !enough(&heard) {
            if Instant::now() >= deadline {
                return Err(PeersError::output(
                    format!("services did not come up within {limit:?}; announcements"),
                    &format!("{heard:#?}"),
                ));
            }
            let answer = self.call(Call::Watch { timeout_ms: 200 })?;
            if let Answer::Watched { announcements, .. } = answer {
                heard.extend(announcements);
            }
        }
        Ok(heard)
    }

    fn line(&mut self) -> Result<String, PeersError> {
        let what = || PeersError::io("read from the agent");
        let mut line = String::new();
        if self.replies.buffer().is_empty() {
            let mut wanted = [PollFd::from_borrowed_fd(
                self.replies.get_ref().as_fd(),
                PollFlags::IN,
            )];
            let timeout = Timespec::try_from(PATIENCE).ok();
            let ready = poll(&mut wanted, timeout.as_ref()).map_err(|error| what()(error.into()))?;
            if ready == 0 {
                return Err(what()(std::io::ErrorKind::TimedOut.into()));
            }
        }
        let length = self.replies.read_line(&mut line).map_err(what())?;
        if length == 0 {
            return Err(what()(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(line)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // End of its input makes the agent kill what it started, remove what it made, and end.
        self.requests = None;
        let _ = self.child.wait();
    }
}
