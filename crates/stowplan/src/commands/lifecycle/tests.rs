//! From options to what is measured.

use clap::Parser as _;
use stowplan_lifecycle::{DETECTED, Figure, Keeper, Operation, READY_AGAIN, SUITE};
use stowplan_results::{DeploymentRecord, Experiment, RunData, RunRow, RunStatus, StartKind};
use stowplan_suite::{End, Job, OpenResult};

use super::*;
use crate::cli::{Cli, Command};

fn args(line: &str) -> LifecycleArgs {
    let words = ["stowplan", "lifecycle"].into_iter();
    let words = words.chain(line.split(' ').filter(|word| !word.is_empty()));
    match Cli::try_parse_from(words).unwrap().command {
        Command::Lifecycle(args) => args,
        other => panic!("{other:?}"),
    }
}

fn plan_of(line: &str) -> Result<Plan, CommandError> {
    let spec = inputs::stack(STACK)?;
    let partition = inputs::partition(spec.stack(), PARTITION)?;
    plan(&args(line), &partition)
}

#[test]
fn every_fault_of_the_first_service_is_tried_by_default() {
    let plan = plan_of("").unwrap();
    assert_eq!(
        (&*plan.service, &plan.faults[..]),
        ("sensing", &Fault::ALL[..])
    );
    assert_eq!(
        (plan.patience_ns, plan.memory_bytes),
        (2_000_000_000, 256 << 20)
    );
}

#[test]
fn faults_are_those_that_are_named() {
    let plan =
        plan_of("--faults hang,kill --patience 500ms --service control --memory 1GiB").unwrap();
    assert_eq!(plan.faults, [Fault::Hang, Fault::Kill]);
    assert_eq!(
        (plan.patience_ns, plan.memory_bytes),
        (500_000_000, 1 << 30)
    );
    assert_eq!(plan.service, "control");
    assert!(plan_of("--faults none").unwrap().faults.is_empty());
    let error = plan_of("--faults segfault").unwrap_err();
    assert_eq!(error.code, ExitCode::Usage);
    assert!(
        error.message.contains("faults are crash, kill"),
        "{}",
        error.message
    );
}

#[test]
fn what_a_result_began_with_cannot_be_said_again() {
    for option in [
        "--faults kill",
        "--blocks 3",
        "--seed 4",
        "hello",
        "--patience 1s",
    ] {
        let line = format!("stowplan lifecycle --resume r {option}");
        assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{option}");
    }
}

/// A result of six blocks at three places, each slower than the one before, the third without pause.
fn measured(parent: &Path) -> Results {
    let mut record = Experiment::new(SUITE, "lifecycle-hello");
    let places = ["bare:flat", "bare:grouped", "oci"];
    record.deployments = places.map(DeploymentRecord::named).to_vec();
    record.reference = Some(places[0].to_owned());
    let plan = serde_json::to_value(plan_of("").unwrap()).unwrap();
    record.parameters.insert(SUITE.to_owned(), plan);
    let result = OpenResult::create(parent, record).unwrap();
    for block in 0..6 {
        for (deployment, place) in places.iter().enumerate() {
            let order = u32::try_from(deployment).unwrap();
            let job = Job {
                block,
                order,
                deployment,
            };
            let run = job.scheduled(block * 3 + order + 1, place, StartKind::Warm, 1);
            let mut data = RunData::of(RunRow::of_scheduled(&run, RunStatus::Finished));
            let figures = figures(deployment as u64, u64::from(block));
            data.measurements = figures.iter().map(|figure| figure.row(&run)).collect();
            result.write_run(&data).unwrap();
        }
    }
    let dir = result.dir().to_owned();
    let outcome = Outcome {
        end: End::Finished,
        complete_blocks: 6,
        failures: Vec::new(),
    };
    stowplan_suite::finish(vec![result], &outcome).unwrap();
    Results::open(dir).unwrap()
}

fn figures(deployment: u64, block: u64) -> Vec<Figure> {
    let ns = (deployment + 1) * 10_000_000 + block * 100_000;
    let mut all = Vec::new();
    for operation in Operation::ALL {
        let paused = matches!(operation, Operation::Pause | Operation::Resume);
        let can = !(paused && deployment == 2);
        let value = can.then_some(ns);
        all.push(Figure::of(
            operation,
            value.ok_or_else(|| "this place cannot pause services".to_owned()),
        ));
    }
    let never = || Err("never, within 2 s".to_owned());
    for fault in Fault::ALL {
        for keeper in Keeper::of(fault).iter().copied() {
            let is_told =
                fault.ends_processes() || matches!(keeper, Keeper::Watchdog | Keeper::Health);
            let value = if is_told { Ok(ns / 10) } else { never() };
            if keeper.detects() {
                all.push(Figure::of_fault(DETECTED, fault, keeper, value.clone()));
            }
            let back = match keeper {
                Keeper::Engine => never(),
                Keeper::Policy => Err("this engine restarts nothing by itself".to_owned()),
                Keeper::Health if deployment == 0 => {
                    Err("this engine has no health checks".to_owned())
                }
                Keeper::ByDefault | Keeper::HealthSupervisor => continue,
                Keeper::Supervisor | Keeper::Watchdog | Keeper::Health => value,
            };
            all.push(Figure::of_fault(READY_AGAIN, fault, keeper, back));
        }
    }
    all
}

#[test]
fn everything_of_three_places_is_on_one_screen() {
    let parent = tempfile::tempdir().unwrap();
    let results = measured(parent.path());
    let judgement = stowplan_judge::Judgement::read(&results).unwrap();
    let summary = Summary::read(&results).unwrap();
    let Trial::Verbs(plan) = stowplan_lifecycle::trial_of(&results.experiment).unwrap() else {
        panic!("{:?}", results.experiment.parameters);
    };
    let screen = show::screen(&summary, &judgement, &plan);
    insta::assert_snapshot!(screen);
    assert!(screen.lines().count() <= 38, "{screen}");
    let full = show::full(&summary, &judgement);
    for told in [
        "p95",
        "ready again: crash, supervisor",
        "this place cannot pause services",
    ] {
        assert!(full.contains(told), "{told}:\n{full}");
    }
}
