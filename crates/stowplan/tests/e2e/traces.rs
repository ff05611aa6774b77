//! `trace` on traces of other tracers, whole and damaged.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Bench, root};

/// Unpacks a trace of the shared data into the bench's folder. `None`, with the reason printed, where
/// there is no such data; CI has to have it.
fn unpacked(bench: &Bench, name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("STOWPLAN_DATA")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let archive = data.join(format!("traces/{name}.tar.zst"));
    if !archive.is_file() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "{} is missing, and this is CI",
            archive.display()
        );
        eprintln!(
            "skipped: {} is not here; $STOWPLAN_DATA names its folder",
            archive.display()
        );
        return None;
    }
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
        told.contains("'/talker'") && told.contains("'/nobody'"),
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
    let told = bench.run(["trace", "info", text(&trace)]).expect(3).err;
    assert!(told.contains("ros2_1: at byte"), "{told}");
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
