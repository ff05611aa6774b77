//! `stowplan trace record`: real programs through LTTng, which has to be there (`script/test` installs it).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stowplan_testkit::{
    emitted, events_in_container, events_program, in_chroot, only_child, wait_until_events,
};

use crate::nothing_left::left_of;
use crate::support::{Bench, Ended, assert_valid, root, through};

/// `trace record -o trace -- ros2_events …`.
fn recording(bench: &Bench, cycles: &str) -> Command {
    let mut command = bench.command(["trace", "record", "-o", "trace", "--"]);
    command.arg(events_program());
    command.args([cycles, "1000", "300", "/counted", "one_", "counts.json"]);
    command
}

fn record(bench: &Bench) -> Value {
    let text = std::fs::read_to_string(bench.path().join("trace/record.json")).unwrap();
    let document = serde_json::from_str(&text).unwrap();
    assert_valid(&root().join("schemas/trace-record.json"), &document);
    document
}

/// What `trace info` counts of ROS 2.
fn counted(bench: &Bench) -> BTreeMap<String, u64> {
    counted_in(bench, Path::new("trace"))
}

/// The same of another folder.
pub fn counted_in(bench: &Bench, trace: &Path) -> BTreeMap<String, u64> {
    let trace = trace.to_str().unwrap();
    let info = bench.run(["trace", "info", trace, "--json", "--events"]);
    let document = info.expect(0).document("trace-info");
    let by_event = document["by_event"].as_object().unwrap().iter();
    by_event
        .filter(|(name, _)| name.starts_with("ros2:"))
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()))
        .collect()
}

/// A recording that goes on until it is told to end, and has begun.
fn started(bench: &Bench) -> Child {
    let mut command = recording(bench, "0");
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_until_events(&mut child, "ready");
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn what_a_command_emits_is_what_is_counted_and_learnt() {
    let bench = Bench::new();
    let ended = Ended::new(recording(&bench, "500").output().unwrap()).expect(0);
    assert_eq!(ended.out, "ready\n", "standard output is the command's");
    let own = emitted(&bench.path().join("counts.json"));
    assert_eq!(counted(&bench), own);
    let document = record(&bench);
    assert_eq!(document["events"], own.values().sum::<u64>());
    assert_eq!(document["discarded_events"], 0);
    assert_eq!(document["warnings"], Value::Array(Vec::new()));
    let processes = document["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!(processes[0]["name"], "ros2_events");

    let callbacks = bench
        .run(["trace", "callbacks", "trace", "--json"])
        .expect(0);
    let callbacks = callbacks.document("trace-callbacks");
    let callbacks = callbacks["callbacks"].as_array().unwrap();
    let listen = callbacks
        .iter()
        .find(|c| c["symbol"] == "listen(Message)")
        .unwrap();
    assert_eq!(listen["node"], "/one_listener");
    assert_eq!(listen["count"], 500);
    assert!(
        listen["duration_ns"]["min"].as_u64().unwrap() >= 300_000,
        "{listen}"
    );

    bench
        .run([
            "trace",
            "learn",
            "trace",
            "-o",
            "stack.yaml",
            "--ns-per-iteration",
            "1",
        ])
        .expect(0);
    bench.run(["plan", "stack.yaml"]).expect(0);
}

#[test]
fn a_signal_is_passed_on_and_the_status_is_the_commands() {
    for (sent, expected) in [(Signal::INT, 0), (Signal::TERM, 0)] {
        let bench = Bench::new();
        let child = started(&bench);
        let pid = child.id();
        signal(&child, sent);
        Ended::new(child.wait_with_output().unwrap()).expect(expected);
        assert_eq!(counted(&bench), emitted(&bench.path().join("counts.json")));
        assert_eq!(left_of(pid), [""; 0]);
    }
    let bench = Bench::new();
    let sleeping = bench.command([
        "trace", "record", "-o", "trace", "--for", "100ms", "--", "sleep", "60",
    ]);
    // As a script starts it in its background: SIGINT is ignored, by what it starts, too.
    let mut background = through(&["env", "--ignore-signal=INT"], &sleeping);
    let ended = background.output().unwrap();
    Ended::new(ended).expect(128 + 2);
    let failed = Bench::new();
    failed
        .run(["trace", "record", "-o", "trace", "--", "sh", "-c", "exit 7"])
        .expect(7);
}

#[test]
fn a_command_that_records_nothing_is_a_warning_with_causes() {
    let bench = Bench::new();
    let ended = bench
        .run(["trace", "record", "-o", "trace", "--", "true"])
        .expect(0);
    assert!(
        ended.err.contains("warning: the command recorded no event"),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains("hint: ask `ros2 run tracetools status`"),
        "{}",
        ended.err
    );

    // It links the tracer, but something on the way to it has replaced the environment.
    let bench = Bench::new();
    let mut command = bench.command(["trace", "record", "-o", "trace", "--for", "2s", "--"]);
    command
        .args(["env", "LTTNG_HOME=/nowhere"])
        .arg(events_program());
    command.args(["0", "1000", "0", "/counted", "lost_", "counts.json"]);
    let ended = Ended::new(command.output().unwrap()).expect(0);
    let text =
        "processes of the command that did not reach LTTng's session daemon (1): ros2_events";
    assert!(ended.err.contains(text), "{}", ended.err);
    assert_eq!(record(&bench)["events"], 0);
}

#[test]
fn what_cannot_be_recorded_says_why() {
    let bench = Bench::new();
    let absent = bench
        .run(["trace", "record", "-o", "trace", "--", "no-such-program"])
        .expect(3);
    assert!(
        absent.err.contains("error: cannot run 'no-such-program'"),
        "{}",
        absent.err
    );
    std::fs::create_dir(bench.path().join("used")).unwrap();
    bench.write("used/file", "");
    let used = bench
        .run(["trace", "record", "-o", "used", "--", "true"])
        .expect(3);
    assert!(
        used.err.contains("used is there and no empty folder"),
        "{}",
        used.err
    );
    let own = std::process::id().to_string();
    let none = bench
        .run(["trace", "record", "-o", "trace", "--pid", &own])
        .expect(3);
    assert!(
        none.err.contains("it is in no container of its own"),
        "{}",
        none.err
    );
    let mut command = bench.command(["trace", "record", "-o", "trace", "--", "true"]);
    let without = Ended::new(command.env("PATH", bench.path()).output().unwrap()).expect(4);
    assert!(
        without
            .err
            .contains("hint: install LTTng: apt install lttng-tools"),
        "{}",
        without.err
    );
}

#[test]
fn after_a_kill_the_daemon_ends_and_clean_removes_the_rest() {
    let bench = Bench::new();
    let mut child = started(&bench);
    let pid = child.id();
    let own = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(own).unwrap();
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    // What was recorded goes on, as it would under any other parent.
    for child in children.split_whitespace() {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        if name.starts_with("ros2_events") {
            let pid = Pid::from_raw(child.parse().unwrap()).unwrap();
            kill_process(pid, Signal::TERM).unwrap();
        }
    }
    let home = format!("/dev/shm/stowplan-{pid}-record-lttng");
    assert!(Path::new(&home).exists(), "the daemon's folder stays");
    let cleaned = bench.run(["clean"]).expect(0);
    assert!(
        cleaned.out.contains(&format!("removed folder {home}")),
        "{}",
        cleaned.out
    );
    assert_eq!(left_of(pid), [""; 0]);
}

#[test]
fn a_running_container_is_recorded_from_outside() {
    if in_chroot() {
        return;
    }
    let bench = Bench::new();
    // Its program began before and waits for a daemon.
    let counts = bench.path().join("counts.json");
    let mut container = events_in_container(&counts).spawn().unwrap();
    wait_until_events(&mut container, "ready");
    let inside = only_child(&container).to_string();
    let arguments = [
        "trace", "record", "-o", "trace", "--for", "1500ms", "--pid", &inside,
    ];
    let ended = bench.run(arguments).expect(0);
    let left = Path::new("/proc")
        .join(&inside)
        .join("root/run/lttng")
        .exists();
    let pid = Pid::from_raw(inside.parse().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    container.wait().unwrap();
    assert!(!left, "what was put into the container is gone");
    let document = record(&bench);
    assert!(document["events"].as_u64().unwrap() > 1000, "{}", ended.err);
    assert_eq!(document["processes"][0]["pid"], 1);
    assert_eq!(document["warnings"], Value::Array(Vec::new()));
    // It goes on when nobody listens any more.
    let own = emitted(&counts);
    let recorded = counted(&bench);
    assert!(recorded["ros2:rmw_publish"] < own["ros2:rmw_publish"]);
    assert!(!recorded.contains_key("ros2:rcl_init"), "that was before");
}
