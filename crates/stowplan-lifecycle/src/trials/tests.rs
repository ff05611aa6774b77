//! Detection and recovery on a host that is nowhere, where every instant is known.

use std::rc::Rc;

use stowplan_engine::{Engine as _, FailureKind, Variant};
use stowplan_testkit::fake::{
    self, CHECK_NS, DEFAULT_RESTART_NS, DYING_NS, FakeEngine, FakeHost, Fault as Wrong, LATE_NS,
    MATCHED_NS, RESTART_NS, UP_NS,
};
use stowplan_testkit::{command_plan, service_plan};
use stowplan_wire::deployment::Program;

use super::*;
use crate::figures::{Operation, RecoveryStep, step_subject, subject};
use crate::session::Session;

const PATIENCE: Duration = Duration::from_secs(2);

/// What the fake takes to create a service.
const CREATE_NS: u64 = 1_000_000;

/// Asking for the time takes a microsecond of it, and so does each look.
const ASKING_NS: u64 = 100_000;

fn trials(faults: &[Fault]) -> Trials {
    Trials {
        faults: faults.to_vec(),
        patience: PATIENCE,
        memory_bytes: Some(256 << 20),
        seed: 1,
        settings: Settings::None,
    }
}

fn run(
    host: &Rc<FakeHost>,
    engine: &FakeEngine,
    trials: &Trials,
    change: impl FnOnce(&mut Variant),
) -> Result<Vec<Figure>, RunError> {
    let plans = ["a", "b"].map(|name| service_plan("r", name));
    let mut plan = command_plan("r", "", None, &[("a", &[]), ("b", &[])]);
    for service in &mut plan.services {
        service.program = Program::Node;
    }
    let mut can = engine.capabilities().variants.remove(0);
    change(&mut can);
    Session {
        site: host.clone(),
        engine,
        can: &can,
        services: &plans,
        plan,
        cyclonedds_xml: String::new(),
        service: "a",
        trials,
        block: 0,
    }
    .run()
}

fn figures(faults: &[Fault]) -> Vec<Figure> {
    let (host, engine) = fake::fake();
    let figures = run(&host, &engine, &trials(faults), |_| {}).unwrap();
    assert_eq!(host.living(), 0, "nothing is left");
    assert!(host.calls().contains(&"close_run"));
    figures
}

/// The figure of a metric and a subject.
fn value(figures: &[Figure], metric: &str, of: Option<(Fault, Keeper)>) -> Result<u64, String> {
    let of = of.map(|(fault, keeper)| subject(fault, keeper));
    let found = figures
        .iter()
        .filter(|f| f.metric == metric && f.subject == of);
    let [one] = &found.collect::<Vec<_>>()[..] else {
        panic!("{metric} {of:?}: {figures:#?}");
    };
    one.value.clone()
}

#[track_caller]
fn is_about(found: Result<u64, String>, ns: u64) {
    let found = found.unwrap();
    assert!(
        (ns..ns + ASKING_NS).contains(&found),
        "{found} instead of {ns}"
    );
}

fn after(fault: Fault, found: &[Figure], detected_ns: u64) {
    let detected = value(found, DETECTED, Some((fault, Keeper::Engine)));
    is_about(detected, detected_ns);
    let alone = value(found, READY_AGAIN, Some((fault, Keeper::Engine)));
    assert_eq!(alone, Err("never, within 2 s".to_owned()));
    let supervised = value(found, READY_AGAIN, Some((fault, Keeper::Supervisor)));
    // The engine tells it late; then the service is created, started, and ready.
    is_about(supervised, detected_ns + LATE_NS + CREATE_NS + MATCHED_NS);
}

#[test]
fn an_operation_takes_from_its_verb_to_what_is_announced() {
    let found = figures(&[]);
    is_about(value(&found, Operation::Create.metric(), None), CREATE_NS);
    is_about(value(&found, "start_created", None), MATCHED_NS);
    is_about(value(&found, "start", None), CREATE_NS + MATCHED_NS);
    is_about(value(&found, "restart", None), CREATE_NS + MATCHED_NS);
    is_about(value(&found, "stop", None), 0);
    for metric in ["pause", "resume"] {
        let why = value(&found, metric, None).unwrap_err();
        assert_eq!(why, "this place cannot pause services");
    }
    assert_eq!(found.len(), Operation::ALL.len() - 3, "all but images");
}

#[test]
fn an_engine_that_creates_and_starts_at_once_has_no_figure_of_either() {
    let (host, engine) = fake::fake();
    let at_once = |can: &mut Variant| can.separate_create = false;
    let found = run(&host, &engine, &trials(&[]), at_once).unwrap();
    for metric in ["create", "start_created"] {
        let why = value(&found, metric, None).unwrap_err();
        assert_eq!(why, "this engine creates and starts at once");
    }
    is_about(value(&found, "start", None), CREATE_NS + MATCHED_NS);
}

#[test]
fn ends_are_detected_when_the_engine_stamps_them_and_repaired_when_it_tells_them() {
    let found = figures(&[Fault::Kill, Fault::Crash, Fault::Exit]);
    after(Fault::Kill, &found, 0);
    after(Fault::Crash, &found, DYING_NS);
    after(Fault::Exit, &found, DYING_NS);
}

#[test]
fn nobody_but_a_watchdog_detects_a_hang_or_a_deadlock() {
    for fault in [Fault::Hang, Fault::Deadlock] {
        let found = figures(&[fault]);
        let never = Err("never, within 2 s".to_owned());
        for keeper in [Keeper::Engine, Keeper::Supervisor] {
            let ready = value(&found, READY_AGAIN, Some((fault, keeper)));
            assert_eq!(ready, never, "{keeper:?}");
        }
        let detected = value(&found, DETECTED, Some((fault, Keeper::Engine)));
        assert_eq!(detected, never);
        let watched = value(&found, DETECTED, Some((fault, Keeper::Watchdog))).unwrap();
        // The next ping is not answered. It looks each two milliseconds.
        let phase = trials(&[fault]).order(0)[0].1;
        let next_ping = nanos(PING_EVERY) - nanos(phase) % nanos(PING_EVERY);
        let given_up = next_ping + nanos(UNANSWERED);
        assert!(
            (given_up..given_up + 5_000_000).contains(&watched),
            "{watched}"
        );
        let ready = value(&found, READY_AGAIN, Some((fault, Keeper::Watchdog)));
        is_about(ready, watched + CREATE_NS + MATCHED_NS);
    }
}

#[test]
fn an_engine_with_a_policy_restarts_what_ends_and_nothing_that_hangs() {
    let (host, engine) = fake::fake();
    let trials = Trials {
        settings: Settings::Restarts,
        ..trials(&Fault::ALL)
    };
    let found = run(&host, &engine, &trials, |_| {}).unwrap();
    assert_eq!(host.living(), 0, "nothing is left");
    let ready = |fault| value(&found, READY_AGAIN, Some((fault, Keeper::Policy)));
    is_about(ready(Fault::Kill), RESTART_NS + MATCHED_NS);
    for fault in [Fault::Crash, Fault::Exit] {
        is_about(ready(fault), DYING_NS + RESTART_NS + MATCHED_NS);
    }
    for fault in [Fault::Hang, Fault::Deadlock] {
        assert_eq!(ready(fault), Err("never, within 2 s".to_owned()));
    }
    assert!(found.iter().all(|figure| figure.metric != DETECTED));
    assert_eq!(trials.without(&engine.capabilities().variants[0]), None);
    let without = trials.without(&Variant::container("")).unwrap();
    assert_eq!(without.len(), Fault::ALL.len() - 1);
    assert!(without.iter().all(|figure| figure.value.is_err()));
}

#[test]
fn an_engine_that_restarts_late_by_default_is_given_its_time() {
    let (host, engine) = fake::fake();
    let can = engine.capabilities().variants.remove(0);
    let trials = Trials {
        settings: Settings::ByDefault,
        patience: PATIENCE + Settings::ByDefault.delay(&can),
        ..trials(&Fault::ALL)
    };
    let found = run(&host, &engine, &trials, |_| {}).unwrap();
    assert_eq!(host.living(), 0, "nothing is left");
    let ready = |fault| value(&found, READY_AGAIN, Some((fault, Keeper::ByDefault)));
    let restarted = DEFAULT_RESTART_NS + MATCHED_NS;
    assert!(restarted > nanos(PATIENCE), "it would be never");
    is_about(ready(Fault::Kill), restarted);
    is_about(ready(Fault::Crash), DYING_NS + restarted);
    let hung = |figure: &Figure| figure.subject.as_deref() == Some("hang, engine-default");
    assert!(!found.iter().any(hung), "that is as without restarts");
    assert_eq!(trials.without(&can), None);
    assert_eq!(trials.without(&Variant::container("")), Some(Vec::new()));
}

#[test]
fn an_engine_with_health_checks_restarts_what_hangs() {
    let (host, engine) = fake::fake();
    let trials = Trials {
        settings: Settings::HealthChecks,
        ..trials(&Fault::ALL)
    };
    let trials = Trials {
        faults: trials.with_settings(),
        ..trials
    };
    assert_eq!(trials.faults, [Fault::Hang, Fault::Deadlock]);
    let found = run(&host, &engine, &trials, |_| {}).unwrap();
    assert_eq!(host.living(), 0, "nothing is left");
    for fault in [Fault::Hang, Fault::Deadlock] {
        let of = Some((fault, Keeper::Health));
        let detected = value(&found, DETECTED, of).unwrap();
        assert!(detected <= CHECK_NS + ASKING_NS, "{detected}");
        let ready = value(&found, READY_AGAIN, of);
        is_about(ready, detected + RESTART_NS + MATCHED_NS);
    }
    // Nothing is left to do for a supervisor.
    let supervised = |figure: &Figure| {
        let of = figure.subject.as_deref();
        of.is_some_and(|of| of.contains(Keeper::HealthSupervisor.name()))
    };
    assert!(!found.iter().any(supervised));
    let without = trials.without(&Variant::container("")).unwrap();
    assert_eq!(without.len(), 2);
}

#[test]
fn where_an_engine_only_tells_of_a_failed_check_a_supervisor_acts() {
    let (host, engine) = fake::fake();
    let trials = Trials {
        settings: Settings::HealthChecks,
        ..trials(&[Fault::Hang])
    };
    let never_restarts = |can: &mut Variant| can.restarts = false;
    let found = run(&host, &engine, &trials, never_restarts).unwrap();
    let of = |keeper| Some((Fault::Hang, keeper));
    let alone = value(&found, READY_AGAIN, of(Keeper::Health));
    assert_eq!(alone, Err("never, within 6 s".to_owned()));
    let supervised = value(&found, READY_AGAIN, of(Keeper::HealthSupervisor)).unwrap();
    let least = LATE_NS + CREATE_NS + MATCHED_NS;
    let most = least + CHECK_NS + ASKING_NS;
    assert!((least..most).contains(&supervised), "{supervised}");
}

#[test]
fn the_steps_of_a_recovery_are_in_order() {
    let found = figures(&[Fault::Crash]);
    let steps = RecoveryStep::ALL.map(|step| {
        let subject = step_subject(Fault::Crash, Keeper::Supervisor, step);
        let mut all = found.iter();
        let one = all.find(|one| one.subject.as_deref() == Some(&subject));
        one.unwrap_or_else(|| panic!("{subject}: {found:#?}"))
            .value
            .clone()
    });
    let expected = [0, LATE_NS, LATE_NS, LATE_NS + CREATE_NS];
    for (found, after) in steps.iter().zip(expected) {
        is_about(found.clone(), DYING_NS + after);
    }
    let up = LATE_NS + CREATE_NS + UP_NS;
    is_about(steps[4].clone(), DYING_NS + up);
    is_about(steps[5].clone(), DYING_NS + up + MATCHED_NS - UP_NS);
}

#[test]
fn a_memory_limit_is_detected_where_there_is_one() {
    after(Fault::Memory, &figures(&[Fault::Memory]), 0);
    let (host, engine) = fake::fake();
    let unlimited = |can: &mut Variant| can.limits.memory = false;
    let found = run(&host, &engine, &trials(&[Fault::Memory]), unlimited).unwrap();
    for keeper in [Keeper::Engine, Keeper::Supervisor] {
        let why = value(&found, READY_AGAIN, Some((Fault::Memory, keeper))).unwrap_err();
        assert_eq!(why, "this place has no memory limits");
    }
}

#[test]
fn a_program_that_ends_at_once_is_detected_from_its_start_on() {
    let found = figures(&[Fault::FailedStart]);
    is_about(
        value(&found, DETECTED, Some((Fault::FailedStart, Keeper::Engine))),
        UP_NS,
    );
    assert!(found.iter().all(|figure| figure.metric != READY_AGAIN));
}

#[test]
fn an_engine_that_tells_no_ends_never_detects_them_and_the_run_goes_on() {
    let (host, engine) = fake::faulty(Wrong::ForgetsExits);
    let found = run(
        &host,
        &engine,
        &trials(&[Fault::Kill, Fault::Crash]),
        |_| {},
    )
    .unwrap();
    for fault in [Fault::Kill, Fault::Crash] {
        for (metric, keeper) in [
            (DETECTED, Keeper::Engine),
            (READY_AGAIN, Keeper::Engine),
            (READY_AGAIN, Keeper::Supervisor),
        ] {
            let why = value(&found, metric, Some((fault, keeper))).unwrap_err();
            assert_eq!(why, "never, within 2 s");
        }
    }
}

#[test]
fn wherever_the_link_is_cut_nothing_is_left() {
    for call in ["add_real", "watch", "tell_service", "signal_service"] {
        let (host, engine) = fake::fake();
        host.fail_at(call);
        let faults = trials(&[Fault::Crash, Fault::Kill]);
        let error = run(&host, &engine, &faults, |_| {}).unwrap_err();
        assert_eq!(error.kind, FailureKind::Gone, "{call}: {error}");
        assert_eq!(host.living(), 0, "{call}");
        assert!(host.calls().contains(&"close_run"), "{call}");
    }
}

#[test]
fn order_and_instants_are_those_of_seed_and_block() {
    let all = trials(&Fault::ALL);
    assert_eq!(all.order(3), all.order(3));
    assert_ne!(all.order(3), all.order(4));
    let mut faults: Vec<Fault> = all.order(0).into_iter().map(|(fault, _)| fault).collect();
    faults.sort_unstable();
    assert_eq!(faults, Fault::ALL);
    assert!(all.order(0).iter().all(|(_, phase)| *phase < PHASE));
    let checked = Trials {
        settings: Settings::HealthChecks,
        ..all
    };
    let phases = (0..50).flat_map(|block| checked.order(block));
    let longest = phases.map(|(_, phase)| phase).max().unwrap();
    let between = Duration::from_millis(CHECKS.every_ms);
    assert!(
        between * 9 / 10 < longest && longest < between,
        "{longest:?}"
    );
}
