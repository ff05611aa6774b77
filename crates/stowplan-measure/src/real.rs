//! Real programs of a stack: their surroundings, and how each tells that it is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use stowplan_engine::Deployment;
use stowplan_model::{Ready, RealService};
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{DeploymentPlan, EngineEvent, EngineEventKind, Program};
use stowplan_wire::service::{ServicePlan, TriggerPlan};

use crate::error::RunError;
use crate::progress::Fault;

/// How much of a log is searched for a line.
const LOG_BYTES: u64 = 256 << 10;

/// How often logs, files and ports are looked at: the resolution of these kinds of readiness.
pub(crate) const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// State `LISTEN` of a socket in `/proc/net/tcp`, include/net/tcp_states.h.
const LISTEN: &str = "0A";

/// When a real program started and was ready, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RealProgress {
    /// The engine ran its program.
    pub started_ns: Option<u64>,
    /// It was seen to be ready.
    pub ready_ns: Option<u64>,
}

/// The real programs of a run and how far each has come.
#[derive(Debug, Default)]
pub struct RealServices {
    services: Vec<RealService>,
    progress: BTreeMap<String, RealProgress>,
    ended: BTreeSet<String>,
    /// Modelled processes, by service and name, that have endpoints on the topics that programs wait for.
    partners: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl RealServices {
    /// None of them has started yet. `plans` are those of the modelled services beside them.
    #[must_use]
    pub fn new(services: &[RealService], plans: &[ServicePlan]) -> Self {
        let progress = services
            .iter()
            .map(|s| (s.name.to_string(), RealProgress::default()))
            .collect();
        let partners = services
            .iter()
            .filter_map(|s| match &s.ready {
                Ready::TopicMatched(topic) => Some((topic.clone(), processes_on(plans, topic))),
                _ => None,
            })
            .collect();
        Self {
            services: services.to_vec(),
            progress,
            ended: BTreeSet::new(),
            partners,
        }
    }

    /// Takes in one event of the engine; gives what is odd about it.
    ///
    /// # Errors
    /// When a program failed, or ended before it was ready.
    pub fn engine_event(&mut self, event: &EngineEvent) -> Result<Option<String>, Fault> {
        let Some(service) = self
            .services
            .iter()
            .find(|s| s.name.as_str() == event.service)
        else {
            return Ok(None);
        };
        let progress = self.progress.entry(event.service.clone()).or_default();
        let status = match event.kind {
            EngineEventKind::Started => {
                progress.started_ns = Some(event.t_ns);
                if service.ready == Ready::Started {
                    progress.ready_ns = Some(event.t_ns);
                }
                return Ok(None);
            }
            EngineEventKind::OutOfMemory => {
                return Err(fault(service, "ran out of its memory limit"));
            }
            EngineEventKind::Exited(status) => status,
            _ => return Ok(None),
        };
        self.ended.insert(event.service.clone());
        if status != 0 {
            let ended = if status > 128 {
                format!("was ended by signal {}", status - 128)
            } else {
                format!("ended with status {status}")
            };
            return Err(fault(service, ended));
        }
        match (&service.ready, progress.ready_ns) {
            (Ready::Exit, _) => {
                progress.ready_ns = Some(event.t_ns);
                Ok(None)
            }
            (_, None) => Err(fault(service, "ended before it was ready")),
            (_, Some(_)) => Ok(Some(format!(
                "service '{}' ended before the run did",
                service.name
            ))),
        }
    }

    /// Looks at every program that is not ready yet, at the time `now_ns`.
    ///
    /// # Errors
    /// When the engine cannot show a program or its log.
    pub fn look(
        &mut self,
        deployment: &dyn Deployment,
        announced: &[Announced],
        now_ns: u64,
    ) -> Result<(), RunError> {
        for service in &self.services {
            let name = service.name.as_str();
            let progress = self.progress.entry(name.to_owned()).or_default();
            if progress.started_ns.is_none() || progress.ready_ns.is_some() {
                continue;
            }
            progress.ready_ns = match &service.ready {
                // These come as events of the engine.
                Ready::Started | Ready::Exit => None,
                Ready::TopicMatched(topic) => last_matched(&self.partners[topic], announced),
                Ready::LogLine(text) => {
                    has_line(&deployment.log(name, LOG_BYTES)?, text).then_some(now_ns)
                }
                Ready::File(path) => pid_of(name, deployment)?
                    .is_some_and(|pid| file_exists(pid, path))
                    .then_some(now_ns),
                Ready::Port(port) => pid_of(name, deployment)?
                    .is_some_and(|pid| listens(pid, *port))
                    .then_some(now_ns),
            };
        }
        Ok(())
    }

    /// Whether all are ready.
    #[must_use]
    pub fn are_ready(&self) -> bool {
        self.progress.values().all(|p| p.ready_ns.is_some())
    }

    /// Whether the program of this service has ended by itself.
    #[must_use]
    pub fn has_ended(&self, service: &str) -> bool {
        self.ended.contains(service)
    }

    /// Whether one waits for something that only looking often can tell.
    #[must_use]
    pub fn must_be_looked_at(&self) -> bool {
        self.waiting()
            .any(|s| matches!(s.ready, Ready::LogLine(_) | Ready::File(_) | Ready::Port(_)))
    }

    fn waiting(&self) -> impl Iterator<Item = &RealService> {
        self.services
            .iter()
            .filter(|s| self.progress[s.name.as_str()].ready_ns.is_none())
    }

    /// The first program whose own time is up at `now_ns`, and that time. The modelled partners of a topic have to
    /// be launched first: `launched_ns` is when they were, if they are.
    #[must_use]
    pub fn overdue(&self, now_ns: u64, launched_ns: Option<u64>) -> Option<(Fault, Duration)> {
        let service = self.waiting().find(|service| {
            let started = self.progress[service.name.as_str()].started_ns;
            let begin = match service.ready {
                Ready::TopicMatched(_) => launched_ns.and_then(|t| Some(started?.max(t))),
                _ => started,
            };
            begin.is_some_and(|t| now_ns.saturating_sub(t) > service.ready_timeout_ns)
        })?;
        let timeout = Duration::from_nanos(service.ready_timeout_ns);
        Some((missing(service), timeout))
    }

    /// The first program that is not ready, for the message after a time-out.
    #[must_use]
    pub fn missing(&self) -> Option<Fault> {
        self.waiting().next().map(missing)
    }

    /// How far each has come, by service.
    #[must_use]
    pub fn progress(&self) -> &BTreeMap<String, RealProgress> {
        &self.progress
    }
}

/// Gives real programs the run's DDS domain and configuration, unless the stack gives its own.
pub(crate) fn surround(deployment: &mut DeploymentPlan, domain: u32) {
    for service in &mut deployment.services {
        let Program::Command { env, .. } = &mut service.program else {
            continue;
        };
        let configuration = format!(
            "file://{}/{}/cyclonedds.xml",
            deployment.run_dir, service.name
        );
        for (name, value) in [
            ("CYCLONEDDS_URI", configuration),
            ("ROS_DOMAIN_ID", domain.to_string()),
        ] {
            if !env.iter().any(|(given, _)| given == name) {
                env.push((name.to_owned(), value));
            }
        }
    }
}

fn fault(service: &RealService, what: impl Into<String>) -> Fault {
    Fault {
        service: service.name.to_string(),
        what: what.into(),
    }
}

fn missing(service: &RealService) -> Fault {
    let what = match &service.ready {
        Ready::Started => "did not start".to_owned(),
        Ready::LogLine(text) => format!("wrote no line with '{text}'"),
        Ready::File(path) => format!("made no file '{path}'"),
        Ready::Port(port) => format!("listens on no port {port}"),
        Ready::Exit => "did not exit".to_owned(),
        Ready::TopicMatched(topic) => format!("was not matched on topic '{topic}'"),
    };
    fault(service, what)
}

/// Processes with a publisher or subscription on the topic.
fn processes_on(plans: &[ServicePlan], topic: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for plan in plans {
        let is = |index: u32| plan.topics[index as usize].name == topic;
        for process in &plan.processes {
            let mut callbacks = process.nodes.iter().flat_map(|node| &node.callbacks);
            if callbacks.any(|callback| {
                callback.publishes.iter().any(|p| is(p.topic))
                    || matches!(callback.trigger, TriggerPlan::Subscription { topic, .. } if is(topic))
            }) {
                found.insert((plan.service.clone(), process.name.clone()));
            }
        }
    }
    found
}

/// When the last of the processes announced that all its endpoints are matched; `None` while one has not.
fn last_matched(processes: &BTreeSet<(String, String)>, announced: &[Announced]) -> Option<u64> {
    let matched: BTreeMap<(&str, &str), u64> = announced
        .iter()
        .filter_map(|a| match &a.announcement {
            Announcement::Matched { process, t_ns, .. } => {
                Some(((a.service.as_str(), process.as_str()), *t_ns))
            }
            _ => None,
        })
        .collect();
    let instants = processes
        .iter()
        .map(|(service, process)| matched.get(&(service.as_str(), process.as_str())).copied());
    instants.collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn has_line(log: &str, text: &str) -> bool {
    log.lines().any(|line| line.contains(text))
}

fn pid_of(service: &str, deployment: &dyn Deployment) -> Result<Option<u32>, RunError> {
    let locators = deployment.locators()?;
    let found = locators.iter().find(|l| l.service == service);
    Ok(found.map(|l| l.pid))
}

/// Looks into the program's own root, as the program does: links do not lead out of it.
fn file_exists(pid: u32, path: &str) -> bool {
    let open = || -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty())?;
        openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
    };
    open().is_ok()
}

/// Whether a socket listens on the port in the program's own network.
fn listens(pid: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let path = format!("/proc/{pid}/net/{table}");
        std::fs::read_to_string(Path::new(&path)).is_ok_and(|text| {
            text.lines()
                .skip(1)
                .any(|line| listener(line) == Some(port))
        })
    })
}

/// The port of a line of `/proc/net/tcp`, proc(5), if its socket listens.
fn listener(line: &str) -> Option<u16> {
    let mut fields = line.split_whitespace().skip(1);
    let local = fields.next()?;
    let state = fields.nth(1)?;
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    (state == LISTEN).then_some(port)
}

#[cfg(test)]
#[path = "real_tests.rs"]
mod tests;
