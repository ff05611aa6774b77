//! What happens to containers. The CRI of containerd 1.6 has no events: the kernel tells when a first process ends
//! (pidfd_open(2)), and the runtime with which status.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{Happened, monotonic_ns};
use stowplan_host::process::clock_ns;
use stowplan_host::wait_readable;
use stowplan_wire::deployment::EngineEventKind;

use stowplan_engine_daemon::cri::api::runtime::v1::{ContainerState, ContainerStatus};
use stowplan_engine_daemon::cri::{Client, is_absent};

/// Longest time that the runtime takes to learn that a process has ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two questions.
const LOOK: Duration = Duration::from_millis(2);

/// A container that has been started.
#[derive(Debug)]
struct Running {
    service: String,
    id: String,
    /// Readable when its first process has ended; `None` where that was so when it was looked for.
    end: Option<OwnedFd>,
}

/// The containers of a run.
#[derive(Debug)]
pub(crate) struct Watch {
    daemon: Option<OwnedFd>,
    /// Started, and not looked at since: service and id.
    started: RefCell<Vec<(String, String)>>,
    running: Vec<Running>,
    happened: RefCell<VecDeque<Happened>>,
}

impl Watch {
    /// Watches the runtime itself.
    pub(crate) fn new(client: &Client) -> Self {
        Self {
            daemon: client.daemon_pid().and_then(end_of),
            started: RefCell::default(),
            running: Vec::new(),
            happened: RefCell::default(),
        }
    }

    /// Takes note of what has just been done to a container.
    pub(crate) fn done(&self, service: &str, id: &str, kind: EngineEventKind) {
        self.tell(service, id, kind, clock_ns());
    }

    /// A container has been started; when, and whether it has ended by now, is found out by the next look.
    pub(crate) fn started(&self, service: &str, id: &str) {
        let mut started = self.started.borrow_mut();
        started.push((service.to_owned(), id.to_owned()));
    }

    fn tell(&self, service: &str, id: &str, kind: EngineEventKind, t_ns: u64) {
        self.happened.borrow_mut().push_back(Happened {
            service: service.to_owned(),
            container: id.to_owned(),
            kind,
            t_ns,
        });
    }

    /// The next event, if one comes within `wait`.
    pub(crate) fn next(
        &mut self,
        client: &Client,
        wait: Duration,
    ) -> Result<Option<Happened>, EngineError> {
        let deadline = Instant::now() + wait;
        loop {
            if self.daemon.as_ref().is_some_and(has_ended) {
                let runtime = client.runtime;
                return Err(
                    EngineError::new(format!("{} has ended", runtime.name())).hint(format!(
                        "{}; 'stowplan clean' removes what is left",
                        runtime.hint()
                    )),
                );
            }
            self.look_at_started(client)?;
            self.look_for_ends(client)?;
            if let Some(happened) = self.happened.get_mut().pop_front() {
                return Ok(Some(happened));
            }
            let ends = self
                .running
                .iter()
                .filter_map(|running| running.end.as_ref());
            let fds: Vec<_> = ends.chain(&self.daemon).map(AsFd::as_fd).collect();
            if !wait_readable(&fds, deadline) {
                return Ok(None);
            }
        }
    }

    fn look_at_started(&mut self, client: &Client) -> Result<(), EngineError> {
        for (service, id) in self.started.take() {
            let (status, info) = match client.wait(client.container(&id)) {
                Ok(found) => found,
                // It has been removed since.
                Err(status) if is_absent(&status) => continue,
                Err(status) => return Err(client.error("tell of a container", status)),
            };
            let t_ns = monotonic_ns(status.started_at);
            self.tell(&service, &id, EngineEventKind::Started, t_ns);
            let pid = info["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
            self.running.push(Running {
                service,
                id,
                end: pid.and_then(end_of),
            });
        }
        Ok(())
    }

    fn look_for_ends(&mut self, client: &Client) -> Result<(), EngineError> {
        let mut at = 0;
        while let Some(running) = self.running.get(at) {
            if running.end.as_ref().is_some_and(|end| !has_ended(end)) {
                at += 1;
                continue;
            }
            let ended = self.running.swap_remove(at);
            if let Some(status) = ended_as(client, &ended.id)? {
                let kind = EngineEventKind::Exited(status.exit_code);
                let t_ns = monotonic_ns(status.finished_at);
                self.tell(&ended.service, &ended.id, kind, t_ns);
            }
        }
        Ok(())
    }
}

/// How a container ended whose first process is gone; `None` where it has been removed.
fn ended_as(client: &Client, id: &str) -> Result<Option<ContainerStatus>, EngineError> {
    let begin = Instant::now();
    loop {
        match client.wait(client.container(id)) {
            Ok((status, _)) if status.state() == ContainerState::ContainerExited => {
                return Ok(Some(status));
            }
            Ok(_) if begin.elapsed() < PATIENCE => {}
            Ok(_) => {
                return Err(EngineError::new(format!(
                    "{} has not noticed that the process of {id} has ended",
                    client.runtime.name()
                )));
            }
            Err(status) if is_absent(&status) => return Ok(None),
            Err(status) => return Err(client.error("tell of a container", status)),
        }
        // It hears of the end from what watches over it, and tells nobody: ask again.
        std::thread::sleep(LOOK);
    }
}

/// A descriptor that is readable when the process has ended; `None` when it has.
fn end_of(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn has_ended(end: &OwnedFd) -> bool {
    wait_readable(&[end.as_fd()], Instant::now())
}
