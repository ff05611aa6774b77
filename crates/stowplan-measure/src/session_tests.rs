//! A session on a host that is nowhere: what is asked in which order, and what is undone when a link is cut.

use std::rc::Rc;
use std::time::Duration;

use stowplan_site::Site;
use stowplan_testkit::command_plan;
use stowplan_testkit::fake::{self, FakeEngine, FakeHost};

use super::{Measured, SessionPlan, measure};
use crate::RunError;

const WINDOW_NS: u64 = 5_000_000_000;

/// In this order, with looks for news between them.
const ASKED: [&str; 8] = [
    "open_run",
    "add_real",
    "arm_and_wait",
    "node_digests",
    "stop_nodes",
    "end_preemption",
    "close_run",
    "watch",
];

fn run(host: &Rc<FakeHost>, engine: &FakeEngine) -> Result<Measured, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let idle = ["/bin/sh", "-c", "", "stowplan-conformance", "idle", ""];
    let plan = SessionPlan {
        services: &[],
        deployment: command_plan("r", "", None, &[("a", &idle), ("b", &idle)]),
        real: &[],
        domain: 1,
        cyclonedds_xml: "",
        ring_bytes: 4096,
        cold: None,
        stall_timeout: Duration::from_secs(60),
        warm_up: Duration::ZERO,
        window: Some(Duration::from_nanos(WINDOW_NS)),
        preemption: false,
        sample_period: Duration::from_millis(200),
        trace_dir: folder.path(),
    };
    let site: Rc<dyn Site> = host.clone();
    measure(&site, engine, &plan)
}

#[test]
fn a_session_asks_its_host_in_the_order_of_a_run() {
    let (host, engine) = fake::fake();
    let measured = run(&host, &engine).unwrap();
    let mut calls = host.calls();
    calls.retain(|call| *call != "watch");
    assert_eq!(calls, ASKED[..7]);
    let window = measured.window.unwrap();
    assert_eq!(window.t_disarm_ns - window.t_arm_ns, WINDOW_NS);
    assert!(measured.t0_ns <= measured.started_ns && measured.started_ns < window.t_arm_ns);
    assert_eq!(measured.limits.len(), 2);
    let services = measured.samples.iter().map(|s| s.subject.as_str());
    assert_eq!(services.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn wherever_the_link_is_cut_services_are_destroyed_and_the_run_is_closed() {
    for call in ASKED {
        let (host, engine) = fake::fake();
        host.fail_at(call);
        let error = run(&host, &engine).err().map(|e| e.to_string());
        let told = error.unwrap_or_else(|| panic!("{call} was cut and nobody said so"));
        assert!(told.contains(call), "{call}: {told}");
        let calls = host.calls();
        // Without a folder there is no run.
        let closed = calls.contains(&"close_run");
        assert_eq!(closed, call != "open_run", "{call}: {calls:?}");
        assert_eq!(host.living(), 0, "{call}");
    }
}
