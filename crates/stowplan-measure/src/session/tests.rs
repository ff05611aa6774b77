//! Sessions on hosts that are nowhere: what is asked in which order, what is undone when a link is cut, and clocks apart.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::FailureKind;
use stowplan_testkit::command_plan;
use stowplan_testkit::fake::{self, FakeEngine, FakeHost};

use super::*;

const WINDOW_NS: u64 = 5_000_000_000;

/// How far the clock of the second host is ahead.
const AHEAD_NS: u64 = 3_600_000_000_000;

/// In this order, with looks for news between them.
const ASKED: [&str; 10] = [
    "open_run",
    "add_real",
    "before_window",
    "arm",
    "wait_window",
    "node_digests",
    "stop_nodes",
    "end_preemption",
    "close_run",
    "watch",
];

type Fake = (Rc<FakeHost>, FakeEngine);

fn run(fakes: &[Fake]) -> Result<Measured, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let idle = ["/bin/sh", "-c", "", "stowplan-conformance", "idle", ""];
    let names = [["a", "b"], ["c", "d"]];
    let hosts = fakes.iter().zip(names).map(|((host, engine), names)| {
        let services = names.map(|name| (name, &idle[..]));
        HostPlan {
            site: host.clone(),
            engine,
            services: &[],
            deployment: command_plan("r", "", None, &services),
            real: &[],
            cold: None,
        }
    });
    measure(&plan(hosts.collect(), folder.path()))
}

fn plan<'a>(hosts: Vec<HostPlan<'a>>, trace_dir: &'a Path) -> SessionPlan<'a> {
    SessionPlan {
        hosts,
        domain: 1,
        cyclonedds_xml: "",
        ring_bytes: 4096,
        stall_timeout: Duration::from_secs(60),
        warm_up: Duration::ZERO,
        window: Some(Duration::from_nanos(WINDOW_NS)),
        preemption: false,
        sample_period: Duration::from_millis(200),
        trace_dir,
    }
}

/// That nothing is left of the run on a host.
fn is_clean(host: &FakeHost, why: &str) {
    let calls = host.calls();
    // Without a folder there is no run.
    let opened = calls.iter().filter(|call| **call == "open_run").count();
    let closed = calls.iter().filter(|call| **call == "close_run").count();
    assert!(closed >= opened || closed == 0, "{why}: {calls:?}");
    assert_eq!(host.living(), 0, "{why}");
}

#[test]
fn a_session_asks_its_host_in_the_order_of_a_run() {
    let fakes = [fake::fake()];
    let measured = run(&fakes).unwrap();
    let mut calls = fakes[0].0.calls();
    calls.retain(|call| *call != "watch");
    assert_eq!(calls, ASKED[..9]);
    let host = measured.lead();
    assert!(host.offset.is_none() && host.warnings.is_empty());
    let window = host.window.as_ref().unwrap();
    assert_eq!(window.t_disarm_ns - window.t_arm_ns, WINDOW_NS);
    assert!(host.t0_ns <= host.started_ns && host.started_ns < window.t_arm_ns);
    assert_eq!(host.limits.len(), 2);
    let services = host.samples.iter().map(|s| s.subject.as_str());
    assert_eq!(services.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn wherever_the_link_is_cut_services_are_destroyed_and_the_run_is_closed() {
    for call in ASKED {
        let fakes = [fake::fake()];
        fakes[0].0.fail_at(call);
        let error = run(&fakes).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(call), "{call}: {told}");
        assert_eq!(error.kind, FailureKind::Gone);
        let closed = fakes[0].0.calls().contains(&"close_run");
        assert_eq!(closed, call != "open_run", "{call}");
        is_clean(&fakes[0].0, call);
    }
}

#[test]
fn two_hosts_with_clocks_apart_start_together_and_arm_at_one_instant() {
    let fakes = fake::two(AHEAD_NS);
    let measured = run(&fakes).unwrap();
    let [near, far] = &measured.hosts[..] else {
        panic!("{:?}", measured.hosts);
    };
    assert_eq!((&*near.host.0, &*far.host.0), ("near", "far-away"));
    let offset = far.offset.as_ref().unwrap();
    let wrong = offset.ns.abs_diff(AHEAD_NS.cast_signed());
    assert!(wrong <= offset.uncertainty_ns, "{offset:?}");
    assert!(offset.uncertainty_ns < 10_000, "{offset:?}");
    let apart = |a: u64, b: u64| b.abs_diff(a + AHEAD_NS);
    assert_eq!(apart(near.t0_ns, far.t0_ns), wrong);
    let armed = |host: &MeasuredHost| host.window.as_ref().unwrap().t_arm_ns;
    assert_eq!(apart(armed(near), armed(far)), wrong);
    assert!(far.t0_ns < far.started_ns && far.started_ns < armed(far));
    let services = |host: &MeasuredHost| -> Vec<String> {
        let all = host.limits.iter().map(|(service, _)| service.clone());
        all.collect()
    };
    assert_eq!(
        (services(near), services(far)),
        (
            vec!["a".to_owned(), "b".to_owned()],
            vec!["c".to_owned(), "d".to_owned()]
        )
    );
    assert!(far.warnings.is_empty());
}

#[test]
fn whichever_link_of_two_is_cut_nothing_is_left_on_either_host() {
    for cut in [0, 1] {
        for call in ASKED {
            let fakes = fake::two(AHEAD_NS);
            fakes[cut].0.fail_at(call);
            let error = run(&fakes).unwrap_err();
            assert!(error.to_string().contains(call), "{call}: {error}");
            for (host, _) in &fakes {
                is_clean(host, call);
            }
            let other = fakes[1 - cut].0.calls();
            let opened = other.contains(&"open_run");
            assert_eq!(other.contains(&"close_run"), opened, "{call}: {other:?}");
        }
    }
}

#[test]
fn one_of_two_that_is_not_armed_in_time_ends_the_run_on_both() {
    let fakes = fake::two(AHEAD_NS);
    fakes[1].0.is_late_at("arm", 60_000_000_000);
    let error = run(&fakes).unwrap_err();
    assert_eq!(error.kind, FailureKind::Timeout);
    assert!(error.to_string().contains("far-away was not armed in time"));
    for (host, _) in &fakes {
        is_clean(host, "late");
        assert!(host.calls().contains(&"close_run"));
        assert!(
            !host.calls().contains(&"wait_window"),
            "nobody waits for half a window"
        );
    }
}

#[test]
fn a_clock_that_answers_late_is_warned_of() {
    let fakes = fake::two(AHEAD_NS);
    fakes[1].0.is_late_at("clock", 40_000_000);
    let measured = run(&fakes).unwrap();
    let far = &measured.hosts[1];
    let told = "the clock of far-away against that of near is known within 20.0 ms only";
    assert_eq!(far.warnings, [told]);
    let offset = far.offset.as_ref().unwrap();
    let wrong = offset.ns.abs_diff(AHEAD_NS.cast_signed());
    assert!(wrong <= offset.uncertainty_ns, "{offset:?}");
}
