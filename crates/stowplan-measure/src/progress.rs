//! How far the start of a run has come, from what node programs announce and engines report.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{EngineEvent, EngineEventKind};
use stowplan_wire::service::ServicePlan;

/// How far the engine has come with a service, CLOCK_MONOTONIC ns, where it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineProgress {
    /// An orchestrator has chosen where it runs.
    pub scheduled_ns: Option<u64>,
    /// What its containers share is there.
    pub sandbox_ns: Option<u64>,
    /// Its container, or its process, is made.
    pub created_ns: Option<u64>,
    /// It is started.
    pub started_ns: Option<u64>,
}

impl EngineProgress {
    /// Of several events of a kind the first counts: a service is started again by a supervisor.
    fn take(&mut self, event: &EngineEvent) {
        let instant = match event.kind {
            EngineEventKind::Scheduled => &mut self.scheduled_ns,
            EngineEventKind::SandboxCreated => &mut self.sandbox_ns,
            EngineEventKind::Created => &mut self.created_ns,
            EngineEventKind::Started => &mut self.started_ns,
            _ => return,
        };
        instant.get_or_insert(event.t_ns);
    }
}

/// What is known of one service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceProgress {
    /// What its engine has told.
    pub engine: EngineProgress,
    /// First instruction of its first process, CLOCK_MONOTONIC ns.
    pub first_instruction_ns: Option<u64>,
    /// Its launcher has evaluated everything.
    pub launch_ready_ns: Option<u64>,
    /// Its launcher has started and loaded everything.
    pub launched_ns: Option<u64>,
    /// Nodes and when each began to load and was loaded.
    pub nodes: BTreeMap<String, (Option<u64>, Option<u64>)>,
    /// Processes that are expected to announce that their endpoints are matched, and have not.
    unmatched: BTreeSet<String>,
    /// Callbacks with which chains end that have had no output yet.
    without_output: BTreeSet<u32>,
    /// When the last process announced that its endpoints are matched.
    pub matched_ns: Option<u64>,
}

/// A service that ended or said that it cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("service '{service}' {what}")]
pub struct Fault {
    /// Which.
    pub service: String,
    /// What happened, as a sentence fragment.
    pub what: String,
}

/// How far all services of a run have come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    services: BTreeMap<String, ServiceProgress>,
}

impl Progress {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(plans: &[ServicePlan]) -> Self {
        let services = plans
            .iter()
            .map(|plan| {
                let unmatched = plan.processes.iter().map(|p| p.name.clone()).collect();
                let nodes = plan.processes.iter().flat_map(|p| &p.nodes);
                let callbacks = nodes.flat_map(|n| &n.callbacks);
                let ends = callbacks.filter(|c| c.chains.iter().any(|place| place.ends));
                (
                    plan.service.clone(),
                    ServiceProgress {
                        unmatched,
                        without_output: ends.map(|c| c.id).collect(),
                        ..ServiceProgress::default()
                    },
                )
            })
            .collect();
        Self { services }
    }

    /// Nothing has happened in services of these names that have no processes to be matched.
    #[cfg(test)]
    pub(crate) fn of_services(names: &[&str]) -> Self {
        let services = names
            .iter()
            .map(|name| ((*name).to_owned(), ServiceProgress::default()));
        Self {
            services: services.collect(),
        }
    }

    /// Takes in one announcement.
    ///
    /// # Errors
    /// When a node program says that it cannot go on.
    pub fn announced(&mut self, announced: &Announced) -> Result<(), Fault> {
        let Some(service) = self.services.get_mut(&announced.service) else {
            return Ok(());
        };
        match &announced.announcement {
            Announcement::Up {
                process: None,
                first_instruction_ns,
                ..
            } => {
                service.first_instruction_ns = Some(*first_instruction_ns);
            }
            Announcement::NodeLoading { node, t_ns } => {
                service.nodes.entry(node.clone()).or_default().0 = Some(*t_ns);
            }
            Announcement::NodeLoaded { node, t_ns } => {
                service.nodes.entry(node.clone()).or_default().1 = Some(*t_ns);
            }
            Announcement::LaunchReady { t_ns } => service.launch_ready_ns = Some(*t_ns),
            Announcement::Launched { t_ns } => service.launched_ns = Some(*t_ns),
            Announcement::Matched { process, t_ns, .. } => {
                service.unmatched.remove(process);
                service.matched_ns = service.matched_ns.max(Some(*t_ns));
            }
            Announcement::ChainsOutput { callback } => {
                service.without_output.remove(callback);
            }
            Announcement::Failed { process, message } => {
                let who = process.as_deref().unwrap_or("its launcher");
                return Err(Fault {
                    service: announced.service.clone(),
                    what: format!("cannot go on: {who}: {message}"),
                });
            }
            Announcement::Up { .. }
            | Announcement::Fingerprint { .. }
            | Announcement::Armed { .. }
            | Announcement::Answer { .. }
            | Announcement::Faulting { .. }
            | Announcement::Counters { .. } => {}
        }
        Ok(())
    }

    /// Takes in one event of the engine.
    ///
    /// # Errors
    /// When a service of the node program ended or was ended.
    pub fn engine_event(&mut self, event: &EngineEvent) -> Result<(), Fault> {
        let Some(service) = self.services.get_mut(&event.service) else {
            return Ok(());
        };
        service.engine.take(event);
        let what = match event.kind {
            EngineEventKind::Exited(status) if status > 128 => {
                format!("was ended by signal {}", status - 128)
            }
            EngineEventKind::Exited(status) => format!("ended with status {status}"),
            EngineEventKind::OutOfMemory => "ran out of its memory limit".to_owned(),
            _ => return Ok(()),
        };
        Err(Fault {
            service: event.service.clone(),
            what,
        })
    }

    /// Whether every service is launched and every declared endpoint matched.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.services
            .values()
            .all(|s| s.launched_ns.is_some() && s.unmatched.is_empty())
    }

    /// Whether every chain has had an output, as far as node programs tell: those that end in a real program do not count.
    #[must_use]
    pub fn have_chains_output(&self) -> bool {
        self.services.values().all(|s| s.without_output.is_empty())
    }

    /// When the last service was launched; `None` while one is not.
    #[must_use]
    pub fn launched_ns(&self) -> Option<u64> {
        let launched = self.services.values().map(|s| s.launched_ns);
        launched.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// What is still missing, for the message after a time-out: the first service and its state.
    #[must_use]
    pub fn missing(&self) -> Option<Fault> {
        self.services.iter().find_map(|(service, state)| {
            let what = if state.first_instruction_ns.is_none() {
                "did not run its first instruction".to_owned()
            } else if state.launched_ns.is_none() {
                let open = state.nodes.iter().find(|(_, (_, loaded))| loaded.is_none());
                match open {
                    Some((node, _)) => format!("did not finish loading node '{node}'"),
                    None => format!(
                        "did not finish its launch, {} nodes are loaded",
                        state.nodes.len()
                    ),
                }
            } else {
                let process = state.unmatched.iter().next()?;
                format!("has endpoints of process '{process}' that found no partner")
            };
            Some(Fault {
                service: service.clone(),
                what,
            })
        })
    }

    /// The services with their instants.
    #[must_use]
    pub fn services(&self) -> &BTreeMap<String, ServiceProgress> {
        &self.services
    }
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::{callback_plan, node_plan, process_plan, service_plan};
    use stowplan_wire::service::{CallbackPlan, ChainPlacePlan, TriggerPlan};

    use super::*;

    fn plan(service: &str, process: &str) -> ServicePlan {
        ServicePlan {
            processes: vec![process_plan(process, vec![])],
            ..service_plan("run", service)
        }
    }

    fn said(announcement: Announcement) -> Announced {
        Announced {
            host: "here".to_owned(),
            service: "a".to_owned(),
            pid: 1,
            announcement,
        }
    }

    fn up() -> Announced {
        said(Announcement::Up {
            process: None,
            first_instruction_ns: 5,
            build_id: String::new(),
        })
    }

    #[test]
    fn a_service_is_ready_when_launched_and_matched() {
        let mut progress = Progress::new(&[plan("a", "p")]);
        progress.announced(&up()).unwrap();
        progress
            .announced(&said(Announcement::LaunchReady { t_ns: 7 }))
            .unwrap();
        assert_eq!(
            progress.launched_ns(),
            None,
            "what it evaluated is not loaded"
        );
        progress
            .announced(&said(Announcement::Launched { t_ns: 9 }))
            .unwrap();
        assert_eq!(progress.launched_ns(), Some(9));
        assert_eq!(progress.services()["a"].launch_ready_ns, Some(7));
        assert!(!progress.is_ready());
        assert_eq!(
            progress.missing().unwrap().to_string(),
            "service 'a' has endpoints of process 'p' that found no partner"
        );
        progress
            .announced(&said(Announcement::Matched {
                process: "p".to_owned(),
                endpoints: 2,
                t_ns: 10,
            }))
            .unwrap();
        assert!(progress.is_ready());
        assert_eq!(progress.services()["a"].matched_ns, Some(10));
    }

    #[test]
    fn chains_have_an_output_when_each_callback_that_ends_one_says_so() {
        let place = |ends| ChainPlacePlan {
            chain: 0,
            begins: false,
            ends,
        };
        let chains = [
            (1, vec![]),
            (2, vec![place(true)]),
            (3, vec![place(true)]),
            (4, vec![place(false)]),
        ];
        let callbacks = chains.map(|(id, chains)| CallbackPlan {
            chains,
            ..callback_plan(
                id,
                TriggerPlan::Subscription {
                    topic: 0,
                    expected_publishers: 0,
                },
            )
        });
        let mut ends = plan("a", "p");
        ends.processes[0].nodes = vec![node_plan("n", callbacks.to_vec())];
        let mut progress = Progress::new(&[ends, plan("b", "q")]);
        for callback in [3, 2] {
            assert!(!progress.have_chains_output());
            progress
                .announced(&said(Announcement::ChainsOutput { callback }))
                .unwrap();
        }
        assert!(progress.have_chains_output());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut progress = Progress::new(&[plan("a", "p")]);
        assert_eq!(
            progress.missing().unwrap().what,
            "did not run its first instruction"
        );
        progress.announced(&up()).unwrap();
        progress
            .announced(&said(Announcement::NodeLoading {
                node: "lidar".to_owned(),
                t_ns: 6,
            }))
            .unwrap();
        assert_eq!(
            progress.missing().unwrap().what,
            "did not finish loading node 'lidar'"
        );
    }

    #[test]
    fn a_signal_is_told_as_one() {
        let mut progress = Progress::new(&[plan("a", "p")]);
        let event = |service: &str, status| EngineEvent {
            service: service.to_owned(),
            kind: EngineEventKind::Exited(status),
            t_ns: 0,
            clock: String::new(),
        };
        assert_eq!(
            progress.engine_event(&event("a", 139)).unwrap_err().what,
            "was ended by signal 11"
        );
        assert!(
            progress.engine_event(&event("real", 0)).is_ok(),
            "a real program may end"
        );
    }
}
