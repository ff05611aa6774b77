//! A machine behind an agent.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stowplan_engine::{Capabilities, EngineError, SharedNetwork};
use stowplan_host::ledger::{self, Ledger, Object};
use stowplan_host::{Host, HostError, chain};
use stowplan_site::{Armed, Site, Watched};
use stowplan_wire::agent::{
    Announced, Answer, Call, ProbeAnswer, ProgramDigest, Recipients, ServiceSignal,
};
use stowplan_wire::announce::Control;
use stowplan_wire::deployment::{EngineEvent, Locator};
use stowplan_wire::host::{
    Calibration, ColdProof, LimitsReadBack, MachineFacts, MemorySample, Preemptions, Quiet,
    SampleSubject, Sampled,
};
use stowplan_wire::service::ServicePlan;

use crate::child::ChildAgent;
use crate::pipe::Pipe;

/// A running agent and its machine. Dropping it ends the agent, which removes everything of the open run.
#[derive(Debug)]
pub struct AgentHost {
    pipe: RefCell<Pipe>,
    id: String,
    engines: Vec<String>,
    run: RefCell<Option<String>>,
    ledger: RefCell<Option<Ledger>>,
    engine_events: RefCell<Vec<EngineEvent>>,
    announcements: RefCell<Vec<Announced>>,
    pid: u32,
}

/// The network namespace of an agent and of the services that have none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// One of its own with multicast on its loopback; where the agent may not make one, the machine's.
    Own,
    /// The machine's.
    Machine,
}

/// Takes the one kind of answer that fits a call.
macro_rules! expect {
    ($answer:expr, $pattern:pat => $value:expr) => {
        match $answer {
            Ok($pattern) => Ok($value),
            Err(error) => Err(error),
            Ok(other) => Err(EngineError::new(format!(
                "the agent answered something else: {other:?}"
            ))),
        }
    };
}

impl AgentHost {
    /// Starts an agent on this machine, in the network that its services are to share, and greets it.
    ///
    /// # Errors
    /// When it cannot be started or is of another build.
    pub fn spawn(program: &Path, network: Network) -> Result<Rc<Self>, EngineError> {
        let arguments: &[&str] = match network {
            Network::Own => &["--own-network"],
            Network::Machine => &[],
        };
        Self::over(program, arguments, &[])
    }

    /// The same in the machine's network, with environment variables for the agent, such as `STOWPLAN_STATE`.
    ///
    /// # Errors
    /// When it cannot be started or is of another build.
    pub fn spawn_with(
        program: &Path,
        environment: &[(&str, &OsStr)],
    ) -> Result<Rc<Self>, EngineError> {
        Self::over(program, &[], environment)
    }

    fn over(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
    ) -> Result<Rc<Self>, EngineError> {
        let child = ChildAgent::spawn(program, arguments, environment)?;
        Self::greet(Pipe::new(Box::new(child)))
    }

    fn greet(mut pipe: Pipe) -> Result<Rc<Self>, EngineError> {
        let build_id = stowplan_wire::build_id();
        let hello = Call::Hello { build_id };
        let (id, engines) = expect!(
            pipe.call(hello),
            Answer::Hello { host, engines, .. } => (host, engines)
        )?;
        let pid = pipe.pid();
        Ok(Rc::new(Self {
            pipe: RefCell::new(pipe),
            id,
            engines,
            run: RefCell::new(None),
            ledger: RefCell::new(None),
            engine_events: RefCell::new(Vec::new()),
            announcements: RefCell::new(Vec::new()),
            pid,
        }))
    }

    /// Pid of the agent.
    #[must_use]
    pub const fn agent_pid(&self) -> u32 {
        self.pid
    }

    /// The network that services share which have none of their own: the agent's.
    #[must_use]
    pub const fn shared_network(&self) -> SharedNetwork {
        SharedNetwork {
            of_process: self.pid,
        }
    }

    /// Engines that the agent can run.
    #[must_use]
    pub fn engines(&self) -> &[String] {
        &self.engines
    }

    /// Sends a call and waits for its answer. The typed methods are there for every call; this is for tests of
    /// the protocol.
    ///
    /// # Errors
    /// When the call fails or the agent is gone.
    pub fn call(&self, call: Call) -> Result<Answer, EngineError> {
        self.pipe.borrow_mut().call(call)
    }

    fn done(&self, call: Call) -> Result<(), EngineError> {
        expect!(self.call(call), Answer::Done => ())
    }

    /// Nanoseconds per kernel iteration of the node program at `program`, bound to one CPU, for each of these working
    /// sets in bytes.
    ///
    /// # Errors
    /// When the program fails.
    pub fn calibrate(
        &self,
        program: &str,
        cpu: u32,
        working_sets: &[u64],
    ) -> Result<Vec<Calibration>, EngineError> {
        let call = Call::Calibrate {
            program: program.to_owned(),
            cpu,
            working_sets: working_sets.to_vec(),
        };
        expect!(self.call(call), Answer::Calibrated(measured) => measured)
    }

    /// Waits until the machine is quiet (docs/measuring.md §5), at most `timeout_ms`.
    ///
    /// # Errors
    /// When /proc of the host cannot be read.
    pub fn quiet(&self, timeout_ms: u64) -> Result<Quiet, EngineError> {
        expect!(self.call(Call::Quiet { timeout_ms }), Answer::Quiet(quiet) => quiet)
    }

    /// Probes an engine of the agent.
    ///
    /// # Errors
    /// When the agent has no such engine.
    pub fn probe(&self, engine: &str) -> Result<ProbeAnswer, EngineError> {
        let engine = engine.to_owned();
        expect!(self.call(Call::Probe { engine }), Answer::Probed(probe) => probe)
    }

    /// What an engine of the agent can do.
    ///
    /// # Errors
    /// When the agent has no such engine.
    pub fn capabilities(&self, engine: &str) -> Result<Capabilities, EngineError> {
        let engine = engine.to_owned();
        let text = expect!(
            self.call(Call::Capabilities { engine }),
            Answer::Capabilities(text) => text
        )?;
        serde_json::from_str(&text)
            .map_err(|e| EngineError::new("cannot read the engine's capabilities").because(e))
    }

    fn take_watched(&self) -> Watched {
        Watched {
            engine: std::mem::take(&mut *self.engine_events.borrow_mut()),
            announcements: std::mem::take(&mut *self.announcements.borrow_mut()),
        }
    }

    /// Asks the agent what happened; keeps it here.
    fn fill(&self, timeout_ms: u64) -> Result<(), EngineError> {
        let (engine, announcements) = expect!(
            self.call(Call::Watch { timeout_ms }),
            Answer::Watched { engine, announcements } => (engine, announcements)
        )?;
        self.engine_events.borrow_mut().extend(engine);
        self.announcements.borrow_mut().extend(announcements);
        Ok(())
    }

    /// Engine events only; announcements stay for [`Site::watch`].
    pub(crate) fn engine_events(&self, timeout_ms: u64) -> Result<Vec<EngineEvent>, EngineError> {
        if self.engine_events.borrow().is_empty() {
            self.fill(timeout_ms)?;
        }
        Ok(std::mem::take(&mut *self.engine_events.borrow_mut()))
    }
}

impl Site for AgentHost {
    fn open_run(
        &self,
        run: &str,
        services: Vec<ServicePlan>,
        cyclonedds_xml: String,
        ring_bytes: u64,
    ) -> Result<String, EngineError> {
        let call = Call::OpenRun {
            run: run.to_owned(),
            services,
            cyclonedds_xml,
            ring_bytes,
        };
        let path = expect!(self.call(call), Answer::RunDir(path) => path)?;
        *self.run.borrow_mut() = Some(run.to_owned());
        Ok(path)
    }

    fn add_real(&self, services: Vec<String>) -> Result<(), EngineError> {
        self.done(Call::AddReal { services })
    }

    fn close_run(&self) -> Result<(), EngineError> {
        let closed = self.done(Call::CloseRun);
        if closed.is_ok() {
            *self.run.borrow_mut() = None;
            self.engine_events.borrow_mut().clear();
            self.announcements.borrow_mut().clear();
        }
        // What was made here is there also when the agent is gone.
        if let Some(ledger) = self.ledger.borrow_mut().take() {
            ledger.close()?;
        }
        closed
    }

    fn watch(&self, timeout_ms: u64) -> Result<Watched, EngineError> {
        let mut watched = self.take_watched();
        let waiting = watched.engine.is_empty() && watched.announcements.is_empty();
        self.fill(if waiting { timeout_ms } else { 0 })?;
        let more = self.take_watched();
        watched.engine.extend(more.engine);
        watched.announcements.extend(more.announcements);
        Ok(watched)
    }

    fn free_domain(&self, salt: u64, participants: usize) -> Result<u32, EngineError> {
        let call = Call::FreeDomain { salt, participants };
        expect!(self.call(call), Answer::Domain(domain) => domain)
    }

    /// The agent is on this machine: its files are there.
    fn put(&self, folder: &Path) -> Result<String, EngineError> {
        Ok(folder.display().to_string())
    }

    /// Likewise.
    fn bring(&self, file: &Path, _: &Path) -> Result<PathBuf, EngineError> {
        Ok(file.to_owned())
    }

    fn before_window(&self, longest_ns: u64, preemption: bool) -> Result<u64, EngineError> {
        let call = Call::BeforeWindow {
            longest_ns,
            preemption,
        };
        expect!(self.call(call), Answer::Clock(ns) => ns)
    }

    fn arm(&self, t_arm_ns: u64, window_ns: u64) -> Result<(), EngineError> {
        self.done(Call::Arm {
            t_arm_ns,
            window_ns,
        })
    }

    fn wait_window(&self, longest_ns: u64) -> Result<Armed, EngineError> {
        expect!(
            self.call(Call::WaitWindow { longest_ns }),
            Answer::Armed { t_arm_ns, t_disarm_ns, own_switches, own_cpu_ns } => Armed {
                t_arm_ns,
                t_disarm_ns,
                own_switches,
                own_cpu_ns,
            }
        )
    }

    fn stop_nodes(&self) -> Result<(), EngineError> {
        self.done(Call::StopNodes)
    }

    fn tell_service(
        &self,
        service: &str,
        to: Recipients,
        control: &Control,
    ) -> Result<u64, EngineError> {
        let call = Call::TellService {
            service: service.to_owned(),
            to,
            control: control.clone(),
        };
        expect!(self.call(call), Answer::Clock(ns) => ns)
    }

    fn signal_service(
        &self,
        service: &str,
        to: Recipients,
        signal: ServiceSignal,
    ) -> Result<u64, EngineError> {
        let call = Call::SignalService {
            service: service.to_owned(),
            to,
            signal,
        };
        expect!(self.call(call), Answer::Clock(ns) => ns)
    }

    fn end_preemption(&self) -> Result<Option<Preemptions>, EngineError> {
        expect!(self.call(Call::EndPreemption), Answer::Preemptions(preemptions) => preemptions)
    }

    fn node_digests(&self) -> Result<Vec<ProgramDigest>, EngineError> {
        expect!(self.call(Call::Digests), Answer::Digests(digests) => digests)
    }

    fn cold(&self, files: Vec<String>) -> Result<ColdProof, EngineError> {
        expect!(self.call(Call::Cold { files }), Answer::Cold(proof) => proof)
    }

    fn paged_in_bytes(&self) -> Result<u64, EngineError> {
        expect!(self.call(Call::PagedIn), Answer::PagedIn(bytes) => bytes)
    }
}

fn host_error(error: EngineError) -> HostError {
    let made = HostError::new(chain(&error)).of_kind(error.kind);
    match error.hint {
        Some(hint) => made.hint(hint),
        None => made,
    }
}

impl Host for AgentHost {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn clock(&self) -> Result<u64, HostError> {
        expect!(self.call(Call::Clock), Answer::Clock(ns) => ns).map_err(host_error)
    }

    fn facts(&self) -> Result<MachineFacts, HostError> {
        expect!(self.call(Call::Facts), Answer::Facts(facts) => facts).map_err(host_error)
    }

    fn start_sampling(
        &self,
        subjects: &[SampleSubject],
        own: &[u32],
        period_ms: u64,
    ) -> Result<(), HostError> {
        self.done(Call::StartSampling {
            subjects: subjects.to_vec(),
            own: own.to_vec(),
            period_ms,
        })
        .map_err(host_error)
    }

    fn sample_also(&self, subjects: &[SampleSubject]) -> Result<(), HostError> {
        let subjects = subjects.to_vec();
        self.done(Call::SampleAlso { subjects }).map_err(host_error)
    }

    fn stop_sampling(&self) -> Result<Sampled, HostError> {
        expect!(self.call(Call::StopSampling), Answer::Samples(samples) => samples)
            .map_err(host_error)
    }

    fn memory(&self, subjects: &[SampleSubject]) -> Result<Vec<MemorySample>, HostError> {
        let call = Call::Memory {
            subjects: subjects.to_vec(),
        };
        expect!(self.call(call), Answer::Memory(samples) => samples).map_err(host_error)
    }

    fn limits(&self, service: &Locator) -> Result<LimitsReadBack, HostError> {
        expect!(self.call(Call::Limits(service.clone())), Answer::Limits(limits) => limits)
            .map_err(host_error)
    }

    fn digests(&self, pids: &[u32]) -> Result<Vec<ProgramDigest>, HostError> {
        let pids = pids.to_vec();
        expect!(self.call(Call::DigestsOf { pids }), Answer::Digests(digests) => digests)
            .map_err(host_error)
    }

    fn fetch(&self, from: &str, to: &Path) -> Result<(), HostError> {
        self.done(Call::FetchTo {
            from: from.to_owned(),
            to: to.display().to_string(),
        })
        .map_err(host_error)
    }

    fn kill_tree(&self, service: &Locator) -> Result<(), HostError> {
        self.done(Call::KillTree(service.clone()))
            .map_err(host_error)
    }

    fn freeze(&self, service: &Locator, frozen: bool) -> Result<(), HostError> {
        let service = service.clone();
        self.done(Call::Freeze { service, frozen })
            .map_err(host_error)
    }

    /// Entered here, where `stowplan clean` looks: what engines outside of the agent make belongs to this
    /// process.
    fn enter(&self, object: &Object) -> Result<(), HostError> {
        let mut open = self.ledger.borrow_mut();
        if open.is_none() {
            let run = self.run.borrow();
            let run = run
                .as_deref()
                .ok_or_else(|| HostError::new("no run is open, so nothing can be made"))?;
            *open = Some(Ledger::open(&ledger::folder()?, run)?);
        }
        open.as_mut().map_or(Ok(()), |ledger| ledger.enter(object))
    }

    fn gone(&self, object: &Object) {
        if let Some(ledger) = self.ledger.borrow_mut().as_mut() {
            ledger.gone(object);
        }
    }
}
