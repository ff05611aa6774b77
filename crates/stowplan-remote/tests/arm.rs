//! Arming apart from waiting: an instant that is past, a window that nobody armed, and one that keeps to its instants.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::rc::Rc;

use stowplan_engine::FailureKind;
use stowplan_host::Host as _;
use stowplan_remote::AgentHost;
use stowplan_site::Site as _;
use stowplan_testkit::{agent_program, private_state, service_plan};

const WINDOW_NS: u64 = 20_000_000;

/// An agent with an open run of one service, none of whose processes has come.
fn open(test: &str) -> (Rc<AgentHost>, String) {
    let state = private_state().join(test);
    std::fs::create_dir_all(&state).unwrap();
    let environment = [("STOWPLAN_STATE", state.as_os_str())];
    let host = AgentHost::spawn_with(agent_program(), &environment).unwrap();
    let run = format!("arm-{test}-{}", std::process::id());
    let services = vec![service_plan(&run, "a")];
    host.open_run(&run, services, String::new(), 1 << 16)
        .unwrap();
    (host, run)
}

#[test]
fn without_a_run_there_is_nothing_to_arm() {
    let host = AgentHost::spawn_with(agent_program(), &[]).unwrap();
    assert!(host.before_window(WINDOW_NS, false).is_err());
    assert!(host.arm(u64::MAX / 2, WINDOW_NS).is_err());
    host.clock().expect("the agent lives");
}

#[test]
fn a_window_that_nobody_armed_is_not_waited_for() {
    let (host, _) = open("unarmed");
    host.before_window(WINDOW_NS, false).unwrap();
    let error = host.wait_window(WINDOW_NS).unwrap_err();
    assert_eq!(error.message, "no window was armed");
    host.close_run().unwrap();
}

#[test]
fn a_window_keeps_to_the_instant_that_was_asked_for() {
    let (host, _) = open("instant");
    let ready_ns = host.before_window(WINDOW_NS, false).unwrap();
    let t_arm_ns = ready_ns + 2_000_000_000;
    host.arm(t_arm_ns, WINDOW_NS).unwrap();
    let armed = host.wait_window(WINDOW_NS).unwrap();
    assert_eq!(armed.t_arm_ns, t_arm_ns);
    assert_eq!(armed.t_disarm_ns, t_arm_ns + WINDOW_NS);
    assert!(host.clock().unwrap() >= armed.t_disarm_ns);
    assert!(
        host.wait_window(WINDOW_NS).is_err(),
        "it is waited for once"
    );
    host.close_run().unwrap();
}

#[test]
fn a_window_that_began_before_it_was_waited_for_is_refused() {
    let (host, _) = open("late");
    let ready_ns = host.before_window(WINDOW_NS, false).unwrap();
    host.arm(ready_ns, WINDOW_NS).unwrap();
    let error = host.wait_window(WINDOW_NS).unwrap_err();
    assert_eq!(error.kind, FailureKind::Timeout);
    assert!(error.hint.is_some(), "{error}");
    host.close_run().unwrap();
}
