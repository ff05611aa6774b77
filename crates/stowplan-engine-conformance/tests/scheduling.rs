//! FIFO and RR on every engine and variant of this repository, read back from each process of the services; where
//! this machine has no real-time budget for a group, refused with cause and hint.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod stage;

use stage::stage;
use stowplan_engine::{Deployment, EngineError};
use stowplan_engine_conformance::{AgentStage, Stage as _};
use stowplan_host::chain;
use stowplan_testkit::{command_plan, is_root};
use stowplan_wire::deployment::{Locator, SchedulingPlan, Select};

/// What sched(7) calls the classes here, with the priorities that the services ask for.
const ASKED: [(&str, SchedulingPlan, (i32, i32)); 3] = [
    ("first", SchedulingPlan::Fifo(7), (libc::SCHED_FIFO, 7)),
    ("round", SchedulingPlan::RoundRobin(4), (libc::SCHED_RR, 4)),
    ("plain", SchedulingPlan::Other, (libc::SCHED_OTHER, 0)),
];

/// Scheduling class and priority of a process, sched_getscheduler(2) and sched_getparam(2).
fn class_of(pid: u32) -> (i32, i32) {
    let pid = pid.cast_signed();
    let mut parameter = libc::sched_param { sched_priority: -1 };
    // SAFETY: the first takes no memory of ours, and `parameter` lives until the second returns.
    let class = unsafe {
        assert_eq!(libc::sched_getparam(pid, &raw mut parameter), 0);
        libc::sched_getscheduler(pid)
    };
    (class, parameter.sched_priority)
}

/// The service's first process and its child.
fn processes_of(locator: &Locator) -> Vec<u32> {
    let path = format!("/proc/{0}/task/{0}/children", locator.pid);
    loop {
        let children = std::fs::read_to_string(&path).unwrap();
        let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let pids: Vec<u32> = std::iter::once(locator.pid).chain(children).collect();
        if pids.len() == 2 {
            return pids;
        }
        std::thread::yield_now();
    }
}

fn start(stage: &AgentStage, variant: Option<&str>) -> Result<Box<dyn Deployment>, EngineError> {
    let run = format!(
        "scheduling-{}-{}",
        std::process::id(),
        variant.unwrap_or("oci")
    );
    let run_dir = stage.open_run(&run)?;
    let command: &[&str] = &["/bin/sh", "-c", "sleep 1000 & wait"];
    let mut plan = command_plan(
        &run,
        &run_dir,
        variant,
        &ASKED.map(|(name, ..)| (name, command)),
    );
    for (service, (_, class, _)) in plan.services.iter_mut().zip(ASKED) {
        service.limits.scheduling = Some(class);
    }
    plan.isolation.cgroup = true;
    let mut deployment = stage.engine().prepare(&plan, stage.host())?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    Ok(deployment)
}

fn classes_are_those_asked_for(engine: &str, variant: Option<&str>) {
    let stage = stage(engine);
    let place = format!("{engine}:{}", variant.unwrap_or_default());
    match start(&stage, variant) {
        Ok(deployment) => {
            let locators = deployment.locators().unwrap();
            for (locator, (_, class, expected)) in locators.iter().zip(ASKED) {
                for pid in processes_of(locator) {
                    assert_eq!(class_of(pid), expected, "{place}, {}", locator.service);
                }
                let back = stage.host().limits(locator).unwrap();
                assert_eq!(back.scheduling, Some(class));
            }
            drop(deployment);
        }
        Err(error) => {
            let why = chain(&error);
            assert!(
                why.contains("real-time budget") || why.contains("scheduling class"),
                "{place}: {why}"
            );
            assert!(error.hint.is_some(), "{place}: {why}");
            eprintln!("{place} refused real-time classes here: {why}");
        }
    }
    stage.close_run().unwrap();
}

/// One after another: the machine's real-time budget is one.
#[test]
fn every_process_of_a_service_has_the_class_that_was_asked_for() {
    for variant in ["flat", "session", "grouped"] {
        classes_are_those_asked_for("bare", Some(variant));
    }
    if is_root("make containers") {
        classes_are_those_asked_for("oci", None);
    }
}
