//! The verbs, apart.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use stowplan_engine::IsolationFeature;
use stowplan_wire::deployment::{EngineEventKind, Locator, Select, StopMode};

use crate::look::{Used, cpu_of};
use crate::trial::{Stop, Trial, ensure, needs, only, plain};
use crate::{Behaviour, Case, Checked, Setup};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "life.probe",
        check: probe,
    },
    Case {
        name: "life.create-does-not-run",
        check: create_does_not_run,
    },
    Case {
        name: "life.start-runs",
        check: start_runs,
    },
    Case {
        name: "life.some-services",
        check: some_services,
    },
    Case {
        name: "life.events-in-order",
        check: events_in_order,
    },
    Case {
        name: "life.locators-true",
        check: locators_true,
    },
    Case {
        name: "life.log-tail",
        check: log_tail,
    },
    Case {
        name: "life.environment",
        check: environment,
    },
    Case {
        name: "life.accounting",
        check: accounting,
    },
    Case {
        name: "life.pause",
        check: pause,
    },
    Case {
        name: "life.again",
        check: again,
    },
    Case {
        name: "life.many-at-once",
        check: many_at_once,
    },
    Case {
        name: "life.unknown-service",
        check: unknown_service,
    },
];

fn probe(setup: &Setup<'_>) -> Checked {
    let host = setup.stage.host();
    let probe = setup.stage.engine().probe(&*host);
    ensure(
        !matches!(probe, stowplan_engine::Probe::Absent { .. }),
        || format!("{probe:?}"),
    )
}

fn create_does_not_run(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::prepare(setup, &[plain("a", Behaviour::Idle)])?;
    needs(trial.can.separate_create, "separate-create")?;
    trial.deployment().create(&Select::All)?;
    trial.hears("a", EngineEventKind::Created)?;
    trial.pass(Duration::from_millis(100))?;
    let log = trial.deployment().log("a", 100)?;
    ensure(log.is_empty(), || format!("it said '{log}' before start"))?;
    ensure(!trial.has_seen("a", EngineEventKind::Started), || {
        "it was said to be started".to_owned()
    })?;
    trial.locator("a").map(|_| ())
}

fn start_runs(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    trial.says("a", "ready")?;
    trial.says("a", "complaint")?;
    trial.hears("a", EngineEventKind::Started)
}

fn some_services(setup: &Setup<'_>) -> Checked {
    let services = [plain("a", Behaviour::Idle), plain("b", Behaviour::Idle)];
    let mut trial = Trial::prepare(setup, &services)?;
    trial.deployment().create(&only("b"))?;
    trial.deployment().start(&only("b"))?;
    trial.says("b", "ready")?;
    let log = trial.deployment().log("a", 100)?;
    ensure(log.is_empty(), || {
        format!("'a' said '{log}' though it was not started")
    })?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&only("a"))?;
    trial.says("a", "ready")?;
    trial.deployment().stop(&only("b"), StopMode::Kill)?;
    let locator = trial.locator("a")?;
    ensure(trial.is_alive(&locator), || {
        "stopping 'b' ended 'a'".to_owned()
    })
}

fn events_in_order(setup: &Setup<'_>) -> Checked {
    let begin = setup.stage.host().clock()?;
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    trial.hears("a", EngineEventKind::Created)?;
    trial.hears("a", EngineEventKind::Started)?;
    let end = trial.now()?;
    let domain = setup.stage.host().clock_domain();
    for event in &trial.seen {
        if event.clock == domain {
            ensure((begin..=end).contains(&event.t_ns), || {
                format!("{event:?} is not between {begin} and {end}")
            })?;
        }
    }
    let (placed, made): (Vec<_>, Vec<_>) = trial.seen.iter().partition(|event| {
        use EngineEventKind::{SandboxCreated, Scheduled};
        matches!(event.kind, Scheduled | SandboxCreated)
    });
    let kinds: Vec<_> = made.iter().map(|event| event.kind).collect();
    // What an orchestrator does before, it does once. It may be told late.
    ensure(
        kinds == [EngineEventKind::Created, EngineEventKind::Started]
            && placed.len() <= 2
            && made.is_sorted_by_key(|event| event.t_ns),
        || format!("{:?}", trial.seen),
    )
}

fn locators_true(setup: &Setup<'_>) -> Checked {
    let services = [plain("a", Behaviour::Idle), plain("b", Behaviour::Idle)];
    let mut trial = Trial::start(setup, &services)?;
    for service in ["a", "b"] {
        trial.says(service, "ready")?;
    }
    let (a, b) = (trial.locator("a")?, trial.locator("b")?);
    ensure(a.pid != b.pid, || format!("both have pid {}", a.pid))?;
    for locator in [&a, &b] {
        ensure(locator.host == setup.stage.host().id(), || {
            format!("it is said to be on host '{}'", locator.host)
        })?;
        ensure(trial.is_alive(locator), || {
            format!("no process has pid {} and that start time", locator.pid)
        })?;
        ensure(trial.file(&locator.log).is_some(), || {
            format!("there is no log {}", locator.log)
        })?;
        for (controller, folder) in &locator.cgroups {
            let pids = trial.pids_of(folder).unwrap_or_default();
            ensure(pids.contains(&locator.pid), || {
                format!(
                    "pid {} is not in {controller} {folder}: {pids:?}",
                    locator.pid
                )
            })?;
        }
    }
    namespaces_true(&trial, &a, &b)
}

/// Services are in PID namespaces of their own where the host sees them in one below its own, and where it was asked for.
fn namespaces_true(trial: &Trial<'_>, a: &Locator, b: &Locator) -> Checked {
    let own = |locator: &Locator| locator.namespaces.get("pid").copied();
    let apart = own(a)
        .zip(own(b))
        .map(|(of_a, of_b)| of_a != of_b)
        .ok_or_else(|| Stop::Failed(format!("no PID namespace in {a:?} or {b:?}")))?;
    for locator in [a, b] {
        // Its pid in every namespace from the reader's down (proc(5)).
        let status = trial.file(&format!("/proc/{}/status", locator.pid));
        let status = status.unwrap_or_default();
        let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let below = pids.map(|pids| pids.split_whitespace().count() > 1);
        ensure(below == Some(apart), || {
            format!("{:?}, but NSpid is {pids:?}", locator.namespaces)
        })?;
    }
    let switched = trial.can.isolation.contains(&IsolationFeature::Pid);
    ensure(!switched || apart == trial.setup.isolation.pid, || {
        format!("asked for {:?}", trial.setup.isolation)
    })
}

fn log_tail(setup: &Setup<'_>) -> Checked {
    // One that writes to one stream: the order of two that come through two pipes is not known.
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Environment)])?;
    trial.says("a", "ready")?;
    let tail = trial.deployment().log("a", 4)?;
    ensure(tail == "ady\n", || {
        format!("the last four bytes are '{tail}'")
    })
}

fn environment(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Environment)])?;
    trial.says("a", "value=a value with spaces")
}

fn accounting(setup: &Setup<'_>) -> Checked {
    let services = [plain("hog", Behaviour::Hog), plain("idle", Behaviour::Idle)];
    let mut trial = Trial::start(setup, &services)?;
    needs(trial.can.accounting, "accounting")?;
    trial.says("hog", "ready")?;
    trial.says("idle", "ready")?;
    let is_so = |used: &[Used]| {
        let (hog, idle) = (used[0].cpu_ns, used[1].cpu_ns);
        hog > 50_000_000 && idle < hog / 10
    };
    let (used, _) = trial.used_until(&["hog", "idle"], |used, _| is_so(used))?;
    ensure(is_so(&used), || {
        format!("a hog and an idle service are said to have used {used:?}")
    })?;
    let usage = trial.usage_over(&["hog", "idle"], Duration::from_millis(50))?;
    ensure(usage[1].memory_bytes.is_some_and(|bytes| bytes > 0), || {
        "no memory of the idle service".to_owned()
    })
}

fn pause(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("hog", Behaviour::Hog)])?;
    if !trial.can.pause {
        let refused = trial.deployment().pause("hog").is_err();
        ensure(refused, || "it cannot pause, but says it did".to_owned())?;
        return needs(false, "pause");
    }
    trial.says("hog", "ready")?;
    trial.deployment().pause("hog")?;
    trial.hears("hog", EngineEventKind::Paused)?;
    let usage = trial.usage_over(&["hog"], Duration::from_millis(300))?;
    let paused = cpu_of(&usage[0])?;
    ensure(paused < 5_000_000, || {
        format!("it used {paused} ns while paused")
    })?;
    trial.deployment().resume("hog")?;
    trial.hears("hog", EngineEventKind::Resumed)?;
    let goes_on = |used: &[Used], _| used[0].cpu_ns > 20_000_000;
    let (used, time) = trial.used_until(&["hog"], goes_on)?;
    ensure(goes_on(&used, time), || {
        format!("it used only {used:?} after that")
    })
}

fn again(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    trial.says("a", "ready")?;
    let first = trial.locator("a")?;
    trial.deployment().stop(&Select::All, StopMode::Kill)?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&Select::All)?;
    trial.until("a new process", |trial| {
        let second = trial.locator("a")?;
        Ok(
            (second.pid, second.start_ticks) != (first.pid, first.start_ticks)
                && trial.is_alive(&second),
        )
    })
}

fn many_at_once(setup: &Setup<'_>) -> Checked {
    let names: Vec<String> = (0..26).map(|number| format!("s{number}")).collect();
    let services: Vec<_> = names
        .iter()
        .map(|name| plain(name, Behaviour::Idle))
        .collect();
    let all = setup.stage.engine().capabilities();
    needs(
        all.max_services
            .is_none_or(|max| max as usize >= services.len()),
        "max-services",
    )?;
    let begin = setup.stage.host().clock()?;
    let mut trial = Trial::start(setup, &services)?;
    let end = trial.now()?;
    for name in &names {
        trial.says(name, "ready")?;
    }
    asked_for_all(&mut trial, begin..=end)?;
    let pids: BTreeSet<u32> = trial
        .deployment()
        .locators()?
        .iter()
        .map(|locator| locator.pid)
        .collect();
    ensure(pids.len() == names.len(), || {
        format!("{} different pids", pids.len())
    })?;
    Ok(trial.deployment().destroy()?)
}

/// Whoever has processes of its own for its services was asked about each of them, between these instants.
fn asked_for_all(trial: &mut Trial<'_>, between: RangeInclusive<u64>) -> Checked {
    let requests = trial.deployment().engine_requests()?;
    if requests.is_empty() && trial.deployment().engine_processes()?.is_empty() {
        return Ok(());
    }
    for locator in trial.deployment().locators()? {
        let asked = requests
            .iter()
            .filter(|request| request.service == locator.service);
        let inside = asked.filter(|request| {
            let end_ns = request.end_ns.unwrap_or(request.begin_ns);
            between.contains(&request.begin_ns)
                && (request.begin_ns..=*between.end()).contains(&end_ns)
        });
        ensure(inside.count() > 0, || {
            format!("no request about '{}' between {between:?}", locator.service)
        })?;
    }
    Ok(())
}

fn unknown_service(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::start(setup, &[plain("a", Behaviour::Idle)])?;
    let deployment = trial.deployment();
    let errors = [
        deployment.create(&only("nobody")).err(),
        deployment.start(&only("nobody")).err(),
        deployment.stop(&only("nobody"), StopMode::Kill).err(),
        deployment.log("nobody", 10).err(),
    ];
    for error in errors {
        ensure(
            error
                .as_ref()
                .is_some_and(|e| e.to_string().contains("nobody")),
            || format!("a service that does not exist gives {error:?}"),
        )?;
    }
    Ok(())
}
