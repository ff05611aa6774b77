//! A prepared deployment: its helpers and cgroups.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{
    Deployment, EngineError, Facts, ObservedContainer, agreed, contradiction, group_of, selected,
};
use stowplan_host::cgroup::{CONTROLLERS, Group, Tree};
use stowplan_host::ledger::Object;
use stowplan_host::process::{self, namespaces_of};
use stowplan_host::{Host, HostError, scheduling, tail};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineRequest, IsolationPlan, Locator, Select, ServiceStart,
    StopMode,
};

use crate::filter::Filter;
use crate::fleet::{Fleet, Round};
use crate::helper::surroundings;
use crate::helper_program::{HelperProgram, RUNTIME};
use crate::link::Link;
use crate::protocol::{Command, HelperPlan, Opening};

/// Longest silence of all helpers during a command.
const PATIENCE: Duration = Duration::from_secs(60);

/// Services in containers.
pub(crate) struct OciDeployment {
    plan: DeploymentPlan,
    host: Rc<dyn Host>,
    fleet: Fleet,
    /// Cgroup of the run, with one for each service below it.
    group: Option<Group>,
    /// Real-time budget of the run in µs of each second, where it has one.
    budget_us: Option<u64>,
}

impl OciDeployment {
    /// Makes the folders, starts the helpers and gives them their plans.
    pub(crate) fn prepare(
        program: &HelperProgram,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Self, EngineError> {
        let mut deployment = Self {
            fleet: Fleet::new(Vec::new(), host.clock_domain()),
            plan: plan.clone(),
            host,
            group: None,
            budget_us: None,
        };
        let openings = openings(plan)?;
        // From here on, dropping it removes what was made.
        if plan.isolation.cgroup {
            let host = deployment.host.as_ref();
            let group = Tree::detect()?.make_run(host, &plan.run, &CONTROLLERS)?;
            let group = deployment.group.insert(group);
            deployment.budget_us = scheduling::give_run_budget(group, plan)?;
        }
        for service in &plan.services {
            deployment.make_folder(&service.name)?;
            let link = program.spawn(&service.name, &service.log)?;
            if let Some((pid, start_ticks)) = link.process() {
                deployment
                    .host
                    .enter(&Object::Process { pid, start_ticks })?;
            }
            deployment.fleet.links.push(link);
        }
        let all: Vec<usize> = (0..plan.services.len()).collect();
        let round = deployment.how("prepare", 0, false);
        deployment
            .fleet
            .round(&all, round, |link| link.send(&openings[&link.name]))?;
        Ok(deployment)
    }

    /// The service's folder in the run folder, which is there already when it has node programs.
    fn make_folder(&self, service: &str) -> Result<(), EngineError> {
        let folder = Path::new(&self.plan.run_dir).join(service);
        if folder.is_dir() {
            return Ok(());
        }
        self.host.enter(&Object::Folder {
            path: folder.display().to_string(),
        })?;
        fs::create_dir_all(&folder).map_err(|error| HostError::io("create", &folder, error).into())
    }

    const fn how(&self, verb: &'static str, grace_ms: u64, go_on: bool) -> Round {
        Round {
            verb,
            parallelism: self.plan.parallelism,
            patience: PATIENCE.saturating_add(Duration::from_millis(grace_ms)),
            go_on,
        }
    }

    fn indexes(&self, which: &Select) -> Result<Vec<usize>, EngineError> {
        let names = selected(&self.plan, which)?;
        Ok((0..self.fleet.links.len())
            .filter(|index| names.contains(&self.fleet.links[*index].name.as_str()))
            .collect())
    }

    fn link(&self, service: &str) -> Result<usize, EngineError> {
        let one = Select::Services(vec![service.to_owned()]);
        self.indexes(&one)?
            .first()
            .copied()
            .ok_or_else(|| EngineError::new(format!("service '{service}' has been destroyed")))
    }

    fn freeze(&mut self, service: &str, command: &Command) -> Result<(), EngineError> {
        let index = self.link(service)?;
        if self.group.is_none() {
            return Err(self.fleet.links[index]
                .error(format!(
                    "cannot {} without isolation feature 'cgroup'",
                    command.verb()
                ))
                .hint("switch 'cgroup' on"));
        }
        let round = self.how(command.verb(), 0, true);
        self.fleet.round(&[index], round, |link| link.send(command))
    }

    fn remove(&mut self) -> Result<(), EngineError> {
        let all: Vec<usize> = (0..self.fleet.links.len())
            .filter(|index| self.fleet.links[*index].is_alive())
            .collect();
        let mut round = self.how("destroy", 0, true);
        round.parallelism = 0;
        let mut result = self
            .fleet
            .round(&all, round, |link| link.send(&Command::Destroy));
        for link in &mut self.fleet.links {
            if let Err(error) = link.close(PATIENCE) {
                result = result.and(Err(link
                    .error("cannot end its helper process")
                    .because(error)));
            }
            link.created = None;
            // The helper has done this, unless it was killed.
            if let Some(group) = link.group.take()
                && let Err(error) = group.remove()
            {
                result = result.and(Err(error.into()));
            }
        }
        if let Some(group) = self.group.take()
            && let Err(error) = group.remove()
        {
            result = result.and(Err(error.into()));
        }
        result
    }
}

impl Deployment for OciDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        let round = self.how("create", 0, false);
        let (group, host, plan) = (&self.group, self.host.as_ref(), &self.plan);
        self.fleet.round(&which, round, |link| {
            let cgroups = make_group(group.as_ref(), host, plan, link)?;
            link.send(&Command::Create { cgroups })
        })
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        let round = self.how("start", 0, false);
        self.fleet
            .round(&which, round, |link| link.send(&Command::Start))
    }

    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError> {
        let mut which = self.indexes(which)?;
        // The service of a helper that is gone went with it.
        which.retain(|index| self.fleet.links[*index].is_alive());
        let grace_ms = match how {
            StopMode::Terminate { grace_ms } => grace_ms,
            StopMode::Kill => 0,
        };
        let mut round = self.how("stop", grace_ms, true);
        round.parallelism = 0;
        self.fleet
            .round(&which, round, |link| link.send(&Command::Stop(how)))
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        self.remove()
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, &Command::Pause)
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, &Command::Resume)
    }

    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        self.fleet.events(wait)
    }

    fn event_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.fleet
            .links
            .iter()
            .filter_map(Link::descriptor)
            .collect()
    }

    fn locators(&self) -> Result<Vec<Locator>, EngineError> {
        let host = self.host.id();
        let located = self.fleet.links.iter().filter_map(|link| {
            let created = link.created.as_ref()?;
            Some(Locator {
                service: link.name.clone(),
                host: host.clone(),
                pid: created.pid,
                start_ticks: created.start_ticks,
                cgroups: link.group.as_ref().map(Group::to_paths).unwrap_or_default(),
                namespaces: namespaces_of(created.pid),
                log: link.log.clone(),
            })
        });
        Ok(located.collect())
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        let start = self
            .plan
            .services
            .iter()
            .find(|start| start.name == service)
            .ok_or_else(|| {
                EngineError::new(format!("no service '{service}' in this deployment"))
            })?;
        tail(Path::new(&start.log), bytes).map_err(|error| {
            EngineError::new("cannot read its log")
                .of_service(service, Some(start.log.clone()))
                .because(error)
        })
    }

    fn deviations(&self) -> Vec<String> {
        let mut deviations = Vec::from_iter(self.budget_us.map(scheduling::budget_note));
        if self.plan.isolation.user {
            deviations.push(if rustix::process::geteuid().is_root() {
                "the user namespace maps ids 0 to 65535 to themselves".to_owned()
            } else {
                "the user namespace has one id: root there is this user here".to_owned()
            });
        }
        if self.group.is_none() {
            deviations
                .push("no cgroup of its own, so no usage per service and no pause".to_owned());
        }
        deviations
    }

    fn label(&self) -> Result<Facts, EngineError> {
        let mut all = Vec::new();
        for link in &self.fleet.links {
            let Some(created) = link.created.as_ref() else {
                continue;
            };
            // Of a program that has done its work there is nothing to read.
            if !process::is_alive(created.pid, created.start_ticks) {
                continue;
            }
            let seen = ObservedContainer::of(created.pid, &link.name);
            let helper = link.process().map(|(pid, _)| pid);
            let parent = process::parent_of(created.pid);
            if helper.is_none() || helper != parent {
                let shown = format!("{} {}", seen.parent, parent.unwrap_or_default());
                let helper = helper.unwrap_or_default().to_string();
                return Err(contradiction("helper of a container", &helper, &shown));
            }
            let facts = [
                ("engine.runtime", RUNTIME.to_owned()),
                ("engine.root", seen.root),
                (
                    "engine.cgroup",
                    group_of(created.pid, &self.plan.run, &link.name),
                ),
            ];
            let facts = facts.map(|(name, value)| (name.to_owned(), value));
            all.push(Facts::from(facts));
        }
        let mut roots: BTreeSet<String> = BTreeSet::new();
        for facts in &mut all {
            // A real program may have another root than node programs have.
            roots.extend(facts.remove("engine.root"));
        }
        let mut facts = agreed(all)?;
        if !roots.is_empty() {
            let roots: Vec<String> = roots.into_iter().collect();
            facts.insert("engine.root".to_owned(), roots.join(" | "));
        }
        Ok(facts)
    }

    fn engine_requests(&self) -> Result<Vec<EngineRequest>, EngineError> {
        Ok(self.fleet.requests.clone())
    }
}

impl Drop for OciDeployment {
    fn drop(&mut self) {
        // Nobody is left to tell; the ledger still has what could not be removed.
        let _ = self.remove();
    }
}

/// What each helper is to run, by service.
fn openings(plan: &DeploymentPlan) -> Result<BTreeMap<String, Opening>, EngineError> {
    let filter = filter(&plan.isolation)?;
    let opening = |service: &ServiceStart| {
        let mut helper = HelperPlan::new(plan, service).map_err(|error| {
            EngineError::from(error).of_service(&service.name, Some(service.log.clone()))
        })?;
        helper.filter.clone_from(&filter);
        Ok((service.name.clone(), Opening::Run(Box::new(helper))))
    };
    plan.services.iter().map(opening).collect()
}

/// The seccomp filter of every service.
fn filter(isolation: &IsolationPlan) -> Result<Option<Filter>, EngineError> {
    if !isolation.seccomp {
        return Ok(None);
    }
    let cannot = || EngineError::new("cannot make the seccomp filter");
    let around = surroundings().map_err(|error| cannot().because(error))?;
    let filter = Filter::of_docker(around.kept(isolation));
    filter.map(Some).map_err(|error| cannot().because(error))
}

/// Makes the cgroup of a service, entered in the ledger first.
fn make_group(
    run: Option<&Group>,
    host: &dyn Host,
    plan: &DeploymentPlan,
    link: &mut Link,
) -> Result<BTreeMap<String, String>, EngineError> {
    let Some(run) = run else {
        return Ok(BTreeMap::new());
    };
    let group = run.make_child(host, &link.name, &CONTROLLERS)?;
    // Kept before anything can fail, so that it is removed then.
    let group = link.group.insert(group);
    scheduling::give_service_budget(group, plan, &link.name)?;
    Ok(group.to_paths())
}
