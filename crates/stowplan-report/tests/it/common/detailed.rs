//! Nodes, edges, callbacks and the start of every service, for what the page draws of them.

use serde_json::{Value, json};
use stowplan_results::{
    CallbackRow, EdgeRow, LossCause, LossRow, RunData, StartKind, StartupRow, SubjectKind,
};

use super::{CHAIN, Key, SERVICES, ns};

/// What goes from which node to which: topic, publisher, subscriber, messages per second.
const EDGES: [(&str, &str, &str, u64); 6] = [
    ("/points_raw", "sensing_driver", "sensing_filter", 10),
    (
        "/points_filtered",
        "sensing_filter",
        "perception_detector",
        10,
    ),
    ("/objects", "perception_detector", "planning_planner", 10),
    ("/trajectory", "planning_planner", "control_controller", 20),
    ("/pose", "localization_estimator", "planning_planner", 50),
    ("/map", "map_loader", "localization_estimator", 1),
];

const CALLBACKS: [&str; 4] = [
    "sensing_filter/on_points",
    "perception_detector/on_filtered",
    "planning_planner/on_objects",
    "control_controller/on_trajectory",
];

/// A node that no edge has.
const ALONE: &str = "api_server";

fn nodes() -> Vec<&'static str> {
    let ends = EDGES.iter().flat_map(|(_, from, to, _)| [*from, *to]);
    let mut nodes: Vec<&str> = ends.chain([ALONE]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The deployment of which an orchestrator tells the steps.
const ORCHESTRATED: &str = "oci/betz-8";

fn service(partition: &str, node: &str) -> String {
    let module = node.split('_').next().unwrap();
    if partition == "single" { "all" } else { module }.to_owned()
}

/// Adds nodes and the callbacks of the chain to what was asked for.
pub fn describe(experiment: &mut Value) {
    experiment["stack"]["chain_callbacks"] = json!({CHAIN: CALLBACKS});
    for partition in experiment["partitions"].as_array_mut().unwrap() {
        let name = partition["name"].as_str().unwrap().to_owned();
        let all = nodes().into_iter();
        let all = all.map(|node| (node.to_owned(), json!(service(&name, node))));
        partition["nodes"] = Value::Object(all.collect());
    }
}

/// Adds the rows of one run.
pub fn add(data: &mut RunData, key: &Key, partition: &str, factor: f64) {
    data.losses.extend(edges(key, partition));
    data.edges.extend(latencies(key, factor));
    data.callbacks.extend(callbacks(key, factor));
    data.startup.extend(starts(key, partition, factor));
}

fn edges(key: &Key, partition: &str) -> Vec<LossRow> {
    let rows = EDGES.iter().flat_map(|(topic, from, to, hz)| {
        let together = service(partition, from) == service(partition, to);
        let class = if together {
            "intra_process"
        } else {
            "loopback"
        };
        [LossCause::Overwritten, LossCause::SampleLost].map(|cause| LossRow {
            run: key.0,
            block: key.1,
            deployment: key.2.clone(),
            topic: (*topic).into(),
            publisher: Some((*from).into()),
            subscriber: (*to).into(),
            edge_class: Some(class.into()),
            cause,
            published: Some(hz * 60),
            lost: Some(if cause == LossCause::Overwritten {
                *hz
            } else {
                0
            }),
            reason: None,
        })
    });
    rows.collect()
}

fn latencies(key: &Key, factor: f64) -> Vec<EdgeRow> {
    let rows = EDGES.iter().map(|(topic, from, to, hz)| EdgeRow {
        run: key.0,
        block: key.1,
        deployment: key.2.clone(),
        topic: (*topic).into(),
        publisher: Some((*from).into()),
        subscriber: (*to).into(),
        taken: hz * 59,
        latency_mean_ns: Some(2e5 * factor),
        latency_median_ns: Some(1.9e5 * factor),
        latency_p99_ns: (*hz > 1).then_some(9e5 * factor),
        latency_max_ns: Some(1_000_000),
    });
    rows.collect()
}

fn callbacks(key: &Key, factor: f64) -> Vec<CallbackRow> {
    let rows = CALLBACKS.iter().zip(1_u32..).map(|(name, i)| {
        let (node, callback) = name.split_once('/').unwrap();
        let wall = f64::from(i) * 4e6 * factor;
        CallbackRow {
            node: Some(node.into()),
            calls: 600,
            wall_mean_ns: wall,
            wall_median_ns: wall,
            cpu_mean_ns: Some(wall * 0.8),
            cpu_median_ns: Some(wall * 0.8),
            preempted_mean_ns: Some(wall * 0.1),
            ..CallbackRow::new(key.clone(), callback.into())
        }
    });
    rows.collect()
}

/// Services come up one after the other, and their nodes with them.
fn starts(key: &Key, partition: &str, factor: f64) -> Vec<StartupRow> {
    let row = |kind, subject: &str, begin: f64, end: f64| StartupRow {
        run: key.0,
        block: key.1,
        deployment: key.2.clone(),
        host: None,
        start: StartKind::Cold,
        subject_kind: kind,
        subject: subject.into(),
        begin_ns: Some(ns(begin)),
        end_ns: Some(ns(end)),
        create_done_ns: None,
        scheduled_ns: None,
        sandbox_ns: None,
        container_created_ns: None,
        container_started_ns: None,
        first_instruction_ns: None,
        launch_ready_ns: None,
        first_node_loaded_ns: None,
        last_node_loaded_ns: None,
        matched_ns: None,
        first_output_ns: None,
        reason: None,
    };
    let split = partition != "single";
    let services: &[&str] = if split { &SERVICES } else { &["all"] };
    let mut rows = Vec::new();
    for (i, name) in services.iter().enumerate() {
        let up = 0.13 + 0.05 * i as f64;
        let (ready, loaded) = (up + 1.6 * factor, up + 6.0 * factor);
        let mut service = row(SubjectKind::Service, name, up, loaded);
        service.first_instruction_ns = Some(ns(up));
        service.launch_ready_ns = Some(ns(ready));
        service.last_node_loaded_ns = Some(ns(loaded));
        service.matched_ns = Some(ns(loaded + 0.3));
        if &*key.2 == ORCHESTRATED {
            service.scheduled_ns = Some(ns(up * 0.1));
            service.sandbox_ns = Some(ns(up * 0.5));
            service.container_created_ns = Some(ns(up * 0.8));
        }
        rows.push(service);
    }
    for node in nodes() {
        rows.push(row(SubjectKind::Node, node, 2.0 * factor, 5.0 * factor));
    }
    rows
}
