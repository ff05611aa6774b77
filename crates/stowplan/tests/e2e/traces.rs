//! `trace` on traces of other tracers, whole and damaged.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use stowplan_testkit::data;

use crate::copies::as_another_host;
use crate::support::{Bench, Ended, root};
use crate::trace_event::assert_format;

/// Unpacks a trace of the shared data into the bench's folder, if there is such data.
pub fn unpacked(bench: &Bench, name: &str) -> Option<PathBuf> {
    let archive = format!("traces/{name}.tar.zst");
    let archive = data(archive)?;
    let folder = bench.path().join(name);
    std::fs::create_dir(&folder).unwrap();
    let done = Command::new("tar")
        .args(["--zstd", "-xf"])
        .arg(&archive)
        .arg("-C")
        .arg(&folder)
        .status();
    assert!(done.unwrap().success());
    Some(folder)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Counts by babeltrace2 and by hand from the trace's own `rcl_node_init` events.
#[test]
fn a_trace_of_ros_2_humble_is_counted() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-talker_listener") else {
        return;
    };
    let info = bench.run(["trace", "info", text(&trace), "--json", "--events"]);
    let info = info.expect(0).document("trace-info");
    assert_eq!(info["events"], 1495);
    assert_eq!(info["discarded_events"], 0);
    assert_eq!(info["processes"], 2);
    assert_eq!(info["nodes"], 2);
    assert_eq!(info["topics"], 3);
    assert_eq!(info["tracetools_version"], "4.1.1");
    assert_eq!(info["by_event"]["ros2:rcl_node_init"], 2);
    let sum: u64 = info["by_event"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(sum, 1495);
}

#[test]
fn the_talker_and_its_listener_are_a_chain() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-talker_listener") else {
        return;
    };
    let analyze = [
        "trace",
        "analyze",
        text(&trace),
        "--from",
        "/talker",
        "--to",
        "/listener",
    ];
    let chains = bench.run(analyze.into_iter().chain(["--json"])).expect(0);
    let chains = chains.document("trace-analyze");
    let chain = &chains["chains"][0];
    assert!(chain["instances"].as_u64().unwrap() > 10, "{chain:#}");
    assert!(chain["e2e_ns"]["mean"].as_f64().unwrap() > 0.0);
    // Nothing in this trace says when a sample arrived, so that part is null, with its reason.
    assert!(chain["transport_ns"].is_null());
    assert!(chain["reasons"]["transport_ns"].is_string());
    let table = bench.run(analyze).expect(0).out;
    assert!(table.contains("end to end"), "{table}");

    let nobody = [
        "trace",
        "analyze",
        text(&trace),
        "--from",
        "/talker",
        "--to",
        "/nobody",
    ];
    let told = bench.run(nobody).expect(3).err;
    assert!(
        told.contains("no topic or node '/nobody'") && told.contains("/talker"),
        "{told}"
    );
}

#[test]
fn a_trace_with_dds_events_is_counted() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "tracecompass-ros2") else {
        return;
    };
    let info = bench
        .run(["trace", "info", text(&trace), "--json"])
        .expect(0);
    let info = info.document("trace-info");
    assert_eq!(info["events"], 99_338);
    assert_eq!((&info["processes"], &info["nodes"]), (&3.into(), &3.into()));
    assert!(info["by_event"].is_null());
}

#[test]
fn a_damaged_trace_is_read_as_far_as_it_goes_or_refused_with_its_place() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "tracecompass-ros2") else {
        return;
    };
    let inside = trace.join("tracecompass-ros2");
    let stream = inside.join("ros2_1");
    let bytes = std::fs::read(&stream).unwrap();
    std::fs::write(&stream, &bytes[..bytes.len() - bytes.len() / 3]).unwrap();
    // What can be read is counted, with a warning.
    let told = bench
        .run(["trace", "info", text(&trace), "--json"])
        .expect(0);
    assert!(told.err.contains("warning: read in part: "), "{}", told.err);
    assert!(told.err.contains("ros2_1: at byte"), "{}", told.err);
    let events = told.document("trace-info")["events"].as_u64().unwrap();
    assert!(0 < events && events < 99_338, "{events}");
    // What is whole is still looked through for chains, with a warning.
    let analyze = [
        "trace",
        "analyze",
        text(&trace),
        "--from",
        "/no",
        "--to",
        "/no",
    ];
    let told = bench.run(analyze).expect(3).err;
    assert!(told.contains("warning: read in part: "), "{told}");
    assert!(told.contains("ros2_1: at byte"), "{told}");

    let metadata = inside.join("metadata");
    let bytes = std::fs::read(&metadata).unwrap();
    std::fs::write(&metadata, &bytes[..bytes.len() / 2]).unwrap();
    let told = bench.run(["trace", "info", text(&trace)]).expect(3).err;
    assert!(told.contains("metadata"), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn distributions_and_ways_to_link_are_told() {
    let bench = Bench::new();
    for (name, distro, methods) in [
        ("humble-talker_listener", "humble", &["topic_and_time"][..]),
        ("tracecompass-ros2", "humble", &["dds_write"]),
        ("caret-end-to-end", "galactic", &["caret"]),
        ("autoware-carla", "galactic", &["latest_before_callback"]),
    ] {
        let Some(trace) = unpacked(&bench, name) else {
            return;
        };
        let info = bench.run(["trace", "info", text(&trace), "--json"]);
        let info = info.expect(0).document("trace-info");
        assert_eq!(info["distro"], distro, "{name}");
        let links = bench.run(["trace", "links", text(&trace), "--json"]);
        let links = links.expect(0).document("trace-links");
        let found: Vec<&String> = links["by_method"].as_object().unwrap().keys().collect();
        assert_eq!(found, methods, "{name}");
    }
}

#[test]
fn links_are_counted_and_written_one_a_line() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "tracecompass-ros2") else {
        return;
    };
    let pairs = bench.path().join("pairs.csv");
    let links = [
        "trace",
        "links",
        text(&trace),
        "--without-dds-events",
        "--json",
        "--pairs",
        text(&pairs),
    ];
    let links = bench.run(links).expect(0).document("trace-links");
    assert_eq!(links["takes"], 4034);
    assert_eq!(links["linked"], 3994);
    assert_eq!(links["unlinked"], 40);
    assert_eq!(links["by_method"]["topic_and_time"], 3994);
    let lines = std::fs::read_to_string(&pairs).unwrap();
    assert_eq!(lines.lines().count(), 3995);
    for line in lines.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let [
            published,
            taken,
            topic,
            stamp,
            method,
            confidence,
            from,
            to,
            _,
        ] = columns[..].try_into().unwrap();
        assert!(!confidence.is_empty() && from.starts_with('/') && to.starts_with('/'));
        let number = |text: &str| text.parse::<i64>().unwrap();
        assert!(number(published) < number(taken) && number(stamp) > 0);
        assert!(topic.starts_with('/'));
        assert_eq!(method, "topic_and_time");
    }
    let topics = links["unlinked_topics"].as_array().unwrap();
    let takes = topics.iter().map(|one| one["takes"].as_u64().unwrap());
    assert_eq!(takes.sum::<u64>(), 40);
    let table = bench.run(["trace", "links", text(&trace)]).expect(0).out;
    assert!(table.contains("dds_write"), "{table}");
}

#[test]
fn chains_are_offered_and_names_that_are_not_there_get_the_nearest() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let analyze = |more: &[&str]| {
        let words = ["trace", "analyze", text(&trace)];
        bench.run(words.iter().chain(more))
    };
    let offered = analyze(&["--json"]).expect(0).document("trace-chains");
    let chain = &offered["chains"][0];
    assert_eq!(
        (&chain["from"], &chain["to"]),
        (&json!("/stage0"), &json!("/stage4"))
    );
    let ends = ["--from", "/stage0", "--to", "/stage4", "--json"];
    let measured = analyze(&ends).expect(0).document("trace-analyze");
    let chains = measured["chains"].as_array().unwrap();
    assert_eq!(
        chains.len(),
        1,
        "a node's timer is no output of its parameters"
    );
    assert_eq!(
        (&chains[0]["inputs"], &chains[0]["inputs_used"]),
        (&json!(3993), &json!(3993))
    );
    let mean = |part: &str| chains[0][part]["mean"].as_f64().unwrap();
    assert!(mean("e2e_from_publication_ns") < mean("e2e_ns"));
    let wrong = analyze(&["--from", "/stag0", "--to", "/stage4"]).expect(3);
    assert!(
        wrong.err.contains("no topic or node '/stag0'"),
        "{}",
        wrong.err
    );
    assert!(
        wrong.err.contains("did you mean '/stage0'?"),
        "{}",
        wrong.err
    );
    let wrong = analyze(&["--from", "topic:/stage0", "--to", "/stage4"]).expect(3);
    assert!(wrong.err.contains("no topic '/stage0'"), "{}", wrong.err);
}

/// Counts and durations of every callback, as tracetools_analysis has them.
#[test]
fn callbacks_of_containers_are_those_that_tracetools_analysis_counts() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-ab_ctr_r1") else {
        return;
    };
    let callbacks = bench.run(["trace", "callbacks", text(&trace), "--json"]);
    let callbacks = callbacks.expect(0).document("trace-callbacks");
    let mut ours: Vec<(String, u64, f64, f64)> = Vec::new();
    for callback in callbacks["callbacks"].as_array().unwrap() {
        // All are process 1 of their container.
        assert_eq!(callback["pid"], 1);
        assert!(callback["pid_ns"].is_u64());
        let node = callback["node"].as_str().unwrap();
        ours.push((
            node.trim_start_matches('/').to_owned(),
            callback["count"].as_u64().unwrap() - callback["unfinished"].as_u64().unwrap(),
            callback["duration_ns"]["q50"].as_f64().unwrap(),
            callback["duration_ns"]["max"].as_f64().unwrap(),
        ));
    }
    let data = std::env::var_os("STOWPLAN_DATA")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let theirs = data.join("traces/humble-ab_ctr_r1.tracetools_analysis.json");
    let theirs: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(theirs).unwrap()).unwrap();
    let mut expected: Vec<(String, u64, f64, f64)> = Vec::new();
    for callback in theirs["callbacks"].as_array().unwrap() {
        let owner = callback["owner"].as_str().unwrap();
        let node = owner.lines().find_map(|l| l.strip_prefix("node: "));
        expected.push((
            node.unwrap().to_owned(),
            callback["count"].as_u64().unwrap(),
            callback["median_ns"].as_f64().unwrap(),
            callback["max_ns"].as_f64().unwrap(),
        ));
    }
    let order = |a: &(String, u64, f64, f64), b: &(String, u64, f64, f64)| {
        (&a.0, a.1).cmp(&(&b.0, b.1)).then(a.2.total_cmp(&b.2))
    };
    ours.sort_by(order);
    expected.sort_by(order);
    assert_eq!(ours, expected);
}

#[test]
fn a_path_that_caret_names_is_measured_and_written() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "caret-end-to-end") else {
        return;
    };
    let architecture = trace.join("caret-end-to-end/architecture.yaml");
    let rows = bench.path().join("instances.parquet");
    let analyze = [
        "trace",
        "analyze",
        text(&trace),
        "--architecture",
        text(&architecture),
        "--parquet",
        text(&rows),
        "--as-tum",
        "--json",
    ];
    let chains = bench.run(analyze).expect(0).document("trace-analyze");
    let chain = &chains["chains"][0];
    assert_eq!(chain["name"], "target");
    assert!(chain["instances"].as_u64().unwrap() > 10);
    // Galactic has no event for the entry into the middleware.
    assert!(chain["tum"]["dds_ns"]["mean"].as_f64().unwrap() > 0.0);
    assert!(chain["tum"]["idle_ns"]["mean"].as_f64().unwrap() > 0.0);
    assert!(chain["tum"]["cpu_ns"]["mean"].as_f64().unwrap() > 0.0);
    let bytes = std::fs::read(&rows).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[test]
fn start_up_graph_and_window_of_a_trace() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-talker_listener") else {
        return;
    };
    let start_up = bench.run(["trace", "start-up", text(&trace), "--json"]);
    let start_up = start_up.expect(0).document("trace-start-up");
    let nodes = start_up["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        let at = |key: &str| node[key].as_i64().unwrap();
        assert!(0 < at("init_ns") && at("init_ns") < at("first_callback_ns"));
    }
    let dot = bench.run(["trace", "graph", text(&trace)]).expect(0).out;
    assert!(dot.starts_with("digraph trace {"), "{dot}");
    assert!(
        dot.contains("\"/talker\"") && dot.contains("/chatter\\n"),
        "{dot}"
    );
    let file = bench.path().join("window.json");
    let window = ["trace", "window", text(&trace), "--length", "60s", "-o"];
    bench.run(window.into_iter().chain([text(&file)])).expect(0);
    let window: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_format(&window);
    let events = window["traceEvents"].as_array().unwrap();
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).count();
    // Names of two processes, with one thread each that runs callbacks.
    assert_eq!(of("M"), 4);
    assert!(of("X") > 20 && of("s") > 10);
    assert_eq!(of("s"), of("f"));
}

/// Threads in containers, calls that a window cuts, messages from outside of callbacks.
#[test]
fn perfetto_can_show_every_window() {
    let bench = Bench::new();
    for (name, span) in [
        ("humble-ab_ctr_r1", ["--from", "2s", "--length", "150ms"]),
        ("tracecompass-ros2", ["--from", "0s", "--length", "500ms"]),
    ] {
        let Some(trace) = unpacked(&bench, name) else {
            return;
        };
        let file = bench.path().join(format!("{name}.json"));
        let window = ["trace", "window", text(&trace), "-o", text(&file)];
        bench.run(window.into_iter().chain(span)).expect(0);
        let window = std::fs::read_to_string(&file).unwrap();
        let window: serde_json::Value = serde_json::from_str(&window).unwrap();
        assert_format(&window);
        let events = window["traceEvents"].as_array().unwrap();
        assert!(events.iter().any(|event| event["ph"] == "s"), "{name}");
    }
}

#[test]
fn a_trace_beside_itself_has_not_changed() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let compare = [
        "trace",
        "compare",
        text(&trace),
        text(&trace),
        "--from",
        "/c0",
        "--to",
        "/c3",
        "--json",
    ];
    let compared = bench.run(compare).expect(0).document("trace-compare");
    assert!(compared["callbacks"].as_array().unwrap().len() >= 5);
    assert_eq!(compared["only_in_a"].as_array().unwrap().len(), 0);
    assert!(compared["changed_most"].is_null());
    let chain = &compared["chains"][0];
    assert!(chain["instances"][0].as_u64().unwrap() > 3000);
    assert_eq!(chain["change_ns"]["e2e_ns"], 0.0);
}

/// Autoware on three hosts, two million events: with 100 MB of writable memory, callbacks and links are
/// counted. Kept whole, the instances alone would take more.
#[test]
fn two_million_events_are_counted_within_100_megabytes() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "autoware-carla") else {
        return;
    };
    for number in [2, 3] {
        let copy = trace.join(format!("host-{number}"));
        as_another_host(&trace.join("autoware-carla"), &copy, number);
    }
    for command in ["callbacks", "links"] {
        let limited = Command::new("sh")
            .args([
                "-c",
                "ulimit -d 100000 && exec \"$0\" trace \"$1\" \"$2\" --json",
            ])
            .arg(env!("CARGO_BIN_EXE_stowplan"))
            .args([command, text(&trace)])
            .output();
        let limited = Ended::new(limited.unwrap()).expect(0);
        let document = limited.document(&format!("trace-{command}"));
        if command == "callbacks" {
            let callbacks = document["callbacks"].as_array().unwrap();
            let runs = callbacks.iter().map(|c| c["count"].as_u64().unwrap());
            assert_eq!(runs.sum::<u64>(), 3 * 302_862);
        } else {
            assert!(document["linked"].as_u64().unwrap() > 500_000);
        }
    }
}
