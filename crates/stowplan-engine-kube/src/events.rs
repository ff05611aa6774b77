//! What happens to the pods of a run, as a run hears it. The API has instants of whole seconds: those of containers are the
//! runtime's own.

use std::time::{Duration, Instant};

use stowplan_engine::EngineError;
use stowplan_engine_daemon::{Happened, monotonic_ns};
use stowplan_host::process::clock_ns;
use stowplan_wire::deployment::EngineEventKind;

use crate::backend::KubeBackend;
use crate::state::{Phase, Seen};

/// Instants of a container, CLOCK_MONOTONIC ns.
struct Instants {
    created: u64,
    started: u64,
    finished: u64,
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
                Some((uid, seen)) => self.take(&uid, seen.as_ref())?,
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

    /// Takes a change in, of the pod with this uid.
    fn take(&self, uid: &str, seen: Option<&Seen>) -> Result<(), EngineError> {
        let found = {
            let made = self.made.borrow();
            let mut all = made.iter();
            all.find(|(_, made)| made.uid == uid).map(|(id, made)| {
                let wanted = (made.wanted.service.clone(), made.wanted.pod.clone());
                (id.clone(), wanted, made.is_stopped, made.told)
            })
        };
        let Some((id, (service, pod), is_stopped, (started, ended))) = found else {
            return Ok(());
        };
        if is_stopped || ended {
            return Ok(());
        }
        let at = self.at(&pod);
        let by_others = |what: String| Err(EngineError::new(what).of_service(&service, None));
        let Some(seen) = seen else {
            return by_others(format!("the pod {at} was removed by somebody else"));
        };
        if seen.is_going {
            return by_others(format!(
                "somebody else has asked for the end of the pod {at}, or of its namespace"
            ));
        }
        let (container, end) = match &seen.phase {
            Phase::Coming => return Ok(()),
            // Whoever starts it hears of that.
            Phase::Failed(_) if !started => return Ok(()),
            Phase::Failed(why) => {
                return by_others(format!("the cluster has ended the pod {at}: {why}"));
            }
            Phase::Running(container) => (container, None),
            Phase::Ended {
                container,
                code,
                out_of_memory,
            } => (container, Some((*code, *out_of_memory))),
        };
        let instants = self.instants(container);
        if !started {
            self.tell(&service, &id, EngineEventKind::Created, instants.created);
            self.tell(&service, &id, EngineEventKind::Started, instants.started);
        }
        if let Some((code, out_of_memory)) = end {
            if out_of_memory {
                self.tell(
                    &service,
                    &id,
                    EngineEventKind::OutOfMemory,
                    instants.finished,
                );
            }
            self.tell(
                &service,
                &id,
                EngineEventKind::Exited(code),
                instants.finished,
            );
        }
        if let Some(made) = self.made.borrow_mut().get_mut(&id) {
            made.told = (true, end.is_some());
        }
        Ok(())
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
