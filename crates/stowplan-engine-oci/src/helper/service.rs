//! The one service of a helper: its container from creation to removal.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use libcontainer::container::Container;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use stowplan_host::cgroup::{Group, OomWatch};
use stowplan_host::process::{clock_ns, start_ticks};
use stowplan_wire::deployment::{EngineEventKind, StopMode};

use super::error::{Context as _, HelperError};
use super::executed::Executed;
use super::place::Place;
use super::{after_create, container, processes, readback, surroundings, wake};
use crate::protocol::{Command, Created, HelperPlan, Message};
use crate::spec::Surroundings;

/// A service and everything that is there of it.
pub(crate) struct Service {
    plan: HelperPlan,
    place: Place,
    around: Surroundings,
    children: OwnedFd,
    made: Option<CreatedContainer>,
}

/// A container that has been made.
struct CreatedContainer {
    container: Container,
    executed: Executed,
    created: Created,
    group: Group,
    oom: Option<OomWatch>,
    first: Pid,
    started: bool,
    /// Whether it was told to end: then its end is no event.
    stopping: bool,
    frozen: bool,
    ended: Option<i32>,
}

impl Service {
    pub(crate) fn open(plan: HelperPlan) -> Result<Self, HelperError> {
        // Before entering, which makes every helper root.
        let around = surroundings()?;
        Ok(Self {
            place: Place::enter()?,
            around,
            children: wake::child_events()?,
            plan,
            made: None,
        })
    }

    /// Carries out a command.
    pub(crate) fn obey(&mut self, command: &Command) -> Result<Message, HelperError> {
        match command {
            Command::Create { cgroups } => {
                let created = self.create(&Group::from_paths(cgroups))?;
                return Ok(Message::Created(created));
            }
            Command::Start => self.start()?,
            Command::Stop(how) => self.stop(*how)?,
            Command::Pause => self.freeze(true)?,
            Command::Resume => self.freeze(false)?,
            Command::Destroy => self.remove()?,
        }
        Ok(Message::Done)
    }

    /// Makes the container, again when the last one has ended. One that is there stays.
    fn create(&mut self, group: &Group) -> Result<Created, HelperError> {
        self.look();
        if let Some(made) = self.made.as_ref().filter(|made| made.ended.is_none()) {
            return Ok(made.created.clone());
        }
        self.made = None;
        self.place.renew()?;
        let result = self.make(group);
        if result.is_err() {
            // What was made must not look like a service that can be started.
            processes::kill_all(None)?;
            self.place.clear()?;
        }
        let made = result?;
        let created = made.created.clone();
        self.made = Some(made);
        self.tell(EngineEventKind::Created);
        Ok(created)
    }

    fn make(&mut self, group: &Group) -> Result<CreatedContainer, HelperError> {
        let (container, executed) = container::create(&self.plan, &self.place, &self.around)?;
        let first = container
            .pid()
            .and_then(|pid| Pid::from_raw(pid.as_raw()))
            .ok_or_else(|| HelperError::new("libcontainer gave no pid"))?;
        Ok(CreatedContainer {
            created: self.complete(first, group)?,
            container,
            executed,
            oom: None,
            group: group.clone(),
            first,
            started: false,
            stopping: false,
            frozen: false,
            ended: None,
        })
    }

    fn complete(&mut self, first: Pid, group: &Group) -> Result<Created, HelperError> {
        let pid = first.as_raw_nonzero().get().unsigned_abs();
        let plan = &self.plan;
        if plan.isolation.net {
            after_create::loopback_up(pid)?;
        }
        let own = self.around.capabilities;
        self.place.on_host(|| {
            after_create::limit(group, pid, &plan.service.limits)?;
            readback::check(plan, pid, &self.place, group, own)
        })?;
        Ok(Created {
            pid,
            start_ticks: start_ticks(pid)
                .ok_or_else(|| HelperError::new("the container's first process is gone"))?,
        })
    }

    fn start(&mut self) -> Result<(), HelperError> {
        let made = self.made.as_mut().ok_or_else(not_created)?;
        if made.started {
            return Ok(());
        }
        if made.frozen {
            return Err(HelperError::new("it is frozen: resume it first"));
        }
        container::start(&mut made.container, &mut made.executed)?;
        made.started = true;
        let t_ns = clock_ns();
        let group = made.group.clone();
        let watch = self.place.on_host(|| Ok(OomWatch::new(&group)))?;
        if let Some(made) = &mut self.made {
            made.oom = watch;
        }
        wake::tell(&Message::Event {
            kind: EngineEventKind::Started,
            t_ns,
        });
        Ok(())
    }

    fn freeze(&mut self, frozen: bool) -> Result<(), HelperError> {
        let made = self.made.as_mut().ok_or_else(not_created)?;
        // What fails half way is taken for frozen: it is thawed before it is stopped.
        made.frozen |= frozen;
        let group = made.group.clone();
        self.place.on_host(|| Ok(group.freeze(frozen)?))?;
        if let Some(made) = &mut self.made {
            made.frozen = frozen;
        }
        self.tell(if frozen {
            EngineEventKind::Paused
        } else {
            EngineEventKind::Resumed
        });
        Ok(())
    }

    /// Asks the first process to end as `docker stop` does, then ends all that is left.
    fn stop(&mut self, how: StopMode) -> Result<(), HelperError> {
        self.look();
        if let Some(made) = &mut self.made {
            made.stopping = true;
        }
        if let StopMode::Terminate { grace_ms } = how
            && let Some(made) = &self.made
            && made.started
            && made.ended.is_none()
        {
            let first = made.first;
            self.thaw()?;
            kill_process(first, Signal::TERM).context("cannot send SIGTERM")?;
            self.wait_for_end(Duration::from_millis(grace_ms));
        }
        self.kill()
    }

    fn wait_for_end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        while self.made.as_ref().is_some_and(|made| made.ended.is_none()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut wanted = [PollFd::new(&self.children, PollFlags::IN)];
            if poll(&mut wanted, timeout.as_ref()) == Ok(0) {
                return;
            }
            self.look();
        }
    }

    /// Kills every process of the service and waits until none is left.
    fn kill(&mut self) -> Result<(), HelperError> {
        let first = self.made.as_ref().map(|made| made.first);
        self.thaw()?;
        let ended = processes::kill_all(first)?;
        self.note_end(ended);
        Ok(())
    }

    /// A frozen process takes no signal; on cgroup v1 not even SIGKILL.
    fn thaw(&mut self) -> Result<(), HelperError> {
        let Some(made) = self.made.as_mut().filter(|made| made.frozen) else {
            return Ok(());
        };
        made.frozen = false;
        let group = made.group.clone();
        self.place.on_host(|| Ok(group.freeze(false)?))
    }

    /// Looks for what has happened: processes that ended, memory that ran out. Sends the events.
    pub(crate) fn look(&mut self) {
        wake::drain(&self.children);
        let first = self.made.as_ref().map(|made| made.first);
        let ended = processes::reap(first);
        self.note_end(ended);
    }

    fn note_end(&mut self, ended: Option<i32>) {
        let Some(made) = &mut self.made else { return };
        let Some(status) = ended else { return };
        let news = made.ended.replace(status).is_none() && made.started && !made.stopping;
        if news {
            self.look_for_oom();
            self.tell(EngineEventKind::Exited(status));
        }
    }

    /// Sends an event when the kernel has ended a process for lack of memory.
    pub(crate) fn look_for_oom(&mut self) {
        let Some(mut watch) = self.made.as_mut().and_then(|made| made.oom.take()) else {
            return;
        };
        let kills = self.place.on_host(|| Ok(watch.new_kills()));
        if let Some(made) = &mut self.made {
            made.oom = Some(watch);
        }
        if kills.is_ok_and(|kills| kills > 0) {
            self.tell(EngineEventKind::OutOfMemory);
        }
    }

    /// Removes everything. May be called again.
    pub(crate) fn remove(&mut self) -> Result<(), HelperError> {
        self.stop(StopMode::Kill)?;
        self.place.clear()?;
        let Some(made) = self.made.take() else {
            return Ok(());
        };
        self.place.on_host(|| Ok(made.group.remove()?))?;
        self.tell(EngineEventKind::Destroyed);
        Ok(())
    }

    /// Descriptor for ended children.
    pub(crate) const fn children(&self) -> &OwnedFd {
        &self.children
    }

    /// What to poll for lack of memory.
    pub(crate) fn oom(&self) -> Option<PollFd<'_>> {
        let watch = self.made.as_ref()?.oom.as_ref()?;
        Some(PollFd::from_borrowed_fd(watch.fd(), PollFlags::IN))
    }

    fn tell(&self, kind: EngineEventKind) {
        wake::tell(&Message::Event {
            kind,
            t_ns: clock_ns(),
        });
    }
}

fn not_created() -> HelperError {
    HelperError::new("the container has not been created")
}
