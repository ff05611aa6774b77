//! `launch`: the first process of a service, which may be PID 1. Models one `ros2 launch` (docs/measuring.md §1).

mod child;
mod order;

use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, WaitOptions, WaitStatus, kill_process};
use stowplan_wire::announce::{Announcement, Control};
use stowplan_wire::service::{ALIVE_SOCKET, ProfilePlan, ServicePlan};

use crate::alive::Answering;
use crate::announce::{Agent, AgentMessage};
use crate::dds::{Matching, Participant};
use crate::error::NodeError;
use crate::exec::control::{is_ready, wait};
use crate::graph::{Discovery, START_WORKING_SET, launch_endpoints, load_client};
use crate::link::UP;
use crate::plan::Planned;
use crate::signals::{self, Signals, asks_to_end};
use crate::work::WorkingSet;
use crate::{fault, fingerprint, record, startup};
use child::Child;
use order::{Next, Progress};

/// Launches a service and stays until it is asked to end.
///
/// # Errors
/// When something cannot be started or ends early; the agent has been told then, if it could be reached.
pub fn run(plan: &Path, files: &Path, first_ns: u64) -> Result<(), NodeError> {
    let signals = Signals::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGCHLD])?;
    signals::name_process("launch");
    let planned = Planned::read(plan)?;
    let agent = Agent::connect(&planned.folder)?;
    agent.say(&Announcement::Up {
        process: None,
        first_instruction_ns: first_ns,
        build_id: stowplan_wire::build_id(),
    })?;
    agent.say(&fingerprint::at_start(None))?;
    let work = WorkingSet::new(START_WORKING_SET);
    work.run(
        planned
            .plan
            .launch
            .as_ref()
            .map_or(0, |l| l.start_iterations),
    );
    let result = prepare(&planned, files).and_then(|ros| {
        let answering = answering(&planned)?;
        let t_ns = record::now();
        agent.say(&Announcement::LaunchReady { t_ns })?;
        let mut launcher = Launcher {
            plan_path: plan.to_owned(),
            files: files.to_owned(),
            progress: Progress::new(&planned.plan),
            plan: planned.plan,
            agent: &agent,
            signals,
            work,
            children: Vec::new(),
            answering,
            ros,
            ready: false,
            end: false,
            stopped: false,
        };
        let result = launcher.serve();
        let ended = launcher.end_children();
        if let Some(ros) = launcher.ros {
            ros.end();
        }
        result.and(ended)
    });
    result.inspect_err(|error| {
        // The error is printed too; an agent that is gone cannot be told.
        let _told = agent.say(&Announcement::Failed {
            process: None,
            message: error.report(),
        });
    })
}

/// What `ros2 launch` is in the DDS domain: a node of its own that stays.
struct Ros {
    participant: Participant,
    discovery: Option<Discovery>,
}

impl Ros {
    fn end(self) {
        if let Some(discovery) = &self.discovery {
            discovery.stop();
        }
        self.participant.close();
    }
}

/// What `ros2 launch` takes before it starts anything: files, memory, a participant. A plain supervisor takes nothing.
fn prepare(planned: &Planned, files: &Path) -> Result<Option<Ros>, NodeError> {
    let plan = &planned.plan;
    let Some(launch) = &plan.launch else {
        return Ok(None);
    };
    startup::touch_files(files, &launch.files)?;
    startup::keep_memory(launch.memory_bytes)?;
    let participant = planned.participant(None)?;
    let name = format!("launch_ros_{}", plan.service);
    let discovery = launch_endpoints(&participant, profile(plan), &name)?;
    Ok(Some(Ros {
        participant,
        discovery,
    }))
}

/// Where health checks are answered, if any are asked for.
fn answering(planned: &Planned) -> Result<Option<Answering>, NodeError> {
    let path = planned.folder.join(ALIVE_SOCKET);
    let asked = planned.plan.answers.then(|| Answering::at(&path));
    asked.transpose()
}

/// Launch's own node is of the release that the processes are of.
fn profile(plan: &ServicePlan) -> ProfilePlan {
    let mut profiles = plan.processes.iter().map(|process| process.profile);
    profiles
        .find(|profile| *profile != ProfilePlan::Minimal)
        .unwrap_or(ProfilePlan::Minimal)
}

struct Launcher<'a> {
    plan_path: PathBuf,
    files: PathBuf,
    plan: ServicePlan,
    agent: &'a Agent,
    signals: Signals,
    work: WorkingSet,
    progress: Progress,
    children: Vec<Child>,
    answering: Option<Answering>,
    /// None for a plain supervisor.
    ros: Option<Ros>,
    ready: bool,
    end: bool,
    /// The agent has asked for the end, and asks the processes too.
    stopped: bool,
}

impl Launcher<'_> {
    fn serve(&mut self) -> Result<(), NodeError> {
        while !self.end {
            let next = if self.ready {
                Next::Wait
            } else {
                self.progress.next(&self.plan)
            };
            match next {
                Next::Spawn(process) => self.spawn(process)?,
                Next::Load { process, node } => self.ask(process, node)?,
                Next::Ready => {
                    self.ready = true;
                    let t_ns = record::now();
                    self.agent.say(&Announcement::Launched { t_ns })?;
                }
                Next::Stuck(nodes) => {
                    return Err(NodeError::Cycle {
                        nodes: nodes.join(", "),
                    });
                }
                Next::Wait => self.listen(None)?,
            }
            if next != Next::Wait {
                // What has come meanwhile, without waiting for more.
                self.listen(Some(0))?;
            }
        }
        Ok(())
    }

    /// The serial work of launching one entity.
    fn entity(&self) {
        let launch = self.plan.launch.as_ref();
        self.work.run(launch.map_or(0, |l| l.entity_iterations));
    }

    fn spawn(&mut self, process: usize) -> Result<(), NodeError> {
        self.entity();
        let plan = &self.plan.processes[process];
        // A container is loaded once its service is discovered, which `ros2 launch` looks for.
        let looks = plan.component_container && plan.profile != ProfilePlan::Minimal;
        let discovery = if let (true, Some(ros)) = (looks, &self.ros) {
            let name = match plan.own_node() {
                Some(_) => plan.name.clone(),
                None => format!("{}/{}", self.plan.service, plan.name),
            };
            let discovery = ros.discovery.as_ref();
            Some(load_client(&ros.participant, discovery, &name)?)
        } else {
            None
        };
        let child = Child::start(process, &plan.name, &self.plan_path, &self.files, discovery)?;
        self.children.push(child);
        if discovery.is_none() {
            self.progress.discovered(process);
        }
        Ok(())
    }

    fn ask(&mut self, process: usize, node: usize) -> Result<(), NodeError> {
        self.entity();
        match self.children.iter().find(|child| child.process == process) {
            Some(child) => child.link.say(u32::try_from(node).unwrap_or(UP)),
            None => Ok(()),
        }
    }

    /// Waits for something to happen, at most until `until_ns`, and takes note of it.
    fn listen(&mut self, until_ns: Option<u64>) -> Result<(), NodeError> {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.readable(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.agent.readable(), PollFlags::IN),
        ];
        let asked_at = self.answering.as_ref().map(|answering| {
            fds.push(PollFd::from_borrowed_fd(
                answering.readable(),
                PollFlags::IN,
            ));
            fds.len() - 1
        });
        let first = fds.len();
        let mut sources = Vec::new();
        if !self.ready {
            for (index, child) in self.children.iter().enumerate() {
                if !child.hung_up {
                    fds.push(PollFd::from_borrowed_fd(
                        child.link.readable(),
                        PollFlags::IN,
                    ));
                    sources.push((index, None));
                }
                if let Some(matching) = child.discovery {
                    fds.push(PollFd::from_borrowed_fd(matching.readable(), PollFlags::IN));
                    sources.push((index, Some(matching)));
                }
            }
        }
        wait(&mut fds, until_ns)?;
        let ready: Vec<bool> = fds.iter().map(is_ready).collect();
        drop(fds);
        for (at, (index, matching)) in sources.into_iter().enumerate() {
            if ready[first + at] {
                self.hear_child(index, matching);
            }
        }
        if let Some(answering) = self.answering.as_ref()
            && asked_at.is_some_and(|at| ready[at])
        {
            answering.answer();
        }
        if ready[1] {
            self.obey()?;
        }
        // After the agent, which asks the processes to end, too: on a busy machine they may have done so already.
        if ready[0] {
            let signals = self.signals.take();
            self.end |= asks_to_end(&signals);
            self.reap()?;
        }
        Ok(())
    }

    /// Does what the agent asks for.
    fn obey(&mut self) -> Result<(), NodeError> {
        match self.agent.hear()? {
            AgentMessage::Gone => self.end = true,
            AgentMessage::Control(Control::Stop) => {
                self.end = true;
                self.stopped = true;
            }
            AgentMessage::Control(Control::Arm { .. }) => {
                let domain = self.ros.as_ref().map(|_| self.plan.domain);
                let found = fingerprint::at_arming(None, domain);
                self.agent.say(&found)?;
                self.agent.say(&Announcement::Armed { process: None })?;
            }
            AgentMessage::Control(Control::Ping) => {
                let (process, t_ns) = (None, record::now());
                self.agent.say(&Announcement::Answer { process, t_ns })?;
            }
            AgentMessage::Control(Control::Fault(fault)) => {
                fault::happen(self.agent, None, fault)?;
            }
        }
        Ok(())
    }

    fn hear_child(&mut self, index: usize, matching: Option<&'static Matching>) {
        let child = &mut self.children[index];
        if matching.is_some() {
            child.discovery = None;
            self.progress.discovered(child.process);
            return;
        }
        match child.link.hear() {
            Ok(Some(UP)) => self.progress.up(child.process),
            Ok(Some(node)) => self.progress.loaded(child.process, node as usize),
            Ok(None) => {}
            // Its end comes as a signal.
            Err(_) => child.hung_up = true,
        }
    }

    /// Takes note of ended processes, also of those that were left to PID 1. One of ours that ends
    /// before it is asked to is an error.
    fn reap(&mut self) -> Result<(), NodeError> {
        let mut died = None;
        // No child at all is an error of the call, and no child that has ended is `None`.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let Some(at) = self.children.iter().position(|child| child.pid == pid) else {
                continue;
            };
            let child = self.children.remove(at);
            if !(self.end && ended_well(status)) {
                let process = self.plan.processes[child.process].name.clone();
                let how = how_ended(status);
                died.get_or_insert(NodeError::Died { process, how });
            }
        }
        died.map_or(Ok(()), Err)
    }

    /// Ends the processes of the service and waits for them. The agent asks each of them too; one that
    /// it has not asked for two seconds gets a signal.
    fn end_children(&mut self) -> Result<(), NodeError> {
        const ASKED_NS: u64 = 2_000_000_000;
        let mut signal_at = Some(record::now() + if self.stopped { ASKED_NS } else { 0 });
        self.end = true;
        let mut result = Ok(());
        loop {
            result = result.and(self.reap());
            if self.children.is_empty() {
                return result;
            }
            if signal_at.is_some_and(|at| record::now() >= at) {
                signal_at = None;
                for child in &self.children {
                    // One that has ended by itself is reaped next.
                    let _sent = kill_process(child.pid, Signal::TERM);
                }
            }
            let signals = PollFd::from_borrowed_fd(self.signals.readable(), PollFlags::IN);
            wait(&mut [signals], signal_at)?;
            if asks_to_end(&self.signals.take()) {
                signal_at = Some(0);
            }
        }
    }
}

/// Whether a process that was asked to end did: by itself, or by the signal if it came too early.
fn ended_well(status: WaitStatus) -> bool {
    status.exit_status() == Some(0) || status.terminating_signal() == Some(libc::SIGTERM)
}

fn how_ended(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => format!("wait status {:#x}", status.as_raw()),
    }
}
