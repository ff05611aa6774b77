//! Limits are what was asked for, and act.

use crate::common::{Run, docker, events_until, is_root, located, wait_for_exit};
use stowplan_host::Host;
use stowplan_wire::deployment::{EngineEventKind, LimitsPlan, SchedulingPlan, Select};

#[test]
fn limits_are_read_back_from_the_kernel() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut service = run.service("a", &["sleep", "1000"]);
    let asked = LimitsPlan {
        cpuset: Some(vec![0]),
        cpu_weight: Some(300),
        cpu_quota: Some(0.25),
        memory_bytes: Some(64 << 20),
        scheduling: Some(SchedulingPlan::RoundRobin(3)),
    };
    service.limits = asked.clone();
    let plan = run.plan(
        docker(),
        vec![service, run.service("b", &["sleep", "1000"])],
    );
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let locators = located(&*deployment);
    let found = run.host.limits(&locators["a"]).unwrap();
    assert_eq!(found.cpuset, asked.cpuset);
    assert_eq!(found.cpu_weight, asked.cpu_weight);
    assert_eq!(found.cpu_quota, asked.cpu_quota);
    assert_eq!(found.memory_bytes, asked.memory_bytes);
    assert_eq!(found.scheduling, asked.scheduling);
    let other = run.host.limits(&locators["b"]).unwrap();
    assert_eq!((other.cpu_quota, other.memory_bytes), (None, None));
    assert_eq!(other.scheduling, Some(SchedulingPlan::Other));
}

#[test]
fn too_much_memory_is_an_event() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut service = run.service(
        "a",
        &[
            "sh",
            "-c",
            "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo done",
        ],
    );
    service.limits.memory_bytes = Some(20 << 20);
    let plan = run.plan(docker(), vec![service]);
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let events = events_until(&mut *deployment, |events| {
        events
            .iter()
            .any(|event| matches!(event.kind, EngineEventKind::Exited(_)))
    });
    assert!(
        events
            .iter()
            .any(|event| event.kind == EngineEventKind::OutOfMemory),
        "{events:?}"
    );
}

#[test]
fn a_cpu_that_does_not_exist_fails_the_start_and_says_so() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut service = run.service("a", &["sleep", "1000"]);
    service.limits.cpuset = Some(vec![4_000]);
    let plan = run.plan(docker(), vec![service, run.service("b", &["true"])]);
    let mut deployment = run.prepare(&plan).unwrap();
    let error = deployment.create(&Select::All).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("a"));
    assert!(error.to_string().contains("cpuset"), "{error}");
    // The other one is as good as before.
    let only_b = Select::Services(vec!["b".into()]);
    deployment.create(&only_b).unwrap();
    deployment.start(&only_b).unwrap();
    assert_eq!(wait_for_exit(&mut *deployment, "b"), 0);
}
