//! A life cycle from end to end: every operation and fault of a service of `hello`, and nothing left of any.

use std::process::{Child, Stdio};

use stowplan_results::{MeasurementRow, Results, RunStatus};

use crate::interrupted::{signal, wait};
use crate::measured::only_result;
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing};

fn start(bench: &Bench, options: &str) -> Child {
    let words = ["lifecycle", "--settle", "0s", "--patience", "500ms"];
    let mut command = bench.command(words.into_iter().chain(options.split(' ')));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Of which nothing is left on the machine and in ledgers.
fn ended(bench: &Bench, child: Child, code: i32) -> Ended {
    let pid = child.id();
    let ended = Ended::new(child.wait_with_output().unwrap()).expect(code);
    assert_eq!(left_of(pid), Vec::<String>::new());
    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["runs"].as_array().unwrap().len(), 0, "{clean:#}");
    ended
}

/// The one figure of a deployment: nanoseconds, or why there is none.
fn figure(
    rows: &[MeasurementRow],
    deployment: &str,
    metric: &str,
    subject: Option<&str>,
) -> Result<f64, String> {
    let mut found = rows.iter().filter(|row| {
        (&*row.deployment, &*row.metric, row.subject.as_deref()) == (deployment, metric, subject)
    });
    let row = found.next();
    let row = row.unwrap_or_else(|| panic!("no {metric} {subject:?} of {deployment}: {rows:#?}"));
    assert!(found.next().is_none(), "{metric} {subject:?} twice");
    row.value
        .ok_or_else(|| row.reason.as_deref().unwrap_or_default().to_owned())
}

#[test]
fn processes_and_containers_are_damaged_in_every_way_and_come_back() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let _turn = shared_turn();
    let bench = Bench::new();
    let child = start(
        &bench,
        "--place bare:grouped,oci --blocks 1 --service control",
    );
    let ended = ended(&bench, child, 0);
    assert!(ended.out.lines().count() <= 40, "{}", ended.out);
    for told in ["fault → detected", "hang, watchdog", "never", "report: "] {
        assert!(ended.out.contains(told), "{told}:\n{}", ended.out);
    }
    let dir = only_result(&bench);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    for told in [
        "One recovery from",
        "start until it runs",
        "Who detects what",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let results = Results::open(dir).unwrap();
    assert!(
        results
            .runs
            .iter()
            .all(|run| run.status == RunStatus::Finished)
    );
    let rows = results.measurements().unwrap();
    for deployment in ["bare-grouped.modules", "oci.modules"] {
        let of = |metric: &str, subject: Option<&str>| figure(&rows, deployment, metric, subject);
        for metric in [
            "create",
            "start_created",
            "start",
            "stop",
            "restart",
            "pause",
            "resume",
        ] {
            assert!(of(metric, None).unwrap() > 0.0, "{deployment}: {metric}");
        }
        // Ready is not before the program has done its work of starting.
        assert!(of("start", None).unwrap() > of("create", None).unwrap());
        for fault in ["crash", "kill", "exit", "memory"] {
            let (engine, supervisor) = (format!("{fault}, engine"), format!("{fault}, supervisor"));
            let detected = of("fault_detected", Some(&engine)).unwrap();
            let alone = of("fault_ready_again", Some(&engine)).unwrap_err();
            assert_eq!(alone, "never, within 0.5 s", "{deployment}: {fault}");
            let back = of("fault_ready_again", Some(&supervisor)).unwrap();
            assert!(detected >= 0.0 && back > 0.0, "{deployment}: {fault}");
        }
        let hang = of("fault_detected", Some("hang, engine")).unwrap_err();
        assert_eq!(hang, "never, within 0.5 s", "{deployment}");
        let watched = of("fault_detected", Some("hang, watchdog")).unwrap();
        assert!(watched >= 300e6, "{deployment}: {watched}");
        let back = of("fault_ready_again", Some("hang, watchdog")).unwrap();
        assert!(back > watched, "{deployment}: {back}");
        assert!(of("fault_detected", Some("failed-start, engine")).unwrap() > 0.0);
    }
}

/// A timeline on `hello`, whose chain does not go through localization.
const SCENARIO: &str = "\
name: comes-and-goes
stack: hello
strategies: [cold, frozen]
window: 300ms
length: 1s
services: { localization: { deadline: 10s } }
timeline: [{ at: 300ms, event: localization is needed, start: [localization] }]
";

#[test]
fn a_service_is_started_on_demand_while_the_chain_runs() {
    if engines_missing(&["oci"]) {
        return;
    }
    let _turn = shared_turn();
    let bench = Bench::new();
    std::fs::write(bench.path().join("scenario.yaml"), SCENARIO).unwrap();
    let words = "lifecycle --settle 0s --scenario scenario.yaml --place oci --blocks 1";
    let mut command = bench.command(words.split(' '));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = ended(&bench, command.spawn().unwrap(), 0);
    for told in ["deadline 10.0 s", "Deadlines: 2 met, 0 missed.", "frozen"] {
        assert!(ended.out.contains(told), "{told}:\n{}", ended.out);
    }
    let dir = only_result(&bench);
    let rows = Results::open(&dir).unwrap().measurements().unwrap();
    let of = |metric: &str, subject: &str| figure(&rows, "oci.modules", metric, Some(subject));
    let ready = |strategy: &str| {
        let subject = format!("{strategy}, localization, localization is needed");
        of("on_demand_ready", &subject).unwrap()
    };
    // What runs already needs no start of its program.
    assert!(ready("frozen") < ready("cold"));
    assert_eq!(of("standing_memory", "cold, localization"), Ok(0.0));
    assert!(of("standing_memory", "frozen, localization").unwrap() > 0.0);
    let chain = "frozen, lidar_to_brake, localization is needed";
    assert!(of("during_start_e2e", chain).unwrap() > 0.0);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("On-demand start: comes-and-goes"));
}

#[test]
fn an_interrupted_life_cycle_leaves_nothing_and_goes_on() {
    if engines_missing(&["bare"]) {
        return;
    }
    let _turn = shared_turn();
    let bench = Bench::new();
    let mut child = start(&bench, "--place bare:flat --blocks 2 --faults hang");
    wait(&mut child, "a finished run", || {
        let results = std::fs::read_dir(bench.path().join("results")).ok()?;
        let mut all = results.flatten().map(|entry| entry.path());
        all.find(|dir| dir.join("parts/run-0001.runs.parquet").exists())
    });
    signal(&child, rustix::process::Signal::INT);
    let stopped = ended(&bench, child, 130);
    assert!(stopped.err.contains("--resume"), "{}", stopped.err);
    let dir = only_result(&bench);
    let resume = [
        "lifecycle",
        "--settle",
        "0s",
        "--resume",
        dir.to_str().unwrap(),
    ];
    let gone_on = Ended::new(bench.command(resume).output().unwrap()).expect(0);
    assert!(gone_on.out.contains("2 of each figure"), "{}", gone_on.out);
    let other = ["lifecycle", "--faults", "segfault"];
    let wrong = Ended::new(bench.command(other).output().unwrap()).expect(2);
    assert!(
        wrong.err.contains("there is no fault 'segfault'"),
        "{}",
        wrong.err
    );
}
