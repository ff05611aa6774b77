//! What happens to the pods of a run, as a run hears it. The API has instants of whole seconds: those of containers are the
//! runtime's own.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri::api::runtime::v1::{ListPodSandboxRequest, PodSandboxFilter};
use stowplan_engine_daemon::cri::request;
use stowplan_engine_daemon::{Happened, monotonic_ns};
use stowplan_host::process::clock_ns;
use stowplan_wire::deployment::EngineEventKind;

use crate::backend::{KubeBackend, Made, Told};
use crate::state::{End, Phase};
use crate::watch::Change;

/// Label by which the kubelet tells the runtime which pod a sandbox is of.
const POD_UID: &str = "io.kubernetes.pod.uid";

/// Instants of a container, CLOCK_MONOTONIC ns.
struct Instants {
    created: u64,
    started: u64,
    finished: u64,
}

/// What a change is of.
struct Subject {
    id: String,
    service: String,
    pod: String,
    is_checked: bool,
    told: Told,
}

impl Subject {
    fn of(id: &str, made: &Made) -> Self {
        Self {
            id: id.to_owned(),
            service: made.wanted.service.clone(),
            pod: made.wanted.pod.clone(),
            is_checked: made.wanted.is_checked,
            told: made.told.clone(),
        }
    }
}

impl KubeBackend {
    /// The next event of a service, if one comes within `wait`.
    pub(super) fn next_event(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(happened) = self.happened.get_mut().pop_front() {
                return Ok(Some(happened));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let change = self.watch.next(&self.cluster, left);
            match change.map_err(|why| self.cluster.lost(&why))? {
                Some(change) => self.take(&change)?,
                None => return Ok(None),
            }
        }
    }

    /// The pid of the first process of a container; 0 where it has none.
    pub(super) fn pid(&self, container: &str) -> Result<u32, EngineError> {
        match self.runtime.wait(self.runtime.container(container)) {
            Ok((_, info)) => {
                let pid = info["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
                Ok(pid.unwrap_or_default())
            }
            Err(status) if stowplan_engine_daemon::cri::is_absent(&status) => Ok(0),
            Err(status) => Err(self.runtime.error("tell of a container", status)),
        }
    }

    /// A pod is gone, as it was asked to be.
    pub(super) fn is_removed(&self, service: &str, id: &str) {
        self.tell(service, id, EngineEventKind::Destroyed, clock_ns());
    }

    fn tell(&self, service: &str, id: &str, kind: EngineEventKind, t_ns: u64) {
        self.happened.borrow_mut().push_back(Happened {
            service: service.to_owned(),
            container: id.to_owned(),
            kind,
            t_ns,
        });
    }

    /// Takes a change in.
    fn take(&self, change: &Change) -> Result<(), EngineError> {
        let uid = &change.uid;
        let found = {
            let made = self.made.borrow();
            let mut all = made.iter();
            let found = all.find(|(_, made)| made.uid == *uid && !made.is_over());
            found.map(|(id, made)| Subject::of(id, made))
        };
        let Some(Subject {
            id,
            service,
            pod,
            is_checked,
            mut told,
        }) = found
        else {
            return Ok(());
        };
        let at = self.at(&pod);
        let by_others = |what: String| Err(EngineError::new(what).of_service(&service, None));
        let Some(seen) = &change.seen else {
            return by_others(format!("the pod {at} was removed by somebody else"));
        };
        if seen.is_going {
            return by_others(format!(
                "somebody else has asked for the end of the pod {at}, or of its namespace"
            ));
        }
        if seen.node.is_some() && !told.scheduled {
            told.scheduled = true;
            self.tell(&service, &id, EngineEventKind::Scheduled, change.t_ns);
        }
        let is_known = |container: &String| told.started.as_ref() == Some(container);
        // A kubelet may tell of the next container at once.
        let before = seen.ended_before.as_ref();
        if let Some(end) = before.filter(|end| is_known(&end.container) && !told.ended) {
            self.ended(&service, &id, end);
            told.ended = true;
        }
        let (container, end) = match &seen.phase {
            Phase::Running(container) => (container, None),
            Phase::Ended(end) => (&end.container, Some(end)),
            // Whoever starts it hears of that.
            Phase::Failed(why) if told.started.is_some() => {
                return by_others(format!("the cluster has ended the pod {at}: {why}"));
            }
            Phase::Coming | Phase::Failed(_) => {
                self.has_told(&id, told);
                return Ok(());
            }
        };
        if !is_known(container) {
            let instants = self.instants(container);
            if told.started.is_none() {
                if let Some(created) = self.sandbox_created(uid) {
                    self.tell(&service, &id, EngineEventKind::SandboxCreated, created);
                }
                self.tell(&service, &id, EngineEventKind::Created, instants.created);
            }
            self.tell(&service, &id, EngineEventKind::Started, instants.started);
            (told.started, told.ended) = (Some(container.clone()), false);
        }
        if is_checked && seen.has_begun && told.healthy.as_ref() != Some(container) {
            self.tell(&service, &id, EngineEventKind::Healthy, change.t_ns);
            told.healthy = Some(container.clone());
        }
        if let Some(end) = end.filter(|_| !told.ended) {
            self.ended(&service, &id, end);
            told.ended = true;
        }
        self.has_told(&id, told);
        Ok(())
    }

    fn ended(&self, service: &str, id: &str, end: &End) {
        let at = self.instants(&end.container).finished;
        if end.out_of_memory {
            self.tell(service, id, EngineEventKind::OutOfMemory, at);
        }
        self.tell(service, id, EngineEventKind::Exited(end.code), at);
    }

    fn has_told(&self, id: &str, told: Told) {
        if let Some(made) = self.made.borrow_mut().get_mut(id) {
            made.told = told;
        }
    }

    /// When the runtime made the sandbox of a pod, CLOCK_MONOTONIC ns, where it tells.
    fn sandbox_created(&self, uid: &str) -> Option<u64> {
        let label_selector = HashMap::from([(POD_UID.to_owned(), uid.to_owned())]);
        let asked = request(ListPodSandboxRequest {
            filter: Some(PodSandboxFilter { label_selector }),
        });
        let mut runtime = self.runtime.runtime();
        let found = self.runtime.wait(runtime.list_pod_sandbox(asked)).ok()?;
        let pod = found.into_inner().items.into_iter().next()?;
        (pod.created_at > 0).then(|| monotonic_ns(pod.created_at).min(clock_ns()))
    }

    /// What the runtime says; now, where it has no such container any more.
    fn instants(&self, container: &str) -> Instants {
        let now = clock_ns();
        let told = self.runtime.wait(self.runtime.container(container));
        let of = |at: i64| {
            if at > 0 {
                monotonic_ns(at).min(now)
            } else {
                now
            }
        };
        let Ok((status, _)) = told else {
            return Instants {
                created: now,
                started: now,
                finished: now,
            };
        };
        Instants {
            created: of(status.created_at),
            started: of(status.started_at),
            finished: of(status.finished_at),
        }
    }
}
