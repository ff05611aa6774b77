//! How services end, and what is left.

use std::time::Duration;

use stowplan_engine::HealthSupport;
use stowplan_wire::deployment::{
    EngineEventKind, HealthPlan, Locator, Program, Restarts, Select, StopMode,
};

use crate::trial::{Stop, Trial, ensure, needs, plain};
use crate::{Behaviour, Case, Checked, Setup};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "ends.exit-at-once",
        check: exit_at_once,
    },
    Case {
        name: "ends.exit-midway",
        check: exit_midway,
    },
    Case {
        name: "ends.killed",
        check: killed,
    },
    Case {
        name: "ends.restarted",
        check: restarted,
    },
    Case {
        name: "ends.unhealthy",
        check: unhealthy,
    },
    Case {
        name: "ends.no-such-program",
        check: no_such_program,
    },
    Case {
        name: "ends.stop-asks-first",
        check: stop_asks_first,
    },
    Case {
        name: "ends.stop-insists",
        check: stop_insists,
    },
    Case {
        name: "ends.stop-of-created",
        check: stop_of_created,
    },
    Case {
        name: "ends.stop-takes-children",
        check: stop_takes_children,
    },
    Case {
        name: "ends.stop-twice",
        check: stop_twice,
    },
    Case {
        name: "ends.kill-tree",
        check: kill_tree,
    },
    Case {
        name: "ends.destroy-twice",
        check: destroy_twice,
    },
    Case {
        name: "ends.drop-leaves-nothing",
        check: drop_leaves_nothing,
    },
];

/// Asks, then insists after a moment.
const SOON: StopMode = StopMode::Terminate { grace_ms: 300 };
/// Asks, and waits as long as any machine needs.
const PATIENT: StopMode = StopMode::Terminate { grace_ms: 60_000 };

fn exit_at_once(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::prepare(setup, &[plain("a", Behaviour::Exit(3))])?;
    needs(trial.can.exit_status, "exit-status")?;
    trial.deployment().create(&Select::All)?;
    // An engine may find at once that it is gone; then the error names the service.
    match trial.deployment().start(&Select::All) {
        Ok(()) => trial.hears("a", EngineEventKind::Exited(3))?,
        Err(error) => ensure(error.service.as_deref() == Some("a"), || error.to_string())?,
    }
    trial.says("a", "leaving")
}

fn exit_midway(setup: &Setup<'_>) -> Checked {
    let services = [
        plain("a", Behaviour::ExitLater(5)),
        plain("b", Behaviour::Idle),
    ];
    let mut trial = Trial::start(setup, &services)?;
    needs(trial.can.exit_status, "exit-status")?;
    trial.hears("a", EngineEventKind::Exited(5))?;
    trial.says("b", "ready")?;
    let other = trial.locator("b")?;
    ensure(trial.is_alive(&other), || {
        "the end of 'a' ended 'b'".to_owned()
    })?;
    let times = trial
        .seen
        .iter()
        .filter(|event| matches!(event.kind, EngineEventKind::Exited(_)))
        .count();
    ensure(times == 1, || format!("its end was told {times} times"))
}

fn no_such_program(setup: &Setup<'_>) -> Checked {
    let mut plan = Trial::plan(setup, &[plain("a", Behaviour::Idle)])?;
    if let Program::Command { command, .. } = &mut plan.services[0].program {
        *command = vec!["/no/such/program".to_owned()];
    }
    let outcome = Trial::prepare_plan(setup, &plan).and_then(|mut trial| {
        trial.deployment().create(&Select::All)?;
        trial.deployment().start(&Select::All)?;
        Ok(())
    });
    let told = match &outcome {
        Err(Stop::Failed(why)) => why.contains("/no/such/program") && why.contains("'a'"),
        _ => false,
    };
    // Where `prepare` fails, no trial ends the run.
    let _ = setup.stage.close_run();
    ensure(told, || {
        format!("the error should name the service and the program: {outcome:?}")
    })
}

fn stop_asks_first(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Graceful)])?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    trial.deployment().stop(&Select::All, PATIENT)?;
    ensure(!trial.is_alive(&locator), || "it still runs".to_owned())?;
    trial.says("a", "ended")
}

fn stop_insists(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Stubborn)])?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    trial.deployment().stop(&Select::All, SOON)?;
    ensure(!trial.is_alive(&locator), || "it still runs".to_owned())
}

fn stop_of_created(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::prepare(setup, &[plain("a", Behaviour::Idle)])?;
    needs(trial.can.separate_create, "separate-create")?;
    trial.deployment().create(&Select::All)?;
    let locator = trial.locator("a")?;
    trial.deployment().stop(&Select::All, SOON)?;
    ensure(!trial.is_alive(&locator), || "it still waits".to_owned())?;
    let log = trial.deployment().log("a", 100)?;
    ensure(log.is_empty(), || format!("stopping made it say '{log}'"))
}

fn stop_takes_children(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Brood)])?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    let folder = private_folder(&locator)?;
    let before = trial.pids_of(&folder).unwrap_or_default();
    ensure(before.len() >= 3, || format!("only {before:?} in {folder}"))?;
    trial.deployment().stop(&Select::All, SOON)?;
    let left = trial.pids_of(&folder).unwrap_or_default();
    ensure(left.is_empty(), || {
        format!("{left:?} still run in {folder}")
    })
}

/// The control group that holds this service's processes alone.
fn private_folder(locator: &Locator) -> Result<String, Stop> {
    ["unified", "freezer", "memory", "cpuacct"]
        .iter()
        .find_map(|name| locator.cgroups.get(*name))
        .cloned()
        .ok_or_else(|| Stop::Unsupported("accounting".to_owned()))
}

fn stop_twice(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    trial.says("a", "ready")?;
    trial.deployment().stop(&Select::All, StopMode::Kill)?;
    trial.deployment().stop(&Select::All, SOON)?;
    trial.pass(Duration::from_millis(50))?;
    let told = trial
        .seen
        .iter()
        .any(|event| matches!(event.kind, EngineEventKind::Exited(_)));
    ensure(!told, || "a stop was told as an end by itself".to_owned())
}

/// Killed from outside: a first process of a PID namespace cannot kill itself.
fn killed(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Stubborn)])?;
    needs(trial.can.exit_status, "exit-status")?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    setup.stage.host().kill_tree(&locator)?;
    trial.hears("a", EngineEventKind::Exited(128 + 9))
}

/// By the engine's own policy, and each time it is told.
fn restarted(setup: &Setup<'_>) -> Checked {
    let can = setup.can();
    let restarts = can.as_ref().is_some_and(|can| can.restarts);
    needs(restarts, "restarts")?;
    restarted_with(setup, Restarts::AtOnce)?;
    match can.and_then(|can| can.restarts_by_default_ms) {
        Some(_) => restarted_with(setup, Restarts::ByDefault),
        None => Ok(()),
    }
}

fn restarted_with(setup: &Setup<'_>, restarts: Restarts) -> Checked {
    let mut plan = Trial::plan(setup, &[plain("a", Behaviour::ExitLater(5))])?;
    plan.services[0].restarts = restarts;
    let mut trial = Trial::prepare_plan(setup, &plan)?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&Select::All)?;
    trial.until("an end, a start and another end", |trial| {
        let kinds = trial.seen.iter().map(|event| event.kind);
        let ended = EngineEventKind::Exited(5);
        let mut kinds = kinds.skip_while(|kind| *kind != ended);
        Ok(kinds.any(|kind| kind == EngineEventKind::Started) && kinds.any(|kind| kind == ended))
    })
}

/// A check that passes three times and then never, in a file of the container: where the engine restarts what fails one, the next
/// container passes again.
const SICKENS: &str =
    "n=$(cat /checks 2>/dev/null); echo x$n > /checks; case $n in xxx*) exit 1;; esac";

/// By the engine's own checks.
fn unhealthy(setup: &Setup<'_>) -> Checked {
    let support = setup.can().and_then(|can| can.health);
    needs(support.is_some(), "health")?;
    let restarts = support == Some(HealthSupport::Ends);
    let mut plan = Trial::plan(setup, &[plain("a", Behaviour::Idle)])?;
    let service = &mut plan.services[0];
    service.restarts = Restarts::AtOnce;
    let command = ["/bin/sh", "-c", SICKENS].map(str::to_owned);
    service.health = Some(HealthPlan {
        command: Some(command.to_vec()),
        every_ms: 1000,
        within_ms: 5000,
        start_ms: 60_000,
    });
    let mut trial = Trial::prepare_plan(setup, &plan)?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&Select::All)?;
    trial.hears("a", EngineEventKind::Healthy)?;
    let is_told = |kind: EngineEventKind| match kind {
        EngineEventKind::Unhealthy => true,
        // An engine may tell nothing but that it has ended it.
        EngineEventKind::Exited(_) => restarts,
        _ => false,
    };
    trial.until("a failed check of a", |trial| {
        Ok(trial.seen.iter().any(|event| is_told(event.kind)))
    })?;
    if !restarts {
        return Ok(());
    }
    trial.until("a start of a after it", |trial| {
        let kinds = trial.seen.iter().map(|event| event.kind);
        let mut kinds = kinds.skip_while(|kind| !is_told(*kind));
        Ok(kinds.any(|kind| kind == EngineEventKind::Started))
    })
}

fn kill_tree(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Brood)])?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    setup.stage.host().kill_tree(&locator)?;
    ensure(!trial.is_alive(&locator), || "it still runs".to_owned())?;
    let folder = private_folder(&locator)?;
    let left = trial.pids_of(&folder).unwrap_or_default();
    ensure(left.is_empty(), || {
        format!("{left:?} still run in {folder}")
    })
}

fn destroy_twice(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    trial.says("a", "ready")?;
    let locator = trial.locator("a")?;
    trial.deployment().destroy()?;
    trial.deployment().destroy()?;
    ensure(!trial.is_alive(&locator), || "it still runs".to_owned())?;
    groups_are_gone(&trial, &locator)
}

fn drop_leaves_nothing(setup: &Setup<'_>) -> Checked {
    let services = [
        plain("a", Behaviour::Brood),
        plain("b", Behaviour::Stubborn),
    ];
    let mut trial = Trial::start(setup, &services)?;
    trial.says("a", "ready")?;
    trial.says("b", "ready")?;
    let locators = [trial.locator("a")?, trial.locator("b")?];
    trial.deployment = None;
    for locator in &locators {
        ensure(!trial.is_alive(locator), || {
            format!("{} still runs", locator.service)
        })?;
        groups_are_gone(&trial, locator)?;
    }
    Ok(())
}

fn groups_are_gone(trial: &Trial<'_>, locator: &Locator) -> Checked {
    for folder in locator.cgroups.values() {
        let left = trial.pids_of(folder);
        ensure(left.is_none(), || format!("{folder} is left with {left:?}"))?;
    }
    Ok(())
}
