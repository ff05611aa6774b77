//! `plan`, which starts nothing.

use serde_json::Value;

use crate::support::{Bench, Ended, fixture, root};

const STACKS: [(&str, u64); 6] = [
    ("autoware-galactic", 242),
    ("autoware-humble", 191),
    ("autoware-reference-system", 24),
    ("contended", 16),
    ("hello", 12),
    ("vision", 3),
];

/// Presets with the number of services that their sources give, on the stacks that they are tables of.
const TABLES: [(&str, &str, usize); 5] = [
    ("autoware-galactic", "wen-5", 5),
    ("autoware-galactic", "wen-10", 10),
    ("autoware-galactic", "wen-17", 17),
    ("autoware-galactic", "wen-26", 26),
    ("autoware-humble", "betz-8", 8),
];

fn plan(arguments: &[&str]) -> Value {
    let ended = Bench::new().run(["plan", "--json"].iter().chain(arguments));
    ended.expect(0).document("plan")
}

fn services(plan: &Value) -> usize {
    plan["services"].as_array().unwrap().len()
}

/// Every node is in exactly one service.
fn assert_covers(plan: &Value, nodes: u64) {
    assert_eq!(plan["nodes"].as_u64(), Some(nodes), "{}", plan["stack"]);
    let mut names: Vec<&str> = plan["services"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|service| service["nodes"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(names.len() as u64, nodes);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len() as u64, nodes);
}

#[test]
fn the_stack_of_the_page_on_start_up_is_split_into_as_many_services_as_the_page_says() {
    let folder = root().join("docs/evidence/start-up");
    let file = |name: &str| folder.join(name).display().to_string();
    let stack = file("relay.yaml");
    let partitions = [
        ("single".to_owned(), 1),
        (file("relay-5.yaml"), 5),
        (file("relay-10.yaml"), 10),
        (file("relay-17.yaml"), 17),
        ("modules".to_owned(), 26),
    ];
    for (partition, count) in partitions {
        let plan = plan(&[&stack, "--partition", &partition]);
        assert_covers(&plan, 26);
        assert_eq!(services(&plan), count);
    }
}

#[test]
fn every_shipped_stack_has_the_published_number_of_nodes() {
    for (stack, nodes) in STACKS {
        assert_covers(&plan(&[stack, "--partition", "functions"]), nodes);
    }
}

#[test]
fn finer_presets_have_as_many_services_or_more() {
    let mut counts = Vec::new();
    for preset in ["single", "modules", "functions", "nodes"] {
        let plan = plan(&["autoware-galactic", "--partition", preset]);
        assert_covers(&plan, 242);
        assert_eq!(plan["partition"], preset);
        counts.push(services(&plan));
    }
    assert_eq!(counts[0], 1);
    assert!(counts.is_sorted(), "{counts:?}");
}

#[test]
fn published_partitions_have_the_published_number_of_services() {
    for (stack, preset, count) in TABLES {
        let plan = plan(&[stack, "--partition", preset]);
        let nodes = STACKS.iter().find(|(name, _)| *name == stack).unwrap().1;
        assert_covers(&plan, nodes);
        assert_eq!(services(&plan), count, "{stack} {preset}");
        assert!(!plan["notes"].as_array().unwrap().is_empty());
    }
}

#[test]
fn rates_and_bytes_are_those_of_the_file() {
    let tiny = fixture("tiny.yaml");
    let plan = plan(&[tiny.to_str().unwrap(), "--partition", "modules"]);
    let edges = &plan["edges_by_class"];
    // Two edges of 20 messages each second: 4096 bytes and 64 bytes, all between services.
    assert_eq!(edges.as_object().unwrap().len(), 1, "{edges}");
    assert_eq!(edges["loopback"]["edges"], 2);
    assert_eq!(edges["loopback"]["messages_per_s"], 40.0);
    assert_eq!(edges["loopback"]["bytes_per_s"], 20.0 * (4096.0 + 64.0));
    assert_eq!(plan["processes"], 3);
    // Every service has a launcher with a participant of its own.
    assert_eq!(plan["participants"], 6);
    assert!(plan["expected_duration_s"].as_f64().unwrap() > 10.0);
}

#[test]
fn work_is_scaled_to_a_utilisation_and_the_plan_says_what_is_not() {
    let whole = plan(&["autoware-humble"]);
    assert_eq!(whole["work_scale"], 1.0);
    assert_eq!(whole["not_scaled"].as_array().unwrap().len(), 0);
    let scaled = plan(&["autoware-humble", "--utilisation", "0.25"]);
    let share = scaled["utilisation"].as_f64().unwrap();
    assert!((share - 0.25).abs() < 0.001, "{share}");
    assert!(scaled["work_scale"].as_f64().unwrap() > 0.0);
    assert!(!scaled["not_scaled"].as_array().unwrap().is_empty());
}

/// One node that works 20 ms ten times a second: a fifth of a CPU, however fast that is.
const WORKER: &str = "name: timed\nprofile: minimal\nmodules: { m: { nodes: { n: { timer: 10Hz, work: 20ms } } } }\n";

#[test]
fn work_in_time_is_that_time_on_this_machine() {
    let bench = Bench::new();
    let stack = bench.write("timed.yaml", WORKER);
    let stack = stack.to_str().unwrap();
    let ended = bench.run(["plan", "--json", stack]);
    let plan = ended.expect(0).document("plan");
    let cpus = std::thread::available_parallelism().unwrap().get();
    let busy = plan["utilisation"].as_f64().unwrap() * cpus as f64;
    assert!((busy - 0.2).abs() < 1e-6, "{busy}");
    let notes = plan["notes"].to_string();
    assert!(notes.contains("work of 20.0 ms is "), "{notes}");
    assert!(notes.contains("iterations/s, calibration of 20"), "{notes}");
    let experiment = bench.write(
        "e.yaml",
        "name: e\nstack: timed.yaml\nplaces: [bare:flat]\npartitions: [single]\nblocks: 1\nwindow: 1s\n",
    );
    let ended = bench.run(["plan", "--experiment", experiment.to_str().unwrap()]);
    let told = ended.expect(0).out;
    assert!(told.contains("\nWork of 20.0 ms is "), "{told}");
}

#[test]
fn work_in_time_without_a_calibration_is_an_error_with_a_hint() {
    let bench = Bench::new();
    let stack = bench.write("timed.yaml", WORKER);
    let mut command = bench.command(["plan", stack.to_str().unwrap()]);
    let ended = Ended::new(command.env("STOWPLAN_NODE", stack).output().unwrap());
    let told = ended.err;
    assert!(told.contains("the stack has work in time"), "{told}");
    assert!(told.contains("cargo xtask node"), "{told}");
}

#[test]
fn text_and_graph_are_as_committed() {
    let bench = Bench::new();
    let text = bench.run(["plan", "hello", "--partition", "modules"]);
    let text = stowplan_testkit::redact(&text.expect(0).out);
    // The unit of a duration follows the speed of the machine.
    insta::assert_snapshot!("plan_hello", text.replace("<n> ms.", "<n> s."));
    let dot = bench.run(["plan", "hello", "--partition", "modules", "--dot"]);
    insta::assert_snapshot!("plan_hello_dot", dot.expect(0).out);
}
