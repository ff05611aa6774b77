//! A stack from a trace, run and traced again; stacks from other projects' files.

use std::path::Path;

use serde_json::Value;
use stowplan_results::{Results, RunStatus};
use stowplan_testkit::data;

use crate::measured::{AT_ONCE, only_result};
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, engines_missing};
use crate::traces::unpacked;
use crate::undisturbed::undisturbed;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Nanoseconds of an iteration in tests that run nothing: a figure that makes work readable.
const NS: &str = "1";

fn learn(bench: &Bench, trace: &Path, more: &[&str]) -> Value {
    let learn = ["trace", "learn", text(trace), "--json"];
    let ended = bench.run(learn.into_iter().chain(more.iter().copied()));
    ended.expect(0).document("trace-learn")
}

fn callback<'a>(facts: &'a Value, node: &str, name: &str) -> &'a Value {
    let callbacks = facts["callbacks"].as_array().unwrap();
    callbacks
        .iter()
        .find(|c| c["node"] == node && c["callback"] == name)
        .unwrap_or_else(|| panic!("{node}/{name} is not in {facts:#}"))
}

/// The chain of `humble-chain_perpid` as its authors describe it: five nodes in three processes, 200 Hz.
#[test]
fn the_stack_of_a_chain_is_learnt() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let facts = learn(
        &bench,
        &trace,
        &["-o", "chain.yaml", "--ns-per-iteration", NS],
    );
    assert_eq!(
        (&facts["nodes"], &facts["processes"]),
        (&5.into(), &3.into())
    );
    assert!(facts["launch"].is_null() && facts["launch_reason"].is_string());
    for topic in ["/c0", "/c1", "/c2", "/c3"] {
        let topics = facts["topics"].as_array().unwrap();
        let topic = topics.iter().find(|t| t["name"] == topic).unwrap();
        let per_s = topic["per_s"].as_f64().unwrap();
        assert!((per_s / 200.0 - 1.0).abs() < 0.02, "{topic}");
    }
    let plan = bench.run(["plan", "chain.yaml", "--json"]).expect(0);
    let plan = plan.document("plan");
    assert_eq!((&plan["nodes"], &plan["processes"]), (&5.into(), &3.into()));
    let yaml = std::fs::read_to_string(bench.path().join("chain.yaml")).unwrap();
    let spec = stowplan_spec::parse_stack(&yaml, "chain.yaml").unwrap();
    let longest = &spec.chains[0].callbacks;
    assert_eq!(longest.len(), 5, "{yaml}");
    assert!(yaml.contains("an upper bound"), "{yaml}");
    assert!(yaml.contains("executor: multi"), "{yaml}");

    let asked = ["trace", "learn", text(&trace), "--ns-per-iteration", NS];
    let asked = |from, to| {
        let ends = ["--from", from, "--to", to];
        bench.run(asked.into_iter().chain(ends))
    };
    let out = asked("/c1", "/c3").expect(0).out;
    let spec = stowplan_spec::parse_stack(&out, "asked").unwrap();
    assert_eq!(spec.chains[0].callbacks.len(), 2, "{out}");
    let told = asked("/c3", "/c1").expect(3).err;
    assert!(told.contains("from '/c3' to '/c1'"), "{told}");
}

/// What was learnt comes back: intervals within 2 %, and callbacks take what they took. On a machine that is
/// busy with other things timers skip releases, which the median interval does not show, and the least
/// disturbed run tells how long callbacks take.
#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn a_learnt_stack_runs_and_gives_its_figures_back() {
    let traces = Bench::new();
    let Some(trace) = unpacked(&traces, "humble-chain_perpid") else {
        return;
    };
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let latency = [
        "latency",
        "chain.yaml",
        "--place",
        "bare:flat,oci",
        "--partition",
        "single",
        "--blocks",
        "2",
        "--window",
        "4s",
        "--settle",
        "0s",
        "--keep-traces",
    ];
    let measured = undisturbed(|bench| {
        let before = learn(bench, &trace, &["-o", "chain.yaml"]);
        (before, bench.run(latency))
    });
    let Some((bench, (before, ended))) = measured else {
        return;
    };
    ended.expect(0);
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    let mut again = Vec::new();
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        let trace = dir.join(format!("traces/run-{:04}", run.run));
        let facts = learn(&bench, &trace, &[]);
        assert_eq!(facts["nodes"], before["nodes"]);
        assert_eq!(
            facts["launch"]["processes"], before["processes"],
            "{facts:#}"
        );
        again.push(facts);
    }
    for known in before["callbacks"].as_array().unwrap() {
        let (node, name) = (
            known["node"].as_str().unwrap(),
            known["callback"].as_str().unwrap(),
        );
        let nearest = |key: &str| {
            let known = known[key].as_f64().unwrap();
            let ratios = again
                .iter()
                .map(|facts| callback(facts, node, name)[key].as_f64().unwrap() / known);
            ratios
                .min_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))
                .unwrap()
        };
        let interval = nearest("interval_ns");
        assert!(
            (interval - 1.0).abs() < 0.02,
            "{node}/{name}: {interval} of its interval"
        );
        let median = nearest("median_ns");
        assert!(
            (0.8..1.8).contains(&median),
            "{node}/{name}: {median} of its median"
        );
    }
    fitted_twice(&bench, &trace, &dir.join("traces/run-0001"));
}

/// A fit by a run of the stack and by one of the stack that this fitted.
fn fitted_twice(bench: &Bench, trace: &Path, first: &Path) {
    let fit = |out: &str, runs: &[&Path]| {
        let runs = runs.iter().map(|run| text(run));
        let options: Vec<&str> = ["-o", out, "--fit"].into_iter().chain(runs).collect();
        learn(bench, trace, &options);
        let yaml = std::fs::read_to_string(bench.path().join(out)).unwrap();
        assert!(yaml.contains("Fitted to runs"), "{yaml}");
        yaml
    };
    let once = fit("once.yaml", &[first]);
    let _turn = shared_turn();
    let place = ["--place", "bare:flat", "--partition", "single"];
    let length = ["--blocks", "1", "--window", "2s"];
    let kept = ["--keep-traces", "--out", "second"];
    let latency = ["latency", "once.yaml"].into_iter();
    bench
        .run(
            latency
                .chain(place)
                .chain(length)
                .chain(AT_ONCE)
                .chain(kept),
        )
        .expect(0);
    let mut results = std::fs::read_dir(bench.path().join("second")).unwrap();
    let second = results
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("traces/run-0001");
    assert_ne!(once, fit("twice.yaml", &[first, &second]));
    let compare = [
        "trace",
        "compare",
        text(trace),
        text(first),
        text(&second),
        "--learnt",
    ];
    let told = bench.run(compare).expect(2).err;
    assert!(told.contains("different results"), "{told}");
}

/// Services, clients, and a node that subscribes to /parameter_events twice: a run of the learnt stack has as many
/// endpoints of each kind as the trace, node by node.
#[test]
fn a_learnt_stack_has_the_endpoints_of_its_trace() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-svc") else {
        return;
    };
    if engines_missing(&["bare"]) {
        return;
    }
    let _turn = shared_turn();
    let facts = learn(&bench, &trace, &["-o", "svc.yaml"]);
    let plan = bench.run(["plan", "svc.yaml", "--json"]).expect(0);
    assert_eq!(plan.document("plan")["endpoints"], facts["endpoints"]);
    let startup = ["startup", "svc.yaml", "--place", "bare:flat"];
    let options = ["--partition", "single", "--blocks", "1", "--keep-traces"];
    let startup = startup.into_iter().chain(options);
    bench.run(startup.chain(["--settle", "0s"])).expect(0);
    let run = only_result(&bench).join("traces/run-0001");
    let compare = [
        "trace",
        "compare",
        text(&trace),
        text(&run),
        "--learnt",
        "--json",
    ];
    let held = bench.run(compare).expect(0);
    let held = held.document("trace-compare-learnt");
    assert_eq!(held["trace_endpoints"], facts["endpoints"]);
    assert_eq!(held["run_endpoints"], held["trace_endpoints"], "{held:#}");
    for list in ["different_endpoints", "only_in_trace", "only_in_run"] {
        assert_eq!(held[list], Value::Array(Vec::new()), "{list}");
    }
    // One block: its calibration is that of the run. The stack says by which its work was counted.
    let result = Results::open(only_result(&bench)).unwrap();
    let calibrated = result.runs[0].calibration_ns.unwrap();
    let told = held["ns_per_iteration"].as_f64().unwrap();
    assert!(
        (told / calibrated - 1.0).abs() < 1e-9,
        "{told} {calibrated}"
    );
    let yaml = std::fs::read_to_string(bench.path().join("svc.yaml")).unwrap();
    let stack = stowplan_spec::parse_stack(&yaml, "svc.yaml").unwrap();
    assert!(stack.ns_per_iteration.is_some(), "{yaml}");
    assert_eq!(
        held["counted_ns_per_iteration"].as_f64(),
        stack.ns_per_iteration
    );
}

/// Node counts as `rcl_node_init` has them; what is a container by its own service.
#[test]
fn the_stack_of_a_whole_vehicle_is_learnt() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "autoware-carla") else {
        return;
    };
    let facts = learn(
        &bench,
        &trace,
        &["-o", "carla.yaml", "--ns-per-iteration", NS],
    );
    assert_eq!(facts["nodes"], 195);
    let launch = &facts["launch"];
    let share = |part: &str| launch[part].as_f64().unwrap() / launch["total_ns"].as_f64().unwrap();
    // 9.2 of 20.6 s, as computed by hand from the trace (docs/measuring.md §1).
    assert!(
        (launch["total_ns"].as_f64().unwrap() / 1e9 - 20.6).abs() < 0.2,
        "{launch}"
    );
    assert!((share("evaluate_ns") - 9.2 / 20.6).abs() < 0.02, "{launch}");
    assert!((share("spawn_ns") - 3.7 / 20.6).abs() < 0.02, "{launch}");
    let plan = bench.run(["plan", "carla.yaml", "--json"]).expect(0);
    let plan = plan.document("plan");
    assert_eq!(plan["nodes"], 195, "{plan:#}");
    assert_eq!(plan["refusals"].as_array().unwrap().len(), 0, "{plan:#}");
}

#[test]
fn a_topology_of_another_project_becomes_a_stack() {
    let bench = Bench::new();
    let Some(topologies) = data("topologies") else {
        return;
    };
    for (name, nodes, topics, subscriptions) in
        [("sierra_nevada", 10, 13, 17), ("mont_blanc", 20, 23, 35)]
    {
        let file = topologies.join(format!("{name}.json"));
        bench
            .run(["import", "topology", text(&file), "-o", "t.yaml"])
            .expect(0);
        let plan = bench.run(["plan", "t.yaml", "--json"]).expect(0);
        assert_eq!(plan.document("plan")["nodes"], nodes);
        let stack = stowplan_spec::load_stack(&bench.path().join("t.yaml")).unwrap();
        assert_eq!(stack.name.as_str(), name);
        assert_eq!(stack.topics.len(), topics);
        let callbacks = stack.nodes.iter().flat_map(|n| &n.callbacks);
        let taken = callbacks.filter(|c| c.publishes.is_empty()).count();
        assert_eq!(taken, subscriptions);
        assert_eq!(stack.processes.len(), 1);
    }
}

/// The processes, the nodes of each and whether a topic is handed over by pointer are those of the files;
/// what a stack cannot have stands on standard error.
#[test]
fn topologies_that_run_together_are_processes_of_one_stack() {
    let bench = Bench::new();
    let camera = r#"{ "nodes": [
        { "node_name": "camera", "executor_id": 1, "colour": 3,
          "publishers": [ { "topic_name": "image", "msg_type": "stamped100b", "period_ms": 20 } ] },
        { "node_name": "viewer", "executor_id": 2, "number": 3,
          "subscribers": [ { "topic_name": "image", "msg_type": "stamped100b" } ] } ] }"#;
    let recorder = r#"{ "nodes": [ { "node_name": "recorder",
        "subscribers": [ { "topic_name": "image", "msg_type": "stamped100b" } ] } ] }"#;
    bench.write("car.json", camera);
    bench.write("log.json", recorder);
    let ended = bench.run(["import", "topology", "car.json", "log.json", "-o", "t.yaml"]);
    let ended = ended.expect(0);
    assert!(
        ended.out.contains("5 nodes in 2 processes, 1 topics"),
        "{}",
        ended.out
    );
    let told: Vec<&str> = ended.err.lines().collect();
    assert_eq!(
        told,
        [
            "warning: car.json: nodes[0]: unknown field 'colour' is left out",
            "warning: car.json: nodes: 2 executors become one with 2 threads; a process of a stack has one executor, so which node is on which executor_id is left out",
        ]
    );
    let plan = bench
        .run(["plan", "t.yaml", "--json"])
        .expect(0)
        .document("plan");
    assert_eq!((&plan["nodes"], &plan["processes"]), (&5.into(), &2.into()));
    bench
        .run(["import", "designer", "car.json", "log.json"])
        .expect(2);
}

#[test]
fn files_of_other_projects_that_are_wrong_are_refused_with_their_place() {
    let bench = Bench::new();
    bench.write("t.json", "{ \"nodes\": [ { \"node_name\": 1 } ] }");
    let told = bench.run(["import", "topology", "t.json"]).expect(3).err;
    assert!(told.contains("t.json:1:"), "{told}");
    bench.write(
        "S.system.yaml",
        "name: S.system\ncomponents:\n  - name: a\n    entity: A.node\n",
    );
    let told = bench
        .run(["import", "designer", "S.system.yaml"])
        .expect(3)
        .err;
    assert!(
        told.contains("S.system.yaml:4:13: there is no file 'A.node.yaml'"),
        "{told}"
    );
    assert!(told.contains("hint: --design"), "{told}");
    bench.write("A.node.yaml", "name: A.node\npublishers:\n  - name: x\nprocesses:\n  - name: p\n    trigger_conditions:\n      - periodic: 10\n    outcomes:\n      - to_output: x\n");
    let out = bench
        .run(["import", "designer", "S.system.yaml"])
        .expect(0)
        .out;
    assert!(out.contains("p: { timer: 10Hz, publishes: [/a/x]"), "{out}");
    bench
        .run(["import", "topology", "t.json", "--mode", "x"])
        .expect(2);
    bench.run(["trace", "learn", "nowhere"]).expect(3);
    bench
        .run(["trace", "learn", "nowhere", "--ns-per-iteration", "0"])
        .expect(2);
}
