//! An open run of services that wait, for tests of what goes wrong around an engine.

use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, EngineError, SharedNetwork, Variant};
use stowplan_remote::{AgentHost, Network, RemoteEngine};
use stowplan_site::Site as _;
use stowplan_testkit::{ShellRoot, agent_program, available, command_plan, private_state};
use stowplan_wire::deployment::{DeploymentPlan, IsolationPlan, Program};

/// An open run on an engine of the agent, or beside it.
pub struct Bench {
    /// The agent.
    pub host: Rc<AgentHost>,
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Services `s0`, `s1` and so on, with two processes each, where the engine can in this root file system.
    pub plan: DeploymentPlan,
}

impl Bench {
    /// Opens a run that `test` names. `make` makes the engine, of the agent program, for services in the network of a process.
    ///
    /// # Errors
    /// When there is no agent or it cannot open the run.
    pub fn begin(
        make: impl FnOnce(&Path, SharedNetwork) -> Box<dyn Engine>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Result<Self, EngineError> {
        let host = AgentHost::spawn(agent_program(), Network::Machine)?;
        let engine = make(agent_program(), host.shared_network());
        Self::on(host, engine, None, root, test, services)
    }

    /// The same on an engine of the agent.
    ///
    /// # Errors
    /// When there is no agent, it has no such engine, or it cannot open the run.
    pub fn of_agent(
        engine: &str,
        variant: Option<&str>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Result<Self, EngineError> {
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        let host = AgentHost::spawn_with(agent_program(), &state)?;
        let engine = Box::new(RemoteEngine::new(&host, engine)?);
        Self::on(host, engine, variant, root, test, services)
    }

    fn on(
        host: Rc<AgentHost>,
        engine: Box<dyn Engine>,
        variant: Option<&str>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Result<Self, EngineError> {
        let run = format!("{}-{test}", std::process::id());
        let run_dir = host.open_run(&run, vec![], String::new(), 0)?;
        let names: Vec<String> = (0..services).map(|number| format!("s{number}")).collect();
        let command: &[&str] = &["/bin/sh", "-c", "sleep 1000 & wait"];
        let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), command)).collect();
        let mut plan = command_plan(&run, &run_dir, variant, &wanted);
        plan.isolation = IsolationPlan::CONTAINER;
        let mut bench = Self { host, engine, plan };
        if !bench.can().rootfs {
            return Ok(bench);
        }
        for service in &mut bench.plan.services {
            if let Program::Command { rootfs, .. } = &mut service.program {
                *rootfs = Some(root.path());
            }
        }
        Ok(bench)
    }

    /// What the variant of the engine can do.
    ///
    /// # Panics
    /// When the engine has no such variant.
    #[must_use]
    pub fn can(&self) -> Variant {
        let all = self.engine.capabilities();
        let variant = all.variant(self.plan.variant.as_deref());
        variant.expect("the engine has the variant").clone()
    }

    /// Whether the engine can be used here.
    ///
    /// # Panics
    /// When it cannot, and is required.
    #[must_use]
    pub fn is_available(&self) -> bool {
        available(self.engine.as_ref(), self.host.as_ref())
    }

    /// The same where the engine can be used; `None` where it cannot.
    ///
    /// # Panics
    /// When the run cannot be opened, or the engine is required and absent.
    #[must_use]
    pub fn open(
        make: impl FnOnce(&Path, SharedNetwork) -> Box<dyn Engine>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Option<Self> {
        let bench = Self::begin(make, root, test, services).expect("a run can be opened");
        bench.is_available().then_some(bench)
    }

    /// Prepares the services.
    ///
    /// # Errors
    /// That of the engine.
    pub fn prepare(&self) -> Result<Box<dyn Deployment>, EngineError> {
        self.engine.prepare(&self.plan, self.host.clone())
    }

    /// Ends the run, and then the engine, which removes its images.
    ///
    /// # Errors
    /// When something of the run cannot be removed.
    pub fn close(self) -> Result<(), EngineError> {
        self.host.close_run()
    }
}
