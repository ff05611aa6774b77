//! What goes wrong around an engine without a daemon: its image vanishes, a name is taken, others work beside it.

use std::fs;
use std::process::{Child, id};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_engine::{Deployment, EngineError};
use stowplan_host::process::is_alive;
use stowplan_host::{Host, chain};
use stowplan_testkit::{ShellRoot, left_of, links};
use stowplan_wire::deployment::{DeploymentPlan, Locator, Select};

use crate::trial::{Stop, ensure, needs};
use crate::{Bench, CaseResult, Checked, Report};

/// A container of the user's own with the name that the first service of a plan will have.
#[derive(Debug, Clone, Copy)]
pub struct UsersOwn {
    /// Makes it and waits until it runs. It ends when its process is asked to.
    pub make: fn(&DeploymentPlan) -> Child,
    /// Removes what the tool leaves of it then.
    pub remove: fn(&DeploymentPlan),
}

/// What the suite of faults of an agent's engine runs on.
pub struct Alone<'a> {
    /// The engine.
    pub engine: &'a str,
    /// Its variant.
    pub variant: Option<&'a str>,
    /// A root file system for services.
    pub root: &'a ShellRoot,
    /// `None` where services have no names that somebody else could have.
    pub users_own: Option<UsersOwn>,
}

/// A case: its name and what it does.
type Case = (&'static str, fn(&Alone<'_>) -> Checked);

const CASES: &[Case] = &[
    ("faults.image-vanishes", image_vanishes),
    ("faults.name-taken", name_taken),
    ("faults.two-runs-at-once", two_runs_at_once),
    ("faults.hundred-services", hundred_services),
];

/// Runs every case. After each of them nothing of it may be left. `None` where the engine cannot be used.
///
/// # Panics
/// When there is no agent, or the engine is required and absent.
#[must_use]
pub fn faults_alone(alone: &Alone<'_>) -> Option<Report> {
    let bench = alone.begin("probe", 0).expect("there is an agent");
    if !bench.is_available() {
        return None;
    }
    let host = bench.host.id();
    bench.close().expect("an empty run ends");
    let links_before = links();
    let mut cases = Vec::new();
    for (name, check) in CASES {
        let checked = check(alone);
        let mut left = left_of(&format!("stowplan-{}-", id()));
        left.extend(links().difference(&links_before).cloned());
        let left = ensure(left.is_empty(), || format!("{left:?} is left"));
        cases.push(CaseResult::new(name, checked.and(left)));
    }
    Some(Report {
        engine: alone.engine.to_owned(),
        variant: alone.variant.map(str::to_owned),
        host,
        cases,
    })
}

/// A run whose services run, until it is ended.
struct Started(Bench, Box<dyn Deployment>);

impl Started {
    fn of(bench: Bench) -> Result<Self, EngineError> {
        let mut deployment = bench.prepare()?;
        deployment.create(&Select::All)?;
        deployment.start(&Select::All)?;
        Ok(Self(bench, deployment))
    }

    fn end(mut self) -> Checked {
        self.1.destroy()?;
        drop(self.1);
        Ok(self.0.close()?)
    }
}

fn image_vanishes(alone: &Alone<'_>) -> Checked {
    let bench = alone.begin("image", 1)?;
    needs(bench.can().rootfs, "program.rootfs")?;
    let mut deployment = bench.prepare()?;
    let root = alone.root.path();
    let away = format!("{root}-away");
    fs::rename(&root, &away).map_err(|e| failed(&e))?;
    let created = deployment.create(&Select::All);
    let outcome = created.and_then(|()| deployment.start(&Select::All));
    fs::rename(&away, &root).map_err(|e| failed(&e))?;
    match outcome {
        Ok(()) => return fail("a service was made without its image"),
        Err(error) => ensure(error.service.as_deref() == Some("s0"), || chain(&error))?,
    }
    deployment.destroy()?;
    drop(deployment);
    Started::of(bench)?.end()
}

fn name_taken(alone: &Alone<'_>) -> Checked {
    let bench = alone.begin("taken", 1)?;
    let Some(UsersOwn { make, remove }) = alone.users_own else {
        return needs(false, "names of users");
    };
    let plan = bench.plan.clone();
    let mut own = make(&plan);
    let checked = Started::of(bench).map_err(Stop::from).and_then(|started| {
        are(&started.1.locators()?, true)?;
        started.end()
    });
    let ended = own.try_wait();
    // It may have ended already.
    let _ = kill_process(Pid::from_child(&own), Signal::TERM);
    let _ = own.wait();
    remove(&plan);
    checked?;
    ensure(matches!(ended, Ok(None)), || {
        format!("the user's container has ended: {ended:?}")
    })
}

fn two_runs_at_once(alone: &Alone<'_>) -> Checked {
    let first = Started::of(alone.begin("one", 2)?)?;
    let second = Started::of(alone.begin("two", 2)?)?;
    let (of_first, of_second) = (first.1.locators()?, second.1.locators()?);
    first.end()?;
    are(&of_first, false)?;
    are(&of_second, true)?;
    second.end()?;
    are(&of_second, false)
}

fn hundred_services(alone: &Alone<'_>) -> Checked {
    let started = Started::of(alone.begin("hundred", 100)?)?;
    let services = started.1.locators()?;
    are(&services, true)?;
    let mut pids: Vec<u32> = services.iter().map(|service| service.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    ensure(pids.len() == 100, || format!("{pids:?}"))?;
    started.end()?;
    are(&services, false)
}

fn are(services: &[Locator], alive: bool) -> Checked {
    for service in services {
        let is = is_alive(service.pid, service.start_ticks);
        ensure(is == alive, || {
            let name = &service.service;
            format!("the process of '{name}' is alive: {is}")
        })?;
    }
    Ok(())
}

impl Alone<'_> {
    fn begin(&self, test: &str, services: usize) -> Result<Bench, EngineError> {
        Bench::of_agent(self.engine, self.variant, self.root, test, services)
    }
}

fn fail(why: &str) -> Checked {
    Err(Stop::Failed(why.to_owned()))
}

fn failed(error: &std::io::Error) -> Stop {
    Stop::Failed(chain(error))
}
