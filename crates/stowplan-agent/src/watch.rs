//! The one poll of the agent.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stowplan_wire::host::Running;

use crate::agent::{Agent, Gone};

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// A request.
    Input,
    /// Something that is served here, at most until this instant.
    Something(Instant),
}

impl Agent {
    /// Waits and serves everything but requests: samples, announcements, engine events.
    pub(crate) fn wait(&mut self, until: Until) -> Result<(), Gone> {
        loop {
            let (input, served) = self.poll_once(until)?;
            match until {
                Until::Input if input => return Ok(()),
                Until::Something(deadline) if served || Instant::now() >= deadline => {
                    return Ok(());
                }
                Until::Input | Until::Something(_) => {}
            }
        }
    }

    /// One poll: whether there is input, and whether something else was served.
    fn poll_once(&mut self, until: Until) -> Result<(bool, bool), Gone> {
        let stdin = std::io::stdin();
        let wanted = match until {
            Until::Input => PollFlags::IN,
            // Within a call only the end of the caller matters.
            Until::Something(_) => PollFlags::empty(),
        };
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let timer = self.host.sampling_fd();
        let mut fds = vec![
            PollFd::from_borrowed_fd(stdin.as_fd(), wanted),
            readable(self.signals.as_fd()),
            readable(timer),
        ];
        if let Some(run) = &self.run {
            fds.extend(run.nodes.fds().map(readable));
        }
        if let Some(deployment) = &self.deployment {
            fds.extend(deployment.event_fds().into_iter().map(readable));
        }
        let timeout = match until {
            Until::Input => None,
            Until::Something(deadline) => {
                Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()
            }
        };
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok((false, false)),
            Err(_) => return Err(Gone),
        }
        let ready = |index: usize| !fds[index].revents().is_empty();
        let input = fds[0].revents();
        if ready(1) || (wanted.is_empty() && input.intersects(PollFlags::HUP | PollFlags::ERR)) {
            return Err(Gone);
        }
        let sample = ready(2);
        let others = (3..fds.len()).any(ready);
        if sample {
            self.host.sample();
        }
        if others {
            self.serve_others();
        }
        Ok((!input.is_empty(), others))
    }

    /// Has the processes of the node program that are up sampled, each by itself.
    pub(crate) fn follow_nodes(&self) {
        let nodes = self.run.iter().flat_map(|run| run.nodes.connections());
        for node in nodes.filter(|node| node.up) {
            let running = node
                .process
                .clone()
                .map_or(Running::Launcher, Running::Process);
            self.host.follow(&node.service, running, node.pid);
        }
    }

    /// Takes what node programs and the engine have to say.
    pub(crate) fn serve_others(&mut self) {
        if let Some(run) = &mut self.run {
            run.nodes.serve();
            if run.nodes.take_came_up() {
                self.follow_nodes();
            }
        }
        if let Some(deployment) = &mut self.deployment
            && let Ok(events) = deployment.events(Duration::ZERO)
        {
            self.engine_events.extend(events);
        }
    }
}
