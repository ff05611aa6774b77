//! What is there besides measuring: the machine, completions, man pages, options.

use std::process::Stdio;

use crate::support::{Bench, engines_missing};

#[test]
fn doctor_tells_every_engine_and_the_machine() {
    let document = Bench::new().run(["doctor", "--json"]).expect(0);
    let document = document.document("doctor");
    let engines = document["engines"].as_array().unwrap();
    for name in [
        "bare", "oci", "docker", "podman", "swarm", "cri", "lxd", "incus", "qemu", "kube",
    ] {
        let engine = engines.iter().find(|e| e["name"] == name).unwrap();
        let status = engine["status"].as_str().unwrap();
        assert!(["available", "emulated", "absent"].contains(&status));
        // Missing is said with a reason, and so is what works under a condition alone.
        let reason = engine["reason"].as_str();
        let condition = reason.is_some_and(|why| why.starts_with("only with "));
        assert_eq!(
            status != "available" || condition,
            reason.is_some(),
            "{engine}"
        );
        assert_eq!(status == "absent", engine["version"].is_null(), "{engine}");
    }
    // script/test installs it.
    assert_eq!(document["tools"][0]["name"], "lttng");
    assert_eq!(document["tools"][0]["status"], "available");
    let preemption = &document["tools"][1];
    assert_eq!(preemption["name"], "preemption");
    let works = preemption["status"] == "available";
    assert_eq!(works, preemption["reason"].is_null(), "{preemption:#}");
    assert_eq!(works, preemption["hint"].is_null(), "{preemption:#}");
    let machine = &document["machine"];
    let mode = machine["settings"]["preemption"].as_str();
    assert!(mode.is_some_and(|mode| !mode.is_empty()), "{machine:#}");
    let cpus = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(machine["cpus"].as_u64().unwrap() >= cpus);
    assert!(machine["memory_bytes"].as_u64().unwrap() > 1 << 20);
    assert!(["v1", "hybrid", "v2"].contains(&machine["cgroup"].as_str().unwrap()));
}

#[test]
fn engines_that_this_machine_must_have_are_there() {
    // The list is in $STOWPLAN_REQUIRE_ENGINES; one that is missing fails here.
    engines_missing(&[]);
}

#[test]
fn doctor_for_people_names_the_engines() {
    let text = Bench::new().run(["doctor"]).expect(0).out;
    for word in ["engine", "status", "bare", "oci", "kernel"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let bench = Bench::new();
    let mut child = bench
        .command(["plan", "autoware-galactic", "--partition", "nodes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn standard_output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let bench = Bench::new();
    let output = bench
        .command(["plan", "hello", "--json"])
        .stdout(full.unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.starts_with("error: cannot write to standard output"));
}

#[test]
fn completions_and_man_pages_know_every_command() {
    let bench = Bench::new();
    let bash = bench.run(["completions", "bash"]).expect(0).out;
    bench.run(["man", "pages"]).expect(0);
    let help = bench.run(["--help"]).expect(0).out;
    for command in [
        "doctor",
        "demo",
        "new",
        "show",
        "schema",
        "plan",
        "run",
        "startup",
        "latency",
        "usage",
        "bench",
        "lifecycle",
        "selftest",
        "trace",
        "compare",
        "report",
        "clean",
    ] {
        assert!(help.contains(command), "{command}");
        assert!(
            bash.contains(&format!("stowplan__subcmd__{command}")),
            "{command}"
        );
        let page = bench.path().join(format!("pages/stowplan-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{command}");
    }
    bench.run(["man", "/dev/null/pages"]).expect(3);
}

#[test]
fn the_help_is_as_committed() {
    let bench = Bench::new();
    insta::assert_snapshot!("help", bench.run(["--help"]).expect(0).out);
    insta::assert_snapshot!(
        "help_latency",
        bench.run(["latency", "--help"]).expect(0).out
    );
    let version = bench.run(["--version"]).expect(0).out;
    assert_eq!(
        version.trim(),
        concat!("stowplan ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn clean_with_nothing_to_clean_says_so() {
    let state = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    let mut command = bench.command(["clean", "--json"]);
    command.env("STOWPLAN_STATE", state.path());
    let document = crate::support::Ended::new(command.output().unwrap()).expect(0);
    let document = document.document("clean");
    assert_eq!(document["runs"].as_array().unwrap().len(), 0);
    assert_eq!(document["removed"].as_array().unwrap().len(), 0);
}
