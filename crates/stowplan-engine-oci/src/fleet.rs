//! All helpers of a deployment: one command to many of them at once, and their events.

use std::collections::VecDeque;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stowplan_engine::EngineError;
use stowplan_host::process::clock_ns;
use stowplan_wire::deployment::{EngineEvent, EngineEventKind, EngineRequest};

use crate::link::Link;
use crate::protocol::Message;

/// Status of a first process that was killed with its helper.
const KILLED: i32 = 128 + 9;

/// What a helper answered to a command.
type Answer = Result<(), EngineError>;

/// The helpers and what they have told.
pub(crate) struct Fleet {
    /// One for each service, in the plan's order.
    pub links: Vec<Link>,
    /// What the helpers have been asked and have answered.
    pub requests: Vec<EngineRequest>,
    events: VecDeque<EngineEvent>,
    clock: String,
}

/// How a round of commands goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// What is done, for messages.
    pub verb: &'static str,
    /// Most commands at once; 0 is no limit.
    pub parallelism: u32,
    /// Longest silence of all helpers.
    pub patience: Duration,
    /// Whether the others still get their command after one has failed.
    pub go_on: bool,
}

impl Fleet {
    pub(crate) const fn new(links: Vec<Link>, clock: String) -> Self {
        Self {
            links,
            requests: Vec::new(),
            events: VecDeque::new(),
            clock,
        }
    }

    /// Lets `begin` send a command to each of these helpers, waits for all answers, and gives the first error.
    pub(crate) fn round(
        &mut self,
        which: &[usize],
        round: Round,
        mut begin: impl FnMut(&mut Link) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let most = match round.parallelism {
            0 => which.len(),
            limit => limit as usize,
        };
        let mut waiting: VecDeque<usize> = which.iter().copied().collect();
        let mut open: Vec<usize> = Vec::new();
        let mut first_error = None;
        while !open.is_empty() || !waiting.is_empty() {
            while open.len() < most
                && let Some(index) = waiting.pop_front()
            {
                match begin(&mut self.links[index]) {
                    Ok(()) => open.push(index),
                    Err(error) => {
                        first_error.get_or_insert(error);
                    }
                }
            }
            for (index, answer) in self.answers(&open, round)? {
                open.retain(|other| *other != index);
                if let Err(error) = answer {
                    first_error.get_or_insert(error);
                }
            }
            if first_error.is_some() && !round.go_on {
                waiting.clear();
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Waits until at least one of the `open` helpers has answered, if there are any.
    fn answers(
        &mut self,
        open: &[usize],
        round: Round,
    ) -> Result<Vec<(usize, Answer)>, EngineError> {
        let mut answers = Vec::new();
        while answers.is_empty() && !open.is_empty() {
            let ready = self.wait(open, Some(round.patience))?;
            if ready.is_empty() {
                let link = &self.links[open[0]];
                return Err(link
                    .error(format!(
                        "its helper process did not {} it within {} s",
                        round.verb,
                        round.patience.as_secs()
                    ))
                    .hint("see its log and dmesg"));
            }
            for index in ready {
                if let Some(answer) = self.take(index, true) {
                    answers.push((index, answer));
                }
            }
        }
        Ok(answers)
    }

    /// Indexes of the helpers among `which` that have something to say or are gone, within `wait`.
    fn wait(&self, which: &[usize], wait: Option<Duration>) -> Result<Vec<usize>, EngineError> {
        let gone: Vec<usize> = which
            .iter()
            .copied()
            .filter(|index| !self.links[*index].is_alive())
            .collect();
        if !gone.is_empty() {
            return Ok(gone);
        }
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let mut wanted: Vec<PollFd<'_>> = which
            .iter()
            .filter_map(|index| self.links[*index].descriptor())
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        loop {
            match poll(&mut wanted, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(
                        EngineError::new("cannot wait for the helper processes").because(error)
                    );
                }
                Ok(_) => break,
            }
        }
        Ok(which
            .iter()
            .zip(&wanted)
            .filter(|(_, wanted)| !wanted.revents().is_empty())
            .map(|(index, _)| *index)
            .collect())
    }

    /// Takes what one helper has said: events go to the queue, the answer is returned.
    fn take(&mut self, index: usize, asked: bool) -> Option<Answer> {
        let link = &mut self.links[index];
        let (messages, alive) = link.receive();
        let mut answer = None;
        for message in messages {
            match message {
                Message::Done => answer = Some(Ok(())),
                Message::Created(created) => {
                    link.created = Some(created);
                    answer = Some(Ok(()));
                }
                Message::Failed(failure) => {
                    let error = EngineError::from(failure);
                    answer = Some(Err(error.of_service(&link.name, Some(link.log.clone()))));
                }
                Message::Event { kind, t_ns } => {
                    match kind {
                        EngineEventKind::Started => link.running = true,
                        EngineEventKind::Exited(_) | EngineEventKind::Destroyed => {
                            link.running = false
                        }
                        _ => {}
                    }
                    self.events.push_back(event(link, kind, t_ns, &self.clock));
                }
            }
        }
        if answer.is_some()
            && let Some(begin_ns) = link.asked_ns.take()
        {
            self.requests.push(EngineRequest {
                service: link.name.clone(),
                begin_ns,
                end_ns: Some(clock_ns()),
            });
        }
        if !alive {
            if std::mem::take(&mut link.running) {
                let kind = EngineEventKind::Exited(KILLED);
                self.events
                    .push_back(event(link, kind, clock_ns(), &self.clock));
            }
            if asked && answer.is_none() {
                answer = Some(Err(link
                    .error("its helper process ended without an answer")
                    .hint(
                        "see its log; the kernel may have ended it for lack of memory (dmesg)",
                    )));
            }
        }
        answer
    }

    /// The events since the last call; waits up to `wait` until there is one.
    pub(crate) fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        let alive: Vec<usize> = (0..self.links.len())
            .filter(|index| self.links[*index].is_alive())
            .collect();
        if !alive.is_empty() {
            let wait = if self.events.is_empty() {
                wait
            } else {
                Duration::ZERO
            };
            for index in self.wait(&alive, Some(wait))? {
                // An answer that nobody waits for belongs to a round that was given up.
                let _ = self.take(index, false);
            }
        }
        Ok(self.events.drain(..).collect())
    }
}

fn event(link: &Link, kind: EngineEventKind, t_ns: u64, clock: &str) -> EngineEvent {
    EngineEvent {
        service: link.name.clone(),
        kind,
        t_ns,
        clock: clock.to_owned(),
    }
}
