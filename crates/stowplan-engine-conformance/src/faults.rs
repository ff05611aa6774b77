//! What goes wrong around an engine with a daemon: it dies, names are taken, what was made vanishes, others work beside it.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, process};

use stowplan_engine::{Deployment, EngineError, Probe};
use stowplan_host::ledger::{Cleaned, DaemonVariables, Object, Owner, clean};
use stowplan_host::process::is_alive;
use stowplan_host::{Host, chain};
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{Mortal, ShellRoot, agent_program, private_state};
use stowplan_wire::deployment::{Locator, Select};

use crate::trial::{Stop, ensure, needs};
use crate::{Bench, CaseResult, Checked, Make, Report};

/// What the suite of faults runs on. The engine has to find the daemon.
pub struct Faults<'a> {
    /// The daemon.
    pub daemon: Box<dyn Mortal>,
    /// What it is called in errors.
    pub name: &'a str,
    /// Makes the engine, of the agent program, for services in the network of a process.
    pub make: Make<'a>,
    /// Removes what a ledger names, as `stowplan clean` has it done.
    pub remove: &'a dyn Fn(&Object, &DaemonVariables) -> Result<bool, EngineError>,
    /// A root file system for services.
    pub root: &'a ShellRoot,
}

/// A case: its name and what it does.
type Case = (&'static str, fn(&mut Faults<'_>) -> Checked);

const CASES: &[Case] = &[
    ("faults.daemon-dies-before-create", |faults| {
        daemon_dies(faults, Moment::BeforeCreate)
    }),
    ("faults.daemon-dies-before-start", |faults| {
        daemon_dies(faults, Moment::BeforeStart)
    }),
    ("faults.daemon-dies-while-running", |faults| {
        daemon_dies(faults, Moment::WhileRunning)
    }),
    ("faults.image-vanishes", image_vanishes),
    ("faults.name-taken", name_taken),
    ("faults.containers-vanish", containers_vanish),
    ("faults.two-runs-at-once", two_runs_at_once),
    ("faults.hundred-services", hundred_services),
];

/// Longest wait until an engine notices that its daemon is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// A container that is there all the time and is none of Stowplan's.
fn bystander() -> String {
    format!("users-own-{}", process::id())
}

/// Runs every case. After each of them nothing of it may be left, and everything of the user's.
///
/// # Panics
/// When there is no agent, or the daemon does not come back.
#[must_use]
pub fn faults(mut faults: Faults<'_>) -> Report {
    let host = AgentHost::spawn(agent_program(), Network::Machine).expect("there is an agent");
    let host = host.id();
    faults.daemon.user().make(&bystander());
    let mut cases = Vec::new();
    for (name, check) in CASES {
        let checked = check(&mut faults);
        faults.daemon.start_again();
        let left = faults.nothing_is_left();
        cases.push(CaseResult::new(name, checked.and(left)));
    }
    faults.daemon.user().remove(&bystander());
    Report {
        engine: faults.daemon.engine().to_owned(),
        variant: None,
        host,
        cases,
    }
}

/// When the daemon dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    BeforeCreate,
    BeforeStart,
    WhileRunning,
}

fn daemon_dies(faults: &mut Faults<'_>, moment: Moment) -> Checked {
    let bench = faults.begin(&format!("dies-{}", moment as u8), 2)?;
    let mut deployment = bench.prepare()?;
    if moment > Moment::BeforeCreate {
        deployment.create(&Select::All)?;
    }
    if moment > Moment::BeforeStart {
        deployment.start(&Select::All)?;
    }
    let services = deployment.locators()?;
    deployment.events(Duration::ZERO)?;
    faults.daemon.kill();
    let outcome = match moment {
        Moment::BeforeCreate => make(&bench, deployment.as_mut()),
        Moment::BeforeStart => deployment.start(&Select::All),
        Moment::WhileRunning => until_gone(deployment.as_mut()),
    };
    match outcome {
        Ok(()) => return fail("nobody noticed that the daemon had died"),
        Err(error) => faults.names_the_daemon(&chain(&error), error.hint.as_deref())?,
    }
    match bench.engine.probe(bench.host.as_ref()) {
        Probe::Absent { reason, hint } => faults.names_the_daemon(&reason, Some(&hint))?,
        other => return fail(&format!("without a daemon it is {other:?}")),
    }
    let folder = PathBuf::from(&bench.plan.run_dir);
    // So ends a process whose run has failed. What it cannot remove stands in its ledgers.
    drop(deployment);
    let _ = bench.close();
    orphan_ledgers()?;
    let cleaned = faults.clean()?;
    ensure(!cleaned.failed.is_empty(), || {
        format!("without a daemon clean says {cleaned:?}")
    })?;
    faults.daemon.start_again();
    let cleaned = faults.clean()?;
    ensure(cleaned.failed.is_empty(), || format!("{cleaned:?}"))?;
    ensure(!folder.exists(), || {
        format!("{} is there again", folder.display())
    })?;
    are_gone(&services)
}

/// Makes the services; where the engine does that only to start them, they are started.
fn make(bench: &Bench, deployment: &mut dyn Deployment) -> Result<(), EngineError> {
    deployment.create(&Select::All)?;
    if bench.can().separate_create {
        return Ok(());
    }
    deployment.start(&Select::All)
}

/// Waits until the deployment says that its daemon is gone; no error is that it says nothing.
fn until_gone(deployment: &mut dyn Deployment) -> Result<(), EngineError> {
    while !deployment.events(PATIENCE)?.is_empty() {}
    Ok(())
}

/// Makes the ledgers of this process those of one that has ended: those of the living are left alone.
fn orphan_ledgers() -> Checked {
    for path in ledgers()? {
        let text = fs::read_to_string(&path).map_err(failed)?;
        let (owner, entries) = text.split_once('\n').unwrap_or((&text, ""));
        let mut owner: Owner = serde_json::from_str(owner).map_err(failed)?;
        owner.start_ticks = u64::MAX;
        let owner = serde_json::to_string(&owner).map_err(failed)?;
        fs::write(&path, format!("{owner}\n{entries}")).map_err(failed)?;
    }
    Ok(())
}

fn ledgers() -> Result<Vec<PathBuf>, Stop> {
    let entries = fs::read_dir(private_state()).map_err(failed)?;
    let paths = entries.map(|entry| Ok(entry.map_err(failed)?.path()));
    paths.collect()
}

fn are_gone(services: &[Locator]) -> Checked {
    for service in services {
        ensure(!is_alive(service.pid, service.start_ticks), || {
            format!("the process of '{}' still runs", service.service)
        })?;
    }
    Ok(())
}

fn image_vanishes(faults: &mut Faults<'_>) -> Checked {
    let bench = faults.begin("image", 1)?;
    let mut deployment = bench.prepare()?;
    let user = faults.daemon.user();
    for image in user.images_of(process::id()) {
        user.remove_image(&image);
    }
    match make(&bench, deployment.as_mut()) {
        Ok(()) => return fail("a service was made without its image"),
        Err(error) => ensure(error.service.as_deref() == Some("s0"), || chain(&error))?,
    }
    deployment.destroy()?;
    drop(deployment);
    let mut deployment = bench.prepare()?;
    make(&bench, deployment.as_mut())?;
    deployment.destroy()?;
    drop(deployment);
    Ok(bench.close()?)
}

fn name_taken(faults: &mut Faults<'_>) -> Checked {
    let user = faults.daemon.user();
    needs(user.takes_names(), "names of users")?;
    let bench = faults.begin("taken", 1)?;
    let mut deployment = bench.prepare()?;
    let name = format!("stowplan-{}-s0", bench.plan.run);
    user.make(&name);
    let outcome = make(&bench, deployment.as_mut());
    let destroyed = deployment.destroy();
    let removed = faults.remove(&faults.container(&name));
    let stays = user.has(&name);
    user.remove(&name);
    let Err(error) = outcome else {
        return fail("a name was taken twice");
    };
    let said = chain(&error);
    ensure(
        error.service.as_deref() == Some("s0") && said.contains(&name),
        || said.clone(),
    )?;
    let hint = error.hint.unwrap_or_default();
    ensure(hint.contains("leaves it alone"), || hint)?;
    destroyed?;
    ensure(stays && !removed?, || {
        "the user's container is gone".to_owned()
    })?;
    drop(deployment);
    Ok(bench.close()?)
}

/// What a ledger names is removed, and what is gone is no error.
fn containers_vanish(faults: &mut Faults<'_>) -> Checked {
    let bench = faults.begin("vanish", 2)?;
    let mut deployment = bench.prepare()?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    let services = deployment.locators()?;
    let user = faults.daemon.user();
    let made = user.of_run(&bench.plan.run);
    ensure(made.len() >= 2, || format!("only {made:?}"))?;
    for name in &made {
        let entry = faults.container(name);
        let removed = [faults.remove(&entry)?, faults.remove(&entry)?];
        ensure(removed == [true, false], || format!("{name}: {removed:?}"))?;
    }
    are_gone(&services)?;
    // The run finds out that everything is gone, and ends in order.
    deployment.destroy()?;
    drop(deployment);
    Ok(bench.close()?)
}

fn two_runs_at_once(faults: &mut Faults<'_>) -> Checked {
    let (one, two) = (faults.begin("one", 2)?, faults.begin("two", 2)?);
    let (mut first, mut second) = (one.prepare()?, two.prepare()?);
    first.create(&Select::All)?;
    second.create(&Select::All)?;
    first.start(&Select::All)?;
    second.start(&Select::All)?;
    let cleaned = faults.clean()?;
    ensure(cleaned == Cleaned::default(), || {
        format!("clean touched living runs: {cleaned:?}")
    })?;
    let (of_first, of_second) = (first.locators()?, second.locators()?);
    first.destroy()?;
    drop(first);
    one.close()?;
    are_gone(&of_first)?;
    for service in &of_second {
        ensure(is_alive(service.pid, service.start_ticks), || {
            format!("the end of another run ended '{}'", service.service)
        })?;
    }
    second.destroy()?;
    drop(second);
    Ok(two.close()?)
}

fn hundred_services(faults: &mut Faults<'_>) -> Checked {
    let bench = faults.begin("hundred", 100)?;
    let mut deployment = bench.prepare()?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    let services = deployment.locators()?;
    let mut pids: Vec<u32> = services.iter().map(|service| service.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    ensure(pids.len() == 100 && pids[0] > 0, || format!("{pids:?}"))?;
    let of_engine = deployment.engine_processes()?;
    ensure(
        !of_engine.is_empty() && of_engine.iter().all(|pid| !pids.contains(pid)),
        || format!("the engine has {of_engine:?}, services have {pids:?}"),
    )?;
    deployment.destroy()?;
    drop(deployment);
    Ok(bench.close()?)
}

impl Faults<'_> {
    fn begin(&self, test: &str, services: usize) -> Result<Bench, Stop> {
        Ok(Bench::begin(self.make, self.root, test, services)?)
    }

    fn container(&self, name: &str) -> Object {
        Object::Container {
            engine: self.daemon.engine().to_owned(),
            id: name.to_owned(),
        }
    }

    fn remove(&self, object: &Object) -> Result<bool, EngineError> {
        (self.remove)(object, &DaemonVariables::of_this_process())
    }

    /// What `stowplan clean` does.
    fn clean(&self) -> Result<Cleaned, Stop> {
        let mut remove = |object: &Object, at: &DaemonVariables| {
            (self.remove)(object, at).map_err(|error| chain(&error))
        };
        Ok(clean(private_state(), &mut remove)?)
    }

    fn names_the_daemon(&self, said: &str, hint: Option<&str>) -> Checked {
        let hint = hint.unwrap_or_default();
        let text = format!("{said} (hint: {hint})");
        ensure(text.contains(self.name) && hint.contains("start"), || text)
    }

    fn nothing_is_left(&self) -> Checked {
        let user = self.daemon.user();
        let left = user.left_by(process::id());
        ensure(left.is_empty(), || format!("{left:?} is left"))?;
        let ledgers = ledgers()?;
        ensure(ledgers.is_empty(), || format!("{ledgers:?} is left"))?;
        ensure(user.has(&bystander()), || {
            "the user's container is gone".to_owned()
        })
    }
}

fn fail(why: &str) -> Checked {
    Err(Stop::Failed(why.to_owned()))
}

fn failed(error: impl std::error::Error) -> Stop {
    Stop::Failed(chain(&error))
}
