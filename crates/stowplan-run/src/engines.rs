//! The engines of a session: the agent's, and those that its caller makes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stowplan_engine::{Capabilities, Engine, EngineError, Probe};
use stowplan_remote::{AgentHost, RemoteEngine};

/// Makes the engine of a name, whose services are to be in the network of the process with this pid; `None` where there
/// is none of this name.
pub type MakeEngine<'a> = &'a dyn Fn(&str, u32) -> Option<Rc<dyn Engine>>;

/// Engines that do not run in the agent.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// Makes one of them.
    pub make: MakeEngine<'a>,
}

/// All engines of a session, each made when it is first asked for.
pub(crate) struct Engines<'a> {
    host: Rc<AgentHost>,
    outside: Outside<'a>,
    made: RefCell<BTreeMap<String, Rc<dyn Engine>>>,
    versions: RefCell<BTreeMap<String, String>>,
}

impl<'a> Engines<'a> {
    pub(crate) fn new(host: &Rc<AgentHost>, outside: Outside<'a>) -> Self {
        Self {
            host: Rc::clone(host),
            outside,
            made: RefCell::default(),
            versions: RefCell::default(),
        }
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
            made.ok_or_else(|| self.unknown(name))?
        };
        let mut made = self.made.borrow_mut();
        Ok(Rc::clone(made.entry(name.to_owned()).or_insert(engine)))
    }

    fn unknown(&self, name: &str) -> EngineError {
        let own = self.host.engines().iter().map(String::as_str);
        let all: Vec<&str> = own.chain(self.outside.names.iter().copied()).collect();
        EngineError::new(format!("no engine '{name}'"))
            .hint(format!("engines are: {}", all.join(", ")))
    }

    /// The engine's capabilities, if it can be used at all.
    pub(crate) fn usable(&self, name: &str) -> Result<Capabilities, EngineError> {
        let engine = self.get(name)?;
        match engine.probe(self.host.as_ref()) {
            Probe::Absent { reason, hint } => {
                Err(EngineError::new(format!("engine '{name}': {reason}")).hint(hint))
            }
            Probe::Available { version } | Probe::Emulated { version, .. } => {
                self.versions.borrow_mut().insert(name.to_owned(), version);
                Ok(engine.capabilities())
            }
        }
    }

    /// Versions of the engines that can be used, by name.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        self.versions.borrow().clone()
    }
}
