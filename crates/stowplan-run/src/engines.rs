//! The engines of a session: the agent's, and those that its caller makes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stowplan_engine::{Capabilities, Engine, EngineError, Probe};
use stowplan_model::Place;
use stowplan_plan::KnownEngines;
use stowplan_remote::{AgentHost, RemoteEngine};

/// Makes the engine of a name, whose services are to be in the network of the process with this pid; `None` where there
/// is none of this name.
pub type MakeEngine<'a> = &'a dyn Fn(&str, u32) -> Option<Rc<dyn Engine>>;

/// Engines that do not run in the agent.
#[derive(Clone, Copy)]
pub struct CallerEngines<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// Names of engines that this version does not have.
    pub planned: &'a [&'a str],
    /// Makes one of them.
    pub make: MakeEngine<'a>,
}

/// Every engine that a place may name: those of this agent, those that the caller makes, and those to come.
///
/// # Errors
/// When the agent does not say what its engines can do.
pub fn known_engines(
    host: &Rc<AgentHost>,
    outside: CallerEngines<'_>,
) -> Result<KnownEngines, EngineError> {
    Engines::new(host, outside).map(|engines| engines.known)
}

/// All engines of a session, each made when it is first asked for.
pub(crate) struct Engines<'a> {
    host: Rc<AgentHost>,
    outside: CallerEngines<'a>,
    known: KnownEngines,
    made: RefCell<BTreeMap<String, Rc<dyn Engine>>>,
    versions: RefCell<BTreeMap<String, String>>,
}

impl<'a> Engines<'a> {
    pub(crate) fn new(
        host: &Rc<AgentHost>,
        outside: CallerEngines<'a>,
    ) -> Result<Self, EngineError> {
        let mut engines = Self {
            host: Rc::clone(host),
            outside,
            known: KnownEngines::default(),
            made: RefCell::default(),
            versions: RefCell::default(),
        };
        engines.known = engines.all()?;
        Ok(engines)
    }

    fn all(&self) -> Result<KnownEngines, EngineError> {
        let own = self.host.engines().iter().map(String::as_str);
        let mut all = Vec::new();
        for name in own.chain(self.outside.names.iter().copied()) {
            let variants = self.get(name)?.capabilities().variants;
            let variants = variants.into_iter().map(|variant| variant.name);
            all.push((name, variants.collect::<Vec<String>>()));
        }
        Ok(KnownEngines::new(all, self.outside.planned))
    }

    /// The engines that a place may name.
    pub(crate) fn known(&self) -> &KnownEngines {
        &self.known
    }

    /// The engine of this name.
    pub(crate) fn get(&self, name: &str) -> Result<Rc<dyn Engine>, EngineError> {
        if let Some(engine) = self.made.borrow().get(name) {
            return Ok(Rc::clone(engine));
        }
        let engine: Rc<dyn Engine> = if self.host.engines().iter().any(|own| own == name) {
            Rc::new(RemoteEngine::new(&self.host, name)?)
        } else {
            let made = (self.outside.make)(name, self.host.agent_pid());
            made.ok_or_else(|| not_in_this_version(name))?
        };
        let mut made = self.made.borrow_mut();
        Ok(Rc::clone(made.entry(name.to_owned()).or_insert(engine)))
    }

    /// What the engine of a place can do, if every step of the place can be used here.
    pub(crate) fn usable(&self, place: &Place) -> Result<Capabilities, EngineError> {
        for step in place.steps() {
            self.probe(&step.name)?;
        }
        Ok(self.get(&place.engine.name)?.capabilities())
    }

    fn probe(&self, name: &str) -> Result<(), EngineError> {
        if self.versions.borrow().contains_key(name) {
            return Ok(());
        }
        match self.get(name)?.probe(self.host.as_ref()) {
            Probe::Absent { reason, hint } => {
                Err(EngineError::new(format!("engine '{name}': {reason}")).hint(hint))
            }
            Probe::Available { version } | Probe::Emulated { version, .. } => {
                self.versions.borrow_mut().insert(name.to_owned(), version);
                Ok(())
            }
        }
    }

    /// Versions of the engines that can be used, by name.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        self.versions.borrow().clone()
    }
}

/// Why an engine that is planned cannot be used.
pub const PLANNED_ENGINE: &str = "this version of stowplan has no such engine yet";

fn not_in_this_version(name: &str) -> EngineError {
    EngineError::new(format!("engine '{name}': {PLANNED_ENGINE}"))
        .hint("leave it out of the places")
}
