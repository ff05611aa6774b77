//! Services with `trace: true` in a run: recorded through LTTng (`script/test` installs it) beside modelled nodes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use stowplan_ctf::dir::TraceFolder;
use stowplan_results::{Results, RunRow, RunStatus};
use stowplan_testkit::{emitted, events_program, events_root};

use crate::interrupted::{signal, until_empty, until_nothing_is_left, wait};
use crate::measured::only_result;
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::record::counted_in;
use crate::support::{Bench, Ended, engines_missing, fixture, to_its_end};

/// Where the programs are and where they write their counts, as they see it, and what they have of the host.
struct Place<'a> {
    name: &'a str,
    program: &'a str,
    counts: &'a str,
    access: &'a str,
}

/// One run of `tiny` with three programs beside it: one that is traced and counts what it records, one that is traced
/// and has nothing to record, and one that could record and is not traced.
fn command(bench: &Bench, place: &Place<'_>, window: &str) -> Command {
    let Place {
        name,
        program,
        counts,
        access,
    } = place;
    let tiny = std::fs::read_to_string(fixture("tiny.yaml")).unwrap();
    let text = format!(
        "{tiny}
services:
  counted:
    command: [{program}, '0', '1000', '100', /counted, real_, {counts}/counted.json]
    ready: {{ log_line: ready }}
    trace: true
{access}
  silent:
    command: [/bin/sh, -c, 'trap \"exit 0\" TERM; sleep 600 & wait']
    trace: true
  untraced:
    command: [{program}, '0', '1000', '100', /counted, other_, {counts}/untraced.json]
    ready: {{ log_line: ready }}
{access}
"
    );
    bench.write("stack.yaml", &text);
    bench.write(
        "one.yaml",
        &format!(
            "name: one\nstack: stack.yaml\nplaces: ['{name}']\npartitions: [single]\nblocks: 1\n\
             warm_up: 100ms\nwindow: {window}\nkeep_traces: true\n"
        ),
    );
    let mut command = bench.command(["run", "one.yaml", "--settle", "0s"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn on_bare<'a>(counts: &'a str) -> Place<'a> {
    Place {
        name: "bare:flat",
        program: events_program().to_str().unwrap(),
        counts,
        access: "",
    }
}

/// Runs it to its end, after which nothing may be left.
fn run(bench: &Bench, place: &Place<'_>) -> Ended {
    let _turn = shared_turn();
    let (pid, ended) = to_its_end(&mut command(bench, place, "500ms"));
    let ended = ended.expect(0);
    assert_eq!(left_of(pid), [""; 0]);
    ended
}

/// What has to be true of the run wherever it was; `counts` is where the programs wrote what they emitted.
fn assert_recorded(bench: &Bench, ended: &Ended, counts: &Path) {
    let dir = only_result(bench);
    let results = Results::open(&dir).unwrap();
    let run = &results.runs[0];
    assert_eq!(run.status, RunStatus::Finished, "{run:?}");
    let trace = dir.join("traces/run-0001");

    let own = emitted(&counts.join("counted.json"));
    assert_eq!(counted_in(bench, &trace.join("_lttng")), own);
    assert_eq!(run.discarded, Some(0));
    assert_warned(ended, run);

    // All of it is one trace, by one clock.
    let folder = TraceFolder::open(&trace).unwrap();
    let clocks = folder.traces().iter().flat_map(|t| &t.metadata().clocks);
    let clocks: BTreeSet<_> = clocks.map(|c| (c.uuid, c.offset_ns)).collect();
    assert_eq!(clocks.len(), 1, "{clocks:?}");
    let trace = trace.to_str().unwrap();
    let info = bench.run(["trace", "info", trace, "--json"]).expect(0);
    let info = info.document("trace-info");
    assert_eq!(info["events"].as_u64(), run.events);
    assert_eq!(info["nodes"], 3 + 2, "the untraced program has none");

    // The chain of the modelled nodes is what it is without them, and the program has one of its own.
    let rows = results.latency().unwrap();
    let whole = rows.iter().filter(|row| row.e2e_paper_ns.is_some());
    assert!(whole.count() > 0, "{rows:?}");
    let analyze = [
        "trace",
        "analyze",
        trace,
        "--from",
        "/real_talker",
        "--to",
        "/real_listener",
        "--json",
    ];
    let chains = bench.run(analyze).expect(0).document("trace-analyze");
    let chain = &chains["chains"][0];
    // Of the window: the program began before it and went on afterwards.
    let instances = chain["instances"].as_u64().unwrap();
    assert!(
        (1..own["ros2:rmw_publish"]).contains(&instances),
        "{chain:#}"
    );
    assert_eq!(chain["invalid"], 0, "{chain:#}");
}

/// The program without events is named, in the result and on the terminal; no other is.
fn assert_warned(ended: &Ended, run: &RunRow) {
    let of = |service: &str| {
        let quoted = format!("'{service}'");
        run.warnings.iter().filter(|w| w.contains(&quoted)).count()
    };
    let warned = ["counted", "silent", "untraced"].map(of);
    assert_eq!(warned, [0, 1, 0], "{:?}", run.warnings);
    let said: Vec<&str> = ended.out.split_whitespace().collect();
    let warning =
        "service 'silent' recorded no event: no process that links LTTng or ROS 2 was seen (hint: ";
    assert!(said.join(" ").contains(warning), "{}", ended.out);
}

#[test]
fn a_plain_process_is_recorded_beside_modelled_nodes() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let counts = bench.path().to_str().unwrap();
    let ended = run(&bench, &on_bare(counts));
    assert_recorded(&bench, &ended, bench.path());
}

#[test]
fn a_program_in_a_container_with_a_root_of_its_own_is_recorded_beside_modelled_nodes() {
    if engines_missing(&["oci"]) {
        return;
    }
    let bench = Bench::new();
    let (root, counts) = (bench.path().join("root"), bench.path().join("counts"));
    events_root(&root);
    std::fs::create_dir(&counts).unwrap();
    let access = format!(
        "    rootfs: {}\n    mounts: [{{ from: {}, to: /counts }}]",
        root.display(),
        counts.display()
    );
    let place = Place {
        name: "oci",
        program: "/ros2_events",
        counts: "/counts",
        access: &access,
    };
    let ended = run(&bench, &place);
    assert_recorded(&bench, &ended, &counts);
    let made: Vec<PathBuf> = ["run", "dev/shm"].map(|name| root.join(name)).into();
    assert!(
        !made.iter().any(|path| path.exists()),
        "the root is untouched"
    );
}

#[test]
fn without_lttng_nothing_begins() {
    let bench = Bench::new();
    let mut command = command(&bench, &on_bare("/tmp"), "500ms");
    let ended = Ended::new(command.env("PATH", bench.path()).output().unwrap()).expect(4);
    let says = "error: service 'counted' cannot be traced: there is no program 'lttng' in PATH";
    assert!(ended.err.contains(says), "{}", ended.err);
    let hint = "hint: install LTTng: apt install lttng-tools";
    assert!(ended.err.contains(hint), "{}", ended.err);
    assert!(!bench.path().join("results").exists());
}

/// Begins a long run and waits until its services are there, and with them the daemon.
fn begun(bench: &Bench) -> Child {
    let counts = bench.path().to_str().unwrap();
    let mut child = command(bench, &on_bare(counts), "600s").spawn().unwrap();
    let pid = child.id();
    wait(&mut child, "a node that runs", || {
        let left = left_of(pid);
        let runs = left
            .iter()
            .any(|object| object.contains("stowplan-node exec"));
        runs.then_some(())
    });
    child
}

/// Processes that have the folder of a daemon in their environment, when those that end have had the time for it.
fn recording_still(pid: u32) -> Vec<String> {
    let folder = format!("LTTNG_HOME=/dev/shm/stowplan-{pid}-");
    until_empty(|| {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let with_folder = processes.filter(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&folder)
        });
        let name = |process: std::fs::DirEntry| {
            std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default()
        };
        with_folder.map(name).collect()
    })
}

#[test]
fn killed_in_a_traced_run_it_leaves_nothing_that_clean_does_not_remove() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let mut child = begun(&bench);
    let pid = child.id();
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    assert_eq!(recording_still(pid), [""; 0], "the daemon ends by itself");
    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["left"].as_array().unwrap().len(), 0, "{clean:#}");
    assert_eq!(until_nothing_is_left(pid), [""; 0]);
}

#[test]
fn interrupted_in_a_traced_run_it_leaves_nothing() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let child = begun(&bench);
    let pid = child.id();
    signal(&child, Signal::INT);
    Ended::new(child.wait_with_output().unwrap()).expect(130);
    assert_eq!(left_of(pid), [""; 0]);
    assert_eq!(recording_still(pid), [""; 0]);
    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["removed"].as_array().unwrap().len(), 0, "{clean:#}");
}
