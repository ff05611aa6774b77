//! One service and its container.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use stowplan_engine::EngineError;
use stowplan_host::cgroup::{Group, OomWatch};
use stowplan_host::process::namespaces_of;
use stowplan_wire::deployment::{Locator, ServiceStart};

use crate::names;
use crate::place::Place;

/// How far a service's container has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Absent,
    /// It has not been started.
    Created,
    /// It was started and has not been seen ending.
    Started,
    /// It has ended or been stopped.
    Stopped,
}

/// A service of a deployment.
pub(crate) struct Service<R> {
    /// As planned.
    pub(crate) start: ServiceStart,
    /// Name of its container.
    pub(crate) container: String,
    /// What the daemon is asked for.
    pub(crate) request: R,
    pub(crate) state: State,
    /// Id of its container.
    pub(crate) id: Option<String>,
    /// Whether the ledger has it.
    pub(crate) entered: bool,
    /// Containers whose end is our own doing.
    pub(crate) stopped: BTreeSet<String>,
    place: RefCell<Option<Place>>,
    memory: RefCell<Option<OomWatch>>,
    /// It had run out of memory when it was found.
    was_out_of_memory: Cell<bool>,
}

impl<R> Service<R> {
    pub(crate) fn new(run: &str, start: &ServiceStart, request: R) -> Self {
        Self {
            container: names::of_service(run, &start.name),
            start: start.clone(),
            request,
            state: State::Absent,
            id: None,
            entered: false,
            stopped: BTreeSet::new(),
            place: RefCell::new(None),
            memory: RefCell::new(None),
            was_out_of_memory: Cell::new(false),
        }
    }

    /// An error about it.
    pub(crate) fn about(&self, error: EngineError) -> EngineError {
        error.of_service(&self.start.name, Some(self.start.log.clone()))
    }

    /// The daemon has made its container.
    pub(crate) fn created(&mut self, id: String) {
        self.id = Some(id);
        self.state = State::Created;
    }

    /// Its program runs.
    pub(crate) fn started(&mut self) {
        self.state = State::Started;
        // Before, there was no process to find.
        *self.place.borrow_mut() = None;
    }

    /// It is about to be stopped.
    pub(crate) fn is_being_stopped(&mut self) {
        self.stopped.extend(self.id.clone());
        self.state = match self.state {
            State::Created | State::Absent => self.state,
            State::Started | State::Stopped => State::Stopped,
        };
    }

    /// Whether there is a container whose program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state == State::Stopped && self.id.is_some()
    }

    /// Its container is gone.
    pub(crate) fn forget(&mut self) {
        self.stopped.extend(self.id.take());
        self.state = State::Absent;
        *self.place.borrow_mut() = None;
        *self.memory.borrow_mut() = None;
    }

    /// Whether it is known where it is.
    pub(crate) fn is_placed(&self) -> bool {
        self.place.borrow().is_some()
    }

    /// Keeps where it is, and watches its memory where that is limited.
    pub(crate) fn keep(&self, place: Place) {
        if self.start.limits.memory_bytes.is_some() && place.pid > 0 {
            let group = Group::from_paths(&place.cgroups);
            *self.memory.borrow_mut() = OomWatch::new(&group);
            // What was before does not count for the watch.
            self.was_out_of_memory
                .set(group.oom_kills().is_some_and(|kills| kills > 0));
        }
        if place.out_of_memory {
            self.was_out_of_memory.set(true);
        }
        // Without a process, it may still get one.
        let keep = place.pid > 0 || self.state != State::Started;
        *self.place.borrow_mut() = keep.then_some(place);
    }

    /// Pid of its first process.
    pub(crate) fn pid(&self) -> Option<u32> {
        let place = self.place.borrow();
        place.as_ref().map(|place| place.pid).filter(|pid| *pid > 0)
    }

    /// Whether the kernel has ended a process of it for lack of memory since the last call.
    pub(crate) fn out_of_memory(&mut self) -> bool {
        let watch = self.memory.get_mut();
        let now = watch.as_mut().is_some_and(|watch| watch.new_kills() > 0);
        self.was_out_of_memory.take() || now
    }

    /// Where it is, if it has a container.
    pub(crate) fn placed(&self, host: &str) -> Option<Locator> {
        self.id.as_ref()?;
        let place = self.place.borrow().clone().unwrap_or_default();
        Some(self.locator(&place, host))
    }

    pub(crate) fn locator(&self, place: &Place, host: &str) -> Locator {
        Locator {
            service: self.start.name.clone(),
            host: host.to_owned(),
            pid: place.pid,
            start_ticks: place.start_ticks,
            cgroups: place.cgroups.clone(),
            namespaces: namespaces_of(place.pid),
            log: place.log.clone().unwrap_or_else(|| self.start.log.clone()),
        }
    }
}
