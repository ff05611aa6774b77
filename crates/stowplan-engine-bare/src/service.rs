//! One service: its process, group, log and events.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process::Signal;
use stowplan_engine::{CpuGroups, EngineError, open_log};
use stowplan_host::cgroup::{Group, OomWatch, kill_all};
use stowplan_host::ledger::Object;
use stowplan_host::process::namespaces_of;
use stowplan_host::{Host, scheduling};
use stowplan_wire::deployment::{EngineEventKind, Locator, ServiceStart};

use crate::affinity;
use crate::groups::{Above, ServiceGroups};
use crate::program::Prepared;
use crate::spawn::{self, Child, Layout};

/// Where a service is in its life.
#[derive(Debug)]
pub(crate) enum State {
    /// Not made, or ended and to be made again.
    None,
    /// A process waits to run the program.
    Created(Child),
    /// The program runs.
    Running(Child),
}

/// A service of a deployment.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) start: ServiceStart,
    pub(crate) program: Prepared,
    pub(crate) state: State,
    /// Its groups with their limits; `None` without control groups, and until all of them are made.
    groups: Option<ServiceGroups>,
    oom: Option<OomWatch>,
    pub(crate) paused: bool,
}

impl Service {
    pub(crate) const fn new(start: ServiceStart, program: Prepared) -> Self {
        Self {
            start,
            program,
            state: State::None,
            groups: None,
            oom: None,
            paused: false,
        }
    }

    /// Names the service and its log in an error.
    pub(crate) fn error(&self, error: EngineError) -> EngineError {
        error.of_service(self.start.name.clone(), Some(self.start.log.clone()))
    }

    /// Makes the groups with their limits: all, or none.
    pub(crate) fn make_groups(
        &mut self,
        host: &dyn Host,
        above: &Above,
        cpu_groups: CpuGroups,
        controllers: &[&str],
    ) -> Result<(), EngineError> {
        if self.groups.is_some() {
            return Ok(());
        }
        let outer = above.make_outer(host, &self.start.name, controllers)?;
        let made = above
            .fill(host, outer.clone(), cpu_groups, controllers)
            .and_then(|groups| {
                if cpu_groups.is_grouped() {
                    groups.apply(&self.start.limits)?;
                }
                Ok(groups)
            });
        match made {
            Ok(groups) => {
                if cpu_groups.is_grouped() {
                    self.oom = OomWatch::new(&groups.inner);
                }
                self.groups = Some(groups);
                Ok(())
            }
            Err(error) => {
                // Its own error is the lesser one, and the ledger has what stays.
                let _ = outer.remove();
                Err(error.into())
            }
        }
    }

    /// All of its own groups; `None` without control groups.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.groups.as_ref().map(|groups| &groups.outer)
    }

    /// Makes the process that waits, in its groups and with its class.
    pub(crate) fn park(
        &mut self,
        host: &dyn Host,
        cpu_groups: CpuGroups,
    ) -> Result<(), EngineError> {
        let log = open_log(&self.start.log)?;
        let null = File::open("/dev/null")
            .map_err(|e| EngineError::new("cannot open /dev/null").because(e))?;
        let layout = Layout {
            log: log.as_fd(),
            null: null.as_fd(),
            // All of `flat` are in one; login shells and containers each have their own.
            session: cpu_groups != CpuGroups::One,
        };
        let child = spawn::park(&self.program, layout)
            .map_err(|e| EngineError::new("cannot fork").because(e))?;
        let (pid, start_ticks) = (child.pid, child.start_ticks);
        // From here on the process is ended with the service, whatever fails.
        self.state = State::Created(child);
        host.enter(&Object::Process { pid, start_ticks })?;
        stowplan_host::open_files::restore(pid)?;
        if let Some(groups) = &self.groups {
            groups.located.join(pid)?;
        }
        if let Some(cpus) = &self.start.limits.cpuset
            && !cpu_groups.is_grouped()
        {
            affinity::set_affinity(pid, cpus)?;
        }
        if let Some(class) = self.start.limits.scheduling {
            scheduling::set_class(pid, class)?;
        }
        Ok(())
    }

    /// The process, if there is one.
    pub(crate) const fn child(&self) -> Option<&Child> {
        match &self.state {
            State::None => None,
            State::Created(child) | State::Running(child) => Some(child),
        }
    }

    pub(crate) const fn child_mut(&mut self) -> Option<&mut Child> {
        match &mut self.state {
            State::None => None,
            State::Created(child) | State::Running(child) => Some(child),
        }
    }

    /// What happened by itself since the last look.
    pub(crate) fn look(&mut self) -> Vec<EngineEventKind> {
        let mut kinds = Vec::new();
        if let Some(oom) = &mut self.oom {
            for _ in 0..oom.new_kills() {
                kinds.push(EngineEventKind::OutOfMemory);
            }
        }
        if let State::Running(child) | State::Created(child) = &mut self.state
            && let Some(status) = child.try_reap()
        {
            kinds.push(EngineEventKind::Exited(status));
        }
        kinds
    }

    /// Readable when [`Service::look`] may find something.
    pub(crate) fn event_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let ended = self
            .child()
            .filter(|child| !child.is_reaped())
            .map(Child::ended_fd);
        ended.into_iter().chain(self.oom.as_ref().map(OomWatch::fd))
    }

    /// Asks the first process to end.
    pub(crate) fn terminate(&self) {
        if let Some(child) = self.child() {
            child.signal(Signal::TERM, false);
        }
    }

    /// Kills everything of the service and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<(), EngineError> {
        let has_group = self.groups.is_some();
        if let Some(child) = self.child_mut() {
            // With a group, that finds them all; without, the process group is what there is.
            child.signal(Signal::KILL, !has_group);
        }
        let killed = match self.group().and_then(Group::private_folder) {
            Some(folder) => kill_all(folder),
            None => Ok(()),
        };
        if let Some(child) = self.child_mut() {
            child.wait();
        }
        self.state = State::None;
        self.paused = false;
        killed.map_err(|e| self.error(e.into()))
    }

    /// Removes the groups.
    pub(crate) fn remove_groups(&mut self) -> Result<(), EngineError> {
        self.oom = None;
        match self.groups.take() {
            Some(groups) => groups.outer.remove().map_err(|e| self.error(e.into())),
            None => Ok(()),
        }
    }

    /// Where it is; `None` before it is created.
    pub(crate) fn locator(&self, host: &str) -> Option<Locator> {
        let child = self.child()?;
        Some(Locator {
            service: self.start.name.clone(),
            host: host.to_owned(),
            pid: child.pid,
            start_ticks: child.start_ticks,
            cgroups: self
                .groups
                .as_ref()
                .map(|groups| groups.located.to_paths())
                .unwrap_or_default(),
            namespaces: namespaces_of(child.pid),
            log: self.start.log.clone(),
        })
    }
}
