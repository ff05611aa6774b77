//! When a service that was started again is ready, and when one that was resumed answers.

use std::collections::BTreeSet;

use stowplan_measure::progress::{Fault, Progress};
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::service::ServicePlan;

/// How far the newest start of a service has come: ready is launched with every endpoint matched (docs/measuring.md §4).
#[derive(Debug, Clone)]
pub struct Readiness<'a> {
    plan: &'a ServicePlan,
    progress: Progress,
    /// Starts before this instant are others.
    since_ns: u64,
    up_ns: Option<u64>,
}

impl<'a> Readiness<'a> {
    /// Nothing is known of a start after this instant.
    #[must_use]
    pub fn new(plan: &'a ServicePlan, since_ns: u64) -> Self {
        Self {
            progress: Progress::new(std::slice::from_ref(plan)),
            plan,
            since_ns,
            up_ns: None,
        }
    }

    /// Takes in an announcement. What an earlier start still had to say does not count.
    ///
    /// # Errors
    /// When the service says that it cannot go on.
    pub fn take(&mut self, said: &Announced) -> Result<(), Fault> {
        if said.service != self.plan.service {
            return Ok(());
        }
        if let Announcement::Up {
            process: None,
            first_instruction_ns,
            ..
        } = &said.announcement
            && *first_instruction_ns >= self.since_ns
        {
            self.progress = Progress::new(std::slice::from_ref(self.plan));
            self.up_ns = Some(*first_instruction_ns);
        }
        if self.up_ns.is_some() {
            self.progress.announced(said)?;
        }
        Ok(())
    }

    /// Name of the service.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.plan.service
    }

    /// When its first process ran; `None` before that.
    #[must_use]
    pub const fn up_ns(&self) -> Option<u64> {
        self.up_ns
    }

    /// When it was ready; `None` while it is not.
    #[must_use]
    pub fn ready_ns(&self) -> Option<u64> {
        let service = self.progress.services().get(&self.plan.service)?;
        let is_ready = self.up_ns.is_some() && self.progress.is_ready();
        is_ready
            .then_some(service.launched_ns.max(service.matched_ns))
            .flatten()
    }

    /// What is still missing.
    #[must_use]
    pub fn missing(&self) -> Option<Fault> {
        self.progress.missing()
    }
}

/// Which processes of a service have answered a ping, its launcher among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    service: String,
    since_ns: u64,
    open: BTreeSet<Option<String>>,
    last_ns: u64,
}

impl Answers {
    /// Nobody has answered a ping of this instant.
    #[must_use]
    pub fn new(plan: &ServicePlan, since_ns: u64) -> Self {
        let processes = plan.processes.iter().map(|p| Some(p.name.clone()));
        Self {
            service: plan.service.clone(),
            since_ns,
            open: processes.chain([None]).collect(),
            last_ns: since_ns,
        }
    }

    /// Takes in an announcement. Answers to earlier pings do not count.
    pub fn take(&mut self, said: &Announced) {
        if let Announcement::Answer { process, t_ns } = &said.announcement
            && said.service == self.service
            && *t_ns >= self.since_ns
        {
            self.open.remove(process);
            self.last_ns = self.last_ns.max(*t_ns);
        }
    }

    /// When the last of all answered; `None` while one has not.
    #[must_use]
    pub fn all_ns(&self) -> Option<u64> {
        self.open.is_empty().then_some(self.last_ns)
    }
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::{process_plan, service_plan};

    use super::*;

    fn plan() -> ServicePlan {
        ServicePlan {
            processes: vec![process_plan("p", vec![])],
            ..service_plan("run", "a")
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

    fn up(t_ns: u64) -> Announced {
        said(Announcement::Up {
            process: None,
            first_instruction_ns: t_ns,
            build_id: String::new(),
        })
    }

    fn matched(t_ns: u64) -> Announced {
        said(Announcement::Matched {
            process: "p".to_owned(),
            endpoints: 1,
            t_ns,
        })
    }

    #[test]
    fn what_an_earlier_start_still_says_is_not_this_ones() {
        let plan = plan();
        let mut ready = Readiness::new(&plan, 100);
        ready.take(&up(90)).unwrap();
        ready.take(&matched(95)).unwrap();
        ready
            .take(&said(Announcement::Failed {
                process: None,
                message: "it was killed".to_owned(),
            }))
            .unwrap();
        assert_eq!((ready.up_ns(), ready.ready_ns()), (None, None));
        ready.take(&up(110)).unwrap();
        ready
            .take(&said(Announcement::Launched { t_ns: 120 }))
            .unwrap();
        assert_eq!(ready.ready_ns(), None);
        ready.take(&matched(115)).unwrap();
        assert_eq!((ready.up_ns(), ready.ready_ns()), (Some(110), Some(120)));
    }

    #[test]
    fn a_service_answers_when_the_last_of_its_processes_does() {
        let mut answers = Answers::new(&plan(), 100);
        let answer = |process: Option<&str>, t_ns| {
            let process = process.map(str::to_owned);
            said(Announcement::Answer { process, t_ns })
        };
        answers.take(&answer(None, 99));
        answers.take(&answer(Some("p"), 130));
        assert_eq!(answers.all_ns(), None);
        answers.take(&answer(None, 120));
        assert_eq!(answers.all_ns(), Some(130));
    }
}
