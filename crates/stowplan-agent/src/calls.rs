//! Each request and its answer.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::{Deployment, EngineError};
use stowplan_host::rundir::RunDir;
use stowplan_host::{Host, cold, domain, process, quiet};
use stowplan_wire::agent::{Answer, Call, PreparedAnswer};
use stowplan_wire::announce::Control;
use stowplan_wire::deployment::DeploymentPlan;
use stowplan_wire::host::SampleSubject;
use stowplan_wire::service::ServicePlan;

use crate::agent::{Agent, CallError, Run, unwritable};
use crate::arm;
use crate::nodes::Nodes;
use crate::one_service;
use crate::watch::Until;

/// Does what was asked.
pub(crate) fn answer(agent: &mut Agent, call: Call) -> Result<Answer, CallError> {
    match call {
        Call::Hello { build_id } => hello(agent, &build_id),
        Call::Clock => Ok(Answer::Clock(process::clock_ns())),
        Call::Facts => Ok(Answer::Facts(agent.host.facts()?)),
        Call::Calibrate {
            program,
            cpu,
            working_sets,
        } => {
            let measured = stowplan_host::calibrate(Path::new(&program), cpu, &working_sets)?;
            Ok(Answer::Calibrated(measured))
        }
        Call::Quiet { timeout_ms } => wait_for_quiet(agent, Duration::from_millis(timeout_ms)),
        Call::Cold { files } => Ok(Answer::Cold(cold::cold(&files)?)),
        Call::PagedIn => Ok(Answer::PagedIn(cold::paged_in_bytes()?)),
        Call::OpenRun {
            run,
            services,
            cyclonedds_xml,
            ring_bytes,
        } => open_run(agent, &run, &services, &cyclonedds_xml, ring_bytes),
        Call::AddReal { services } => add_real(agent, &services),
        Call::CloseRun => {
            agent.end()?;
            agent.engine_events.clear();
            Ok(Answer::Done)
        }
        Call::Probe { engine } => {
            let probe = agent.engine(&engine)?.probe(&*agent.host);
            Ok(Answer::Probed(probe.into()))
        }
        Call::Capabilities { engine } => capabilities(agent, &engine),
        Call::Prepare { engine, plan } => prepare(agent, &engine, &plan),
        Call::Watch { timeout_ms } => watch(agent, Duration::from_millis(timeout_ms)),
        Call::FreeDomain { salt, participants } => {
            let domain = domain::free(salt, participants).map_err(EngineError::from)?;
            Ok(Answer::Domain(domain))
        }
        Call::StartSampling {
            subjects,
            own,
            period_ms,
        } => start_sampling(agent, &subjects, &own, period_ms),
        Call::SampleAlso { subjects } => sample_also(agent, &subjects),
        Call::StopSampling => Ok(Answer::Samples(agent.host.stop_sampling()?)),
        Call::Memory { subjects } => Ok(Answer::Memory(agent.host.memory(&subjects)?)),
        Call::Limits(locator) => Ok(Answer::Limits(agent.host.limits(&locator)?)),
        Call::Digests => {
            let pids = agent.run()?.nodes.pids();
            Ok(Answer::Digests(agent.host.digests(&pids)?))
        }
        Call::DigestsOf { pids } => Ok(Answer::Digests(agent.host.digests(&pids)?)),
        Call::KillTree(locator) => {
            agent.host.kill_tree(&locator)?;
            Ok(Answer::Done)
        }
        Call::Freeze { service, frozen } => {
            agent.host.freeze(&service, frozen)?;
            Ok(Answer::Done)
        }
        Call::FetchTo { from, to } => {
            agent.host.fetch(&from, to.as_ref())?;
            Ok(Answer::Done)
        }
        verb => with_nodes(agent, verb),
    }
}

/// Calls about the node programs and their window; others are about the deployment.
fn with_nodes(agent: &mut Agent, call: Call) -> Result<Answer, CallError> {
    match call {
        Call::BeforeWindow {
            longest_ns,
            preemption,
        } => arm::before_window(agent, Duration::from_nanos(longest_ns), preemption),
        Call::Arm {
            t_arm_ns,
            window_ns,
        } => arm::arm(agent, t_arm_ns, window_ns),
        Call::WaitWindow { .. } => arm::wait_window(agent),
        Call::StopNodes => {
            let nodes = &mut agent.run()?.nodes;
            nodes.tell(&Control::Stop).map_err(unwritable)?;
            Ok(Answer::Done)
        }
        Call::TellService {
            service,
            to,
            control,
        } => one_service::tell(agent, &service, to, &control),
        Call::SignalService {
            service,
            to,
            signal,
        } => one_service::signal(agent, &service, to, signal),
        Call::EndPreemption => arm::end_preemption(agent),
        verb => with_deployment(agent, verb),
    }
}

fn start_sampling(
    agent: &Agent,
    subjects: &[SampleSubject],
    own: &[u32],
    period_ms: u64,
) -> Result<Answer, CallError> {
    agent.host.start_sampling(subjects, own, period_ms)?;
    agent.follow_nodes();
    Ok(Answer::Done)
}

fn sample_also(agent: &Agent, subjects: &[SampleSubject]) -> Result<Answer, CallError> {
    agent.host.sample_also(subjects)?;
    agent.follow_nodes();
    Ok(Answer::Done)
}

fn capabilities(agent: &mut Agent, engine: &str) -> Result<Answer, CallError> {
    let capabilities = agent.engine(engine)?.capabilities();
    let text = serde_json::to_string(&capabilities)
        .map_err(|e| EngineError::new("cannot tell capabilities").because(e))?;
    Ok(Answer::Capabilities(text))
}

/// The verbs of the deployment.
fn with_deployment(agent: &mut Agent, verb: Call) -> Result<Answer, CallError> {
    if let (Call::Destroy, None) = (&verb, &agent.deployment) {
        return Ok(Answer::Done);
    }
    let deployment: &mut dyn Deployment = match &mut agent.deployment {
        Some(deployment) => &mut **deployment,
        None => return Err(EngineError::new("no deployment is prepared").into()),
    };
    let answer = match verb {
        Call::Create(which) => {
            deployment.create(&which)?;
            Answer::Clock(process::clock_ns())
        }
        Call::Start(which) => {
            deployment.start(&which)?;
            Answer::Clock(process::clock_ns())
        }
        Call::Stop(which, how) => {
            deployment.stop(&which, how)?;
            Answer::Done
        }
        Call::Pause(service) => {
            deployment.pause(&service)?;
            Answer::Done
        }
        Call::Resume(service) => {
            deployment.resume(&service)?;
            Answer::Done
        }
        Call::Locators => Answer::Locators(deployment.locators()?),
        Call::EngineProcesses => Answer::Pids(deployment.engine_processes()?),
        Call::EngineRequests => Answer::Requests(deployment.engine_requests()?),
        Call::Label => Answer::Label(deployment.label()?),
        Call::Log { service, bytes } => Answer::Log(deployment.log(&service, bytes)?),
        Call::Destroy => {
            deployment.destroy()?;
            let last = deployment.events(Duration::ZERO)?;
            agent.deployment = None;
            agent.engine_events.extend(last);
            Answer::Done
        }
        other => return Err(EngineError::new(format!("no answer to {other:?}")).into()),
    };
    Ok(answer)
}

impl Agent {
    fn engine(&self, name: &str) -> Result<&dyn stowplan_engine::Engine, EngineError> {
        self.engines
            .iter()
            .find(|engine| engine.name() == name)
            .map(|engine| &**engine)
            .ok_or_else(|| EngineError::new(format!("this agent has no engine '{name}'")))
    }

    /// The open run.
    pub(crate) fn run(&mut self) -> Result<&mut Run, EngineError> {
        self.run
            .as_mut()
            .ok_or_else(|| EngineError::new("no run is open"))
    }
}

fn hello(agent: &Agent, build_id: &str) -> Result<Answer, CallError> {
    let own = stowplan_wire::build_id();
    if build_id != own {
        return Err(EngineError::new(format!(
            "stowplan is build {build_id}, this agent is build {own}"
        ))
        .hint("use stowplan and stowplan-agent of the same build")
        .into());
    }
    Ok(Answer::Hello {
        host: agent.host.id(),
        build_id: own,
        engines: agent.engines.iter().map(|engine| engine.name()).collect(),
    })
}

fn wait_for_quiet(agent: &mut Agent, timeout: Duration) -> Result<Answer, CallError> {
    let mut gone = false;
    let quiet = quiet::wait_until_quiet(timeout, &mut |pause| {
        let deadline = Instant::now() + pause;
        while Instant::now() < deadline {
            if agent.wait(Until::Something(deadline)).is_err() {
                gone = true;
                return false;
            }
        }
        true
    })?;
    if gone {
        return Err(CallError::Gone);
    }
    Ok(Answer::Quiet(quiet))
}

fn open_run(
    agent: &mut Agent,
    run: &str,
    services: &[ServicePlan],
    cyclonedds_xml: &str,
    ring_bytes: u64,
) -> Result<Answer, CallError> {
    for name in std::iter::once(run).chain(services.iter().map(|s| s.service.as_str())) {
        names_a_folder(name)?;
    }
    agent.host.open_run(run)?;
    match RunDir::make(&*agent.host, run, services, cyclonedds_xml, ring_bytes) {
        Ok(mut dir) => {
            let path = dir.path().display().to_string();
            let nodes = Nodes::new(agent.host.id(), dir.take_listeners());
            agent.run = Some(Run {
                dir,
                nodes,
                switches: None,
                window: None,
            });
            Ok(Answer::RunDir(path))
        }
        Err(error) => {
            agent.host.close_run()?;
            Err(error.into())
        }
    }
}

fn names_a_folder(name: &str) -> Result<(), EngineError> {
    let plain = !name.is_empty()
        && !name.starts_with('.')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if plain {
        Ok(())
    } else {
        Err(EngineError::new(format!(
            "'{name}' cannot be the name of a folder"
        )))
    }
}

/// Makes the folders of real programs, which the run was opened without.
fn add_real(agent: &mut Agent, services: &[String]) -> Result<Answer, CallError> {
    let dir = &agent.run()?.dir;
    for service in services {
        names_a_folder(service)?;
        dir.add_real(service)?;
    }
    Ok(Answer::Done)
}

fn prepare(agent: &mut Agent, engine: &str, plan: &DeploymentPlan) -> Result<Answer, CallError> {
    if agent.deployment.is_some() {
        return Err(EngineError::new("a deployment is prepared already")
            .hint("destroy it first")
            .into());
    }
    let host: Rc<dyn Host> = agent.host.clone();
    let deployment = agent.engine(engine)?.prepare(plan, host)?;
    let answer = PreparedAnswer {
        deviations: deployment.deviations(),
    };
    agent.deployment = Some(deployment);
    Ok(Answer::Prepared(answer))
}

fn watch(agent: &mut Agent, timeout: Duration) -> Result<Answer, CallError> {
    let deadline = Instant::now() + timeout;
    agent.serve_others();
    loop {
        let announcements = agent
            .run
            .as_mut()
            .map(|run| run.nodes.take_said())
            .unwrap_or_default();
        let engine = std::mem::take(&mut agent.engine_events);
        if !announcements.is_empty() || !engine.is_empty() || Instant::now() >= deadline {
            return Ok(Answer::Watched {
                engine,
                announcements,
            });
        }
        agent.wait(Until::Something(deadline))?;
    }
}
