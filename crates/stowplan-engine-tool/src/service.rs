//! One service: the program that holds its container, its groups and its events.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use stowplan_engine::{EngineError, open_log};
use stowplan_host::cgroup::OomWatch;
use stowplan_host::ledger::{Object, remove_object};
use stowplan_host::process::{clock_ns, namespaces_of};
use stowplan_host::{Host, HostError, tail};
use stowplan_wire::deployment::{DeploymentPlan, EngineEventKind, Locator, ServiceStart};

use crate::groups::{RunGroups, ServiceGroups};
use crate::notice::Notices;
use crate::spawn::{Handle, Holder};
use crate::tool::{Invocation, Tool};

/// How long a tool may take to clean up once its container has ended.
const CLEAN_UP: Duration = Duration::from_secs(20);
/// So much of a log is looked at for what a tool said last.
const LAST_WORDS: u64 = 2048;

/// What holds a container that was started.
#[derive(Debug)]
struct StartedContainer {
    holder: Holder,
    invocation: Invocation,
    notices: Notices,
    leader: Option<Handle>,
}

impl StartedContainer {
    /// Where the tool complains.
    fn log<'a>(&'a self, start: &'a ServiceStart) -> &'a Path {
        let own = self.invocation.log.as_deref();
        own.unwrap_or_else(|| Path::new(&start.log))
    }
}

/// A service of a deployment.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) start: ServiceStart,
    groups: Option<ServiceGroups>,
    oom: Option<OomWatch>,
    held: Option<StartedContainer>,
    pub(crate) paused: bool,
}

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Come {
    /// The tool is still at it.
    NotYet,
    /// The container's first process is about to run its program, or has run it.
    Up,
}

impl Service {
    pub(crate) const fn new(start: ServiceStart) -> Self {
        Self {
            start,
            groups: None,
            oom: None,
            held: None,
            paused: false,
        }
    }

    /// Names the service and its log in an error.
    pub(crate) fn error(&self, error: EngineError) -> EngineError {
        error.of_service(self.start.name.clone(), Some(self.start.log.clone()))
    }

    /// Whether its container has been started and has not ended.
    pub(crate) fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|h| !h.holder.is_reaped())
    }

    /// Starts the tool; gives the instant before that, CLOCK_MONOTONIC in ns.
    pub(crate) fn begin(
        &mut self,
        tool: &dyn Tool,
        plan: &DeploymentPlan,
        host: &dyn Host,
        run: &RunGroups,
    ) -> Result<u64, EngineError> {
        // What is left of an earlier start that ended by itself.
        self.kill()?;
        let invocation = tool.invocation(plan, &self.start, run.share(plan))?;
        // On cgroup v2 those of an earlier start have groups of the tool below them, and so take no process any more.
        self.remove_groups()?;
        let made = run.make_service(host, plan, &self.start, invocation.group.as_ref())?;
        let groups = self.groups.insert(made).procs()?;
        for path in &invocation.leaves {
            host.enter(&Object::Folder {
                path: path.display().to_string(),
            })?;
        }
        let notices = match &invocation.log {
            Some(log) => Notices::watch(log)?,
            None => {
                let socket = format!("{}/{}.notice", plan.run_dir, self.start.name);
                Notices::listen(Path::new(&socket))?
            }
        };
        let log = open_log(&self.start.log)?;
        let class = self.start.limits.scheduling;
        let class = class.filter(|_| !invocation.gives_class);
        let begin_ns = clock_ns();
        let holder = Holder::spawn(&invocation, &log, groups, class, notices.socket())?;
        let (pid, start_ticks) = (holder.handle.pid, holder.handle.start_ticks);
        self.held = Some(StartedContainer {
            holder,
            invocation,
            notices,
            leader: None,
        });
        // It was made in a group that the ledger has; this is for `stowplan clean` to tell it.
        host.enter(&Object::Process { pid, start_ticks })?;
        Ok(begin_ns)
    }

    /// Looks whether the tool has told the first process, and takes the tool out of the service's groups then.
    pub(crate) fn come(&mut self, tool: &dyn Tool, run: &RunGroups) -> Result<Come, EngineError> {
        let Some(held) = &mut self.held else {
            return Err(EngineError::new("it is not started"));
        };
        if held.leader.is_some() {
            return Ok(Come::Up);
        }
        let ended = held.holder.handle.wait(Duration::ZERO);
        if let Some(pid) = tool.leader(&held.notices.said()) {
            // One that has ended already shows by the end of the tool.
            held.leader = Handle::open(pid).ok();
            let groups = self.groups.as_ref();
            self.oom = groups.and_then(|groups| OomWatch::new(&groups.group));
            let limits = &self.start.limits;
            let limited = groups.map_or(Ok(()), |groups| groups.limit(limits));
            let moved = limited.and_then(|()| run.take_engine(&held.holder.handle));
            return match moved {
                Err(error) if !held.holder.handle.wait(Duration::ZERO) => Err(error.into()),
                _ => Ok(Come::Up),
            };
        }
        if !ended {
            return Ok(Come::NotYet);
        }
        let status = held.holder.try_reap().unwrap_or_default();
        Err(EngineError::new(format!(
            "'{}' ended with status {status} before the program ran: {}",
            held.invocation,
            last_words(held.log(&self.start))
        )))
    }

    /// The error of a start that takes too long.
    pub(crate) fn overdue(&self, patience: Duration) -> EngineError {
        let Some(held) = &self.held else {
            return EngineError::new("it is not started");
        };
        EngineError::new(format!(
            "'{}' has not run the program within {} s: {}",
            held.invocation,
            patience.as_secs(),
            last_words(held.log(&self.start))
        ))
    }

    /// Readable when [`Service::come`] may find something.
    pub(crate) fn coming_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let held = self.held.iter();
        held.flat_map(|held| [held.notices.fd(), held.holder.handle.ended_fd()])
    }

    /// What happened by itself since the last look.
    pub(crate) fn look(&mut self, tool: &dyn Tool) -> Vec<EngineEventKind> {
        let mut kinds = Vec::new();
        if let Some(oom) = &mut self.oom {
            for _ in 0..oom.new_kills() {
                kinds.push(EngineEventKind::OutOfMemory);
            }
        }
        if let Some(held) = &mut self.held
            && let Some(status) = held.holder.try_reap()
        {
            let words = tail(held.log(&self.start), LAST_WORDS).unwrap_or_default();
            kinds.push(EngineEventKind::Exited(tool.status(status, &words)));
        }
        kinds
    }

    /// Readable when [`Service::look`] may find something.
    pub(crate) fn event_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let held = self.held.iter().filter(|held| !held.holder.is_reaped());
        held.map(|held| held.holder.handle.ended_fd())
            .chain(self.oom.as_ref().map(OomWatch::fd))
    }

    /// Asks the first process to end.
    pub(crate) fn terminate(&self) {
        if let Some(leader) = self.held.as_ref().and_then(|held| held.leader.as_ref()) {
            leader.signal(Signal::TERM);
        }
    }

    /// Waits until the tool has ended, at most `patience`.
    pub(crate) fn wait(&self, patience: Duration) {
        if let Some(held) = self.held.as_ref().filter(|held| !held.holder.is_reaped()) {
            held.holder.handle.wait(patience);
        }
    }

    /// Freezes or thaws it.
    pub(crate) fn freeze(&mut self, frozen: bool) -> Result<(), EngineError> {
        match &self.groups {
            Some(groups) if self.is_held() => groups.group.freeze(frozen)?,
            _ => return Err(EngineError::new("it is not started")),
        }
        self.paused = frozen;
        Ok(())
    }

    /// Kills everything of the service, lets the tool clean up, and removes what it leaves.
    pub(crate) fn kill(&mut self) -> Result<(), EngineError> {
        self.oom = None;
        let groups = self.groups.as_ref();
        let mut result = groups.map_or(Ok(()), ServiceGroups::kill_all);
        if let Some(mut held) = self.held.take() {
            held.holder.end(CLEAN_UP);
            for path in &held.invocation.leaves {
                let left = Object::Folder {
                    path: path.display().to_string(),
                };
                result = result.and(remove_object(&left).map(drop));
            }
        }
        self.paused = false;
        result.map_err(|e| self.error(e.into()))
    }

    /// Removes the groups. Whether there were some.
    pub(crate) fn remove_groups(&mut self) -> Result<bool, EngineError> {
        match self.groups.take() {
            Some(groups) => groups
                .remove()
                .map(|()| true)
                .map_err(|e: HostError| self.error(e.into())),
            None => Ok(false),
        }
    }

    /// Where it is; `None` before its first process is there.
    pub(crate) fn locator(&self, host: &str) -> Option<Locator> {
        let leader = self.held.as_ref()?.leader.as_ref()?;
        Some(Locator {
            service: self.start.name.clone(),
            host: host.to_owned(),
            pid: leader.pid,
            start_ticks: leader.start_ticks,
            cgroups: self.groups.as_ref()?.group.to_paths(),
            namespaces: namespaces_of(leader.pid),
            log: self.start.log.clone(),
        })
    }

    /// Pid of the program that holds the container.
    pub(crate) fn holder(&self) -> Option<u32> {
        let held = self.held.as_ref().filter(|held| !held.holder.is_reaped());
        held.map(|held| held.holder.handle.pid)
    }
}

/// What stands last in a log, for an error.
fn last_words(log: &Path) -> String {
    let words = tail(log, LAST_WORDS).unwrap_or_default();
    let words = words.trim();
    if words.is_empty() {
        "it said nothing".to_owned()
    } else {
        words.to_owned()
    }
}
