//! An open run of services that wait, for tests of what goes wrong around an engine.

use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{ShellRoot, agent_program, available, command_plan};
use stowplan_wire::deployment::{DeploymentPlan, IsolationPlan, Program};

/// An open run on an engine beside the agent.
pub struct Bench {
    /// The agent.
    pub host: Rc<AgentHost>,
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Services `s0`, `s1` and so on, with two processes each, in this root file system.
    pub plan: DeploymentPlan,
}

impl Bench {
    /// Opens a run that `test` names. `make` makes the engine, of the agent program, for services in the network of a process.
    ///
    /// # Errors
    /// When there is no agent or it cannot open the run.
    pub fn begin(
        make: impl FnOnce(&Path, u32) -> Box<dyn Engine>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Result<Self, EngineError> {
        let host = AgentHost::spawn(agent_program(), Network::Machine)?;
        let engine = make(agent_program(), host.agent_pid());
        let run = format!("{}-{test}", std::process::id());
        let run_dir = host.open_run(&run, vec![], String::new(), 0)?;
        let names: Vec<String> = (0..services).map(|number| format!("s{number}")).collect();
        let command: &[&str] = &["/bin/sh", "-c", "sleep 1000 & wait"];
        let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), command)).collect();
        let mut plan = command_plan(&run, &run_dir, None, &wanted);
        plan.isolation = IsolationPlan::CONTAINER;
        for service in &mut plan.services {
            if let Program::Command { rootfs, .. } = &mut service.program {
                *rootfs = Some(root.path());
            }
        }
        Ok(Self { host, engine, plan })
    }

    /// The same where the engine can be used; `None` where it cannot.
    ///
    /// # Panics
    /// When the run cannot be opened, or the engine is required and absent.
    #[must_use]
    pub fn open(
        make: impl FnOnce(&Path, u32) -> Box<dyn Engine>,
        root: &ShellRoot,
        test: &str,
        services: usize,
    ) -> Option<Self> {
        let bench = Self::begin(make, root, test, services).expect("a run can be opened");
        available(bench.engine.as_ref(), bench.host.as_ref()).then_some(bench)
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
