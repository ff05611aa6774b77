//! What the process's first thread does: it listens to the agent, the launcher and signals.
//!
//! Once armed it sleeps in one poll until the window is over, and wakes only for a signal, for the end of the
//! agent, or for a failure.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use stowplan_ctf::events::stowplan::{Armed, DatagramsDropped, Disarmed};
use stowplan_wire::announce::{Announcement, Control};

use super::threads::Threads;
use crate::announce::AgentMessage;
use crate::error::NodeError;
use crate::graph::restart_draws_at;
use crate::signals::{Signals, asks_to_end};
use crate::{fault, fingerprint, record, sockets};

/// Where the measurement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No window, or it is over.
    Free,
    /// The window, or what precedes it, ends at this instant.
    Armed { t_disarm_ns: u64 },
}

impl Phase {
    fn next_ns(self) -> Option<u64> {
        match self {
            Self::Free => None,
            Self::Armed { t_disarm_ns } => Some(t_disarm_ns),
        }
    }
}

/// Waits until one of these can be read or CLOCK_MONOTONIC is at `until_ns`.
pub(crate) fn wait(fds: &mut [PollFd<'_>], until_ns: Option<u64>) -> Result<(), NodeError> {
    let timeout = until_ns.map(|until| {
        let left = until.saturating_sub(record::now());
        Timespec {
            tv_sec: (left / 1_000_000_000).cast_signed(),
            tv_nsec: (left % 1_000_000_000).cast_signed(),
        }
    });
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(NodeError::system("wait for the agent")(error)),
    }
}

/// Whether it can be read, or has ended.
pub(crate) fn is_ready(fd: &PollFd<'_>) -> bool {
    !fd.revents().is_empty()
}

/// Serves agent and launcher until asked to end.
pub(super) fn run(threads: &Threads, signals: &Signals) -> Result<(), NodeError> {
    let process = &threads.process;
    let mut phase = Phase::Free;
    let mut matched_told = false;
    let mut link = threads.link.as_ref();
    loop {
        let mut fds = vec![
            PollFd::from_borrowed_fd(signals.readable(), PollFlags::IN),
            PollFd::from_borrowed_fd(process.agent.readable(), PollFlags::IN),
            PollFd::from_borrowed_fd(threads.failed(), PollFlags::IN),
        ];
        let told_at = (phase == Phase::Free && !matched_told).then(|| {
            fds.push(PollFd::from_borrowed_fd(
                process.matching.readable(),
                PollFlags::IN,
            ));
            fds.len() - 1
        });
        let link_at = link.map(|link| {
            fds.push(PollFd::from_borrowed_fd(link.readable(), PollFlags::IN));
            fds.len() - 1
        });
        wait(&mut fds, phase.next_ns())?;
        let ready: Vec<bool> = fds.iter().map(is_ready).collect();
        drop(fds);
        phase = pass(phase);
        if ready[0] && asks_to_end(&signals.take()) {
            return Ok(());
        }
        if ready[2]
            && let Some(failure) = threads.take_failure()
        {
            return Err(failure);
        }
        if ready[1] {
            match obey(threads)? {
                Obeyed::End => return Ok(()),
                Obeyed::Armed { t_disarm_ns } => phase = Phase::Armed { t_disarm_ns },
                Obeyed::Done => {}
            }
        }
        if told_at.is_some_and(|at| ready[at]) {
            let (endpoints, t_ns) = process.matching.result();
            matched_told = true;
            process.agent.say(&Announcement::Matched {
                process: process.own().name.clone(),
                endpoints,
                t_ns,
            })?;
        }
        if link_at.is_some_and(|at| ready[at]) {
            match link.map(crate::link::Link::hear) {
                Some(Ok(Some(node))) => threads.load(node as usize),
                Some(Ok(None)) | None => {}
                // The launcher has ended: the kernel ends us too, or it ended in good order.
                Some(Err(_)) => link = None,
            }
        }
    }
}

/// What came of a request of the agent.
enum Obeyed {
    /// The process is to end.
    End,
    /// A window will end at this instant.
    Armed { t_disarm_ns: u64 },
    /// It was done.
    Done,
}

/// Does what the agent asks for.
fn obey(threads: &Threads) -> Result<Obeyed, NodeError> {
    let agent = &threads.process.agent;
    let name = &threads.process.own().name;
    match agent.hear()? {
        AgentMessage::Gone | AgentMessage::Control(Control::Stop) => Ok(Obeyed::End),
        AgentMessage::Control(Control::Arm {
            t_arm_ns,
            t_disarm_ns,
        }) => {
            arm(threads, t_arm_ns, t_disarm_ns)?;
            Ok(Obeyed::Armed { t_disarm_ns })
        }
        AgentMessage::Control(Control::Ping) => {
            let (process, t_ns) = (Some(name.clone()), record::now());
            agent.say(&Announcement::Answer { process, t_ns })?;
            Ok(Obeyed::Done)
        }
        AgentMessage::Control(Control::Fault(fault)) => {
            fault::happen(agent, Some(name), fault)?;
            Ok(Obeyed::Done)
        }
    }
}

fn arm(threads: &Threads, t_arm_ns: u64, t_disarm_ns: u64) -> Result<(), NodeError> {
    let process = &threads.process;
    let name = &process.own().name;
    let found = fingerprint::at_arming(Some(name), Some(process.plan.domain));
    process.agent.say(&found)?;
    record_dropped();
    restart_draws_at(t_arm_ns);
    threads.rebase(t_arm_ns);
    threads.background.arm(t_disarm_ns);
    record::event(&Armed { t_arm_ns });
    process.agent.say(&Announcement::Armed {
        process: Some(name.clone()),
    })
}

/// Records what sockets have dropped so far; never while the window is open, because it reads files.
fn record_dropped() {
    if let Some(total) = sockets::dropped_datagrams() {
        record::event(&DatagramsDropped { total });
    }
}

/// Records the end of the window where it is over.
fn pass(phase: Phase) -> Phase {
    match phase {
        Phase::Armed { t_disarm_ns } if record::now() >= t_disarm_ns => {
            record::event(&Disarmed {});
            record_dropped();
            Phase::Free
        }
        _ => phase,
    }
}
