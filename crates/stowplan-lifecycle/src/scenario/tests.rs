//! Timelines on a host that is nowhere, where every instant is known.

use std::rc::Rc;

use stowplan_engine::{Engine as _, FailureKind};
use stowplan_measure::RunError;
use stowplan_spec::{Scenario, Step, Strategy};
use stowplan_testkit::fake::{self, ANSWER_NS, FakeEngine, FakeHost, MATCHED_NS};
use stowplan_testkit::{command_plan, service_plan};
use stowplan_wire::deployment::Program;

use super::*;
use crate::figures::Figure;

/// What the fake takes to create a service.
const CREATE_NS: u64 = 1_000_000;

/// Asking for the time takes a microsecond of it, and so does each look.
const ASKING_NS: u64 = 100_000;

fn scenario() -> Scenario {
    let second = 1_000_000_000;
    let step = |at_s: u64, event: &str, start: &[&str], stop: &[&str]| Step {
        at_ns: at_s * second,
        event: event.to_owned(),
        start: start.iter().map(|one| (*one).to_owned()).collect(),
        stop: stop.iter().map(|one| (*one).to_owned()).collect(),
    };
    Scenario {
        name: "t".to_owned(),
        description: String::new(),
        stack: String::new(),
        partition: String::new(),
        places: Vec::new(),
        utilisation: None,
        strategies: Strategy::ALL.to_vec(),
        window_ns: second,
        length_ns: 9 * second,
        deadlines: [("b".to_owned(), second)].into(),
        timeline: vec![
            step(1, "comes", &["b"], &["c"]),
            step(4, "goes", &[], &["b"]),
            step(7, "comes again", &["b"], &[]),
        ],
    }
}

fn run(
    (host, engine): (&Rc<FakeHost>, &FakeEngine),
    scenario: &Scenario,
    strategy: Strategy,
) -> Result<Vec<Figure>, RunError> {
    let plans = ["a", "b", "c"].map(|name| service_plan("r", name));
    let commands = [("a", &[][..]), ("b", &[]), ("c", &[])];
    let mut plan = command_plan("r", "", None, &commands);
    for service in &mut plan.services {
        service.program = Program::Node;
    }
    let can = engine.capabilities().variants.remove(0);
    OnDemand {
        site: host.clone(),
        engine,
        can: &can,
        services: plans.to_vec(),
        plan,
        cyclonedds_xml: String::new(),
        scenario,
        strategy,
        chains: &[],
        ring_bytes: 4096,
        scratch: std::path::Path::new("/nonexistent"),
    }
    .run()
}

fn values(strategy: Strategy) -> Vec<Result<u64, String>> {
    let (host, engine) = fake::fake();
    let figures = run((&host, &engine), &scenario(), strategy).unwrap();
    assert_eq!(host.living(), 0, "nothing is left");
    let calls = host.calls();
    assert_eq!(calls.contains(&"open_run"), calls.contains(&"close_run"));
    let ready = figures.iter().filter(|figure| figure.metric == READY);
    let events = ["comes", "comes again"];
    let expected = events.map(|event| Some(start_subject(strategy, "b", event)));
    let subjects: Vec<Option<String>> = ready.clone().map(|one| one.subject.clone()).collect();
    assert_eq!(subjects, expected);
    ready.map(|figure| figure.value.clone()).collect()
}

#[track_caller]
fn are_about(found: Vec<Result<u64, String>>, ns: u64) {
    assert_eq!(found.len(), 2);
    for one in found {
        let one = one.unwrap();
        assert!((ns..ns + ASKING_NS).contains(&one), "{one} instead of {ns}");
    }
}

#[test]
fn each_strategy_takes_what_it_leaves_to_be_done() {
    are_about(values(Strategy::Cold), CREATE_NS + MATCHED_NS);
    are_about(values(Strategy::Created), MATCHED_NS);
    are_about(values(Strategy::Frozen), ANSWER_NS);
    are_about(values(Strategy::AlwaysOn), ANSWER_NS);
    for one in values(Strategy::Paused) {
        assert_eq!(one, Err("this place cannot pause services".to_owned()));
    }
}

#[test]
fn what_is_not_ready_in_time_is_never() {
    let (host, engine) = fake::fake();
    let mut short = scenario();
    short.timeline.truncate(1);
    short.length_ns = short.timeline[0].at_ns + MATCHED_NS / 2;
    short.deadlines = [("b".to_owned(), MATCHED_NS / 2)].into();
    let figures = run((&host, &engine), &short, Strategy::Cold).unwrap();
    let ready = figures.iter().find(|figure| figure.metric == READY);
    let why = ready.unwrap().value.clone().unwrap_err();
    assert_eq!(why, "not ready before the timeline ended");
}

#[test]
fn what_is_stopped_before_it_is_ready_is_not_ready_by_its_next_start() {
    let (host, engine) = fake::fake();
    let mut hasty = scenario();
    hasty.timeline[1].at_ns = hasty.timeline[0].at_ns + CREATE_NS + MATCHED_NS / 2;
    let figures = run((&host, &engine), &hasty, Strategy::Cold).unwrap();
    let ready = figures.iter().filter(|figure| figure.metric == READY);
    let ready: Vec<_> = ready.map(|figure| figure.value.clone()).collect();
    assert_eq!(ready[0], Err("stopped before it was ready".to_owned()));
    let again = ready[1].clone().unwrap();
    let taken = CREATE_NS + MATCHED_NS;
    assert!((taken..taken + ASKING_NS).contains(&again), "{again}");
}

#[test]
fn wherever_the_link_is_cut_nothing_is_left() {
    for call in ["open_run", "watch", "tell_service", "freeze"] {
        let (host, engine) = fake::fake();
        host.fail_at(call);
        let error = run((&host, &engine), &scenario(), Strategy::Frozen).unwrap_err();
        assert_eq!(error.kind, FailureKind::Gone, "{call}: {error}");
        assert_eq!(host.living(), 0, "{call}");
    }
}
