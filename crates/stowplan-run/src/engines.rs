//! The engines of a session: the agent's, and those that its caller makes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stowplan_engine::{Capabilities, Engine, EngineError, Probe, SharedNetwork};
use stowplan_model::{Place, ServiceKind};
use stowplan_plan::{KnownEngines, KnownVariant};
use stowplan_remote::{AgentHost, RemoteEngine};

/// Makes the engine of a name, whose services are to be in this network; `None` where there
/// is none of this name.
pub type MakeEngine<'a> = &'a dyn Fn(&str, SharedNetwork) -> Option<Rc<dyn Engine>>;

/// Engines that do not run in the agent.
#[derive(Clone, Copy)]
pub struct CallerEngines<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// Names of engines that this version does not have, and what their services would be.
    pub planned: &'a [(&'a str, ServiceKind)],
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

/// What can be done at a place that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Usable {
    /// By its engine.
    pub capabilities: Capabilities,
    /// Why some step of it runs in emulation only; `None` where none does.
    pub emulated: Option<String>,
}

/// What an engine said of itself when it was tried out.
#[derive(Debug, Clone)]
struct Probed {
    version: String,
    emulated: Option<String>,
}

/// All engines of a session, each made when it is first asked for.
pub struct Engines<'a> {
    host: Rc<AgentHost>,
    outside: CallerEngines<'a>,
    known: KnownEngines,
    made: RefCell<BTreeMap<String, Rc<dyn Engine>>>,
    probed: RefCell<BTreeMap<String, Probed>>,
}

impl<'a> Engines<'a> {
    /// Every engine of this agent and of the caller.
    ///
    /// # Errors
    /// When the agent does not say what its engines can do.
    pub fn new(host: &Rc<AgentHost>, outside: CallerEngines<'a>) -> Result<Self, EngineError> {
        let mut engines = Self {
            host: Rc::clone(host),
            outside,
            known: KnownEngines::default(),
            made: RefCell::default(),
            probed: RefCell::default(),
        };
        engines.known = engines.all()?;
        Ok(engines)
    }

    fn all(&self) -> Result<KnownEngines, EngineError> {
        let own = self.host.engines().iter().map(String::as_str);
        let mut all = Vec::new();
        for name in own.chain(self.outside.names.iter().copied()) {
            let variants = self.get(name)?.capabilities().variants;
            let variants = variants
                .iter()
                .map(|variant| KnownVariant::new(&variant.name, variant.facts()));
            all.push((name, variants.collect()));
        }
        Ok(KnownEngines::new(all, self.outside.planned))
    }

    /// The engines that a place may name.
    #[must_use]
    pub fn known(&self) -> &KnownEngines {
        &self.known
    }

    /// The engine of this name.
    ///
    /// # Errors
    /// When this version has none.
    pub fn get(&self, name: &str) -> Result<Rc<dyn Engine>, EngineError> {
        if let Some(engine) = self.made.borrow().get(name) {
            return Ok(Rc::clone(engine));
        }
        let engine: Rc<dyn Engine> = if self.host.engines().iter().any(|own| own == name) {
            Rc::new(RemoteEngine::new(&self.host, name)?)
        } else {
            let made = (self.outside.make)(name, self.host.shared_network());
            made.ok_or_else(|| not_in_this_version(name))?
        };
        let mut made = self.made.borrow_mut();
        Ok(Rc::clone(made.entry(name.to_owned()).or_insert(engine)))
    }

    /// What the engine of a place can do, if every step of the place can be used here.
    ///
    /// # Errors
    /// When one cannot; the error says why.
    pub fn usable(&self, place: &Place) -> Result<Usable, EngineError> {
        let mut emulated = None;
        for step in place.steps() {
            let reason = self.probe(&step.name)?.emulated;
            emulated = emulated.or(reason.map(|reason| format!("{}: {reason}", step.name)));
        }
        Ok(Usable {
            capabilities: self.get(&place.engine.name)?.capabilities(),
            emulated,
        })
    }

    fn probe(&self, name: &str) -> Result<Probed, EngineError> {
        if let Some(known) = self.probed.borrow().get(name) {
            return Ok(known.clone());
        }
        let (version, emulated) = match self.get(name)?.probe(self.host.as_ref()) {
            Probe::Absent { reason, hint } => {
                return Err(EngineError::new(format!("engine '{name}': {reason}")).hint(hint));
            }
            Probe::Available { version } => (version, None),
            Probe::Emulated {
                version, reason, ..
            } => (version, Some(reason)),
        };
        let probed = Probed { version, emulated };
        let mut all = self.probed.borrow_mut();
        Ok(all.entry(name.to_owned()).or_insert(probed).clone())
    }

    /// Versions of the engines that can be used, by name.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, String> {
        let probed = self.probed.borrow();
        let versions = probed.iter();
        versions
            .map(|(name, of)| (name.clone(), of.version.clone()))
            .collect()
    }
}

/// Why an engine that is planned cannot be used.
pub const PLANNED_ENGINE: &str = "this version of stowplan has no such engine yet";

fn not_in_this_version(name: &str) -> EngineError {
    EngineError::new(format!("engine '{name}': {PLANNED_ENGINE}"))
        .hint("leave it out of the places")
}
