//! Edges, callbacks and starts of services: what goes in by hand comes out in the page's data.

use serde_json::Value;
use stowplan_judge::{Judgement, TravelledEdge};
use stowplan_results::Results;

use crate::common;

const SIZE: common::Size = common::Size {
    blocks: 3,
    instances: 60,
    samples: 8,
};

fn judged() -> Judgement {
    let folder = common::folder();
    let dir = common::write_detailed(folder.path(), SIZE);
    Judgement::read(&Results::open(dir).unwrap()).unwrap()
}

/// The data that the page draws.
fn data(judged: &Judgement) -> Value {
    let page = stowplan_report::html(judged).unwrap();
    let begin = "<script type=\"application/json\" id=\"data\">";
    let from = page.find(begin).unwrap() + begin.len();
    let to = from + page[from..].find("</script>").unwrap();
    serde_json::from_str(&page[from..to]).unwrap()
}

#[test]
fn an_edge_has_its_rate_its_losses_and_its_latency() {
    let judged = judged();
    let of = |id: &str| {
        let mut all = judged.figures.edges.iter();
        all.find(|edges| edges.deployment == id).unwrap()
    };
    let single = of("bare:flat/single");
    let find = |topic: &str| -> &TravelledEdge {
        let edge = |e: &&TravelledEdge| e.topic == topic && e.from.is_some();
        single.edges.iter().find(edge).unwrap()
    };
    // Ten messages a second for a minute in three runs; one second's of them was lost in each.
    let points = find("/points_filtered");
    assert_eq!((points.published, points.lost), (1_800, 30));
    assert_eq!(points.hz(), Some(10.0));
    assert_eq!(points.lost_share(), Some(30.0 / 1_800.0));
    assert_eq!(points.class.as_deref(), Some("intra_process"));
    let mean = points.mean_ns.unwrap();
    assert!((mean / 2e5 - 1.0).abs() < 0.06, "{mean}");
    assert!(points.p99_ns.unwrap() > mean);
    assert_eq!(find("/map").p99_ns, None, "too few messages");
    let split = of("bare:flat/betz-8");
    let crossing = split.edges.iter().find(|e| e.topic == "/objects").unwrap();
    assert_eq!(crossing.class.as_deref(), Some("loopback"));
}

#[test]
fn the_means_of_the_page_are_those_that_are_compared() {
    let judged = judged();
    let page = data(&judged);
    let compared = judged.comparisons.iter();
    let mut compared = compared.filter(|c| c.metric == "e2e_paper_mean");
    let compared = compared
        .find(|c| c.candidate == "bare:grouped/betz-8" && c.reference == "bare:flat/single")
        .unwrap();
    let deployments = page["chains"][0]["deployments"].as_array().unwrap();
    let mean = |id: &str| {
        let mut all = deployments.iter();
        let found = all.find(|d| d["deployment"] == id).unwrap();
        found["parts"]["e2e_paper"]["block_mean"].as_f64().unwrap()
    };
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(close(
        mean("bare:grouped/betz-8"),
        compared.candidate_value.unwrap()
    ));
    assert!(close(
        mean("bare:flat/single"),
        compared.reference_value.unwrap()
    ));
}

#[test]
fn a_picture_shows_every_node_and_the_chain() {
    let page = data(&judged());
    let partitions = page["partitions"].as_array().unwrap();
    let names: Vec<&str> = partitions
        .iter()
        .map(|p| p["partition"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["single", "betz-8"]);
    let split = &partitions[1];
    let svg = split["pictures"][0]["svg"].as_str().unwrap();
    assert!(svg.contains(">api_server<"), "a node without edges");
    assert!(svg.contains("graph-arrow graph-loopback graph-chain"));
    assert!(svg.contains("sensing_filter → perception_detector\n/points_filtered: 10.0 Hz"));
    let edges = split["edges"].as_array().unwrap();
    let pose = edges.iter().find(|e| e["topic"] == "/pose").unwrap();
    assert_eq!(pose["from_service"], "localization");
    assert_eq!(pose["to_service"], "planning");
    assert_eq!(pose["chain"], false);
}

#[test]
fn what_chains_have_comes_first() {
    let page = data(&judged());
    let names = |list: &str, key: &str| -> Vec<String> {
        let all = page[list].as_array().unwrap().iter();
        all.map(|one| one[key].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("callbacks", "callback"),
        [
            "sensing_filter/on_points",
            "perception_detector/on_filtered",
            "planning_planner/on_objects",
            "control_controller/on_trajectory",
        ]
    );
    let edges = names("edges", "topic");
    assert_eq!(edges[..3], ["/points_filtered", "/objects", "/trajectory"]);
    let wall = &page["callbacks"][0]["by"]["bare:flat/single"];
    let (wall_ns, cpu_ns) = (wall["wall_ns"].as_f64(), wall["cpu_ns"].as_f64());
    assert!((cpu_ns.unwrap() / wall_ns.unwrap() - 0.8).abs() < 1e-4);
}

#[test]
fn a_service_comes_up_in_the_order_of_its_partition() {
    let page = data(&judged());
    let startup = page["startup"].as_array().unwrap();
    let split = startup
        .iter()
        .find(|s| s["deployment"] == "bare:flat/betz-8" && s["start"] == "cold")
        .unwrap();
    let services = split["services"].as_array().unwrap();
    assert_eq!(services.len(), 8);
    assert_eq!(services[0]["service"], "api");
    for of in services {
        let ns = |key: &str| of[key].as_i64().unwrap();
        assert!(ns("first_instruction") < ns("launch_ready"), "{of}");
        assert!(ns("last_loaded") < ns("matched"), "{of}");
    }
    assert_eq!(services[0]["scheduled"], Value::Null);
    assert_eq!(split["orchestrated"], false);
    // A service whose nodes no trace has begins to load nothing that is known.
    let vehicle = services.iter().find(|s| s["service"] == "vehicle").unwrap();
    assert_eq!(vehicle["first_load"], Value::Null);
}

#[test]
fn the_steps_of_an_orchestrator_come_before_the_first_instruction() {
    let page = data(&judged());
    let startup = page["startup"].as_array().unwrap();
    let split = startup.iter().find(|s| s["deployment"] == "oci/betz-8");
    let split = split.unwrap();
    assert_eq!(split["orchestrated"], true);
    for of in split["services"].as_array().unwrap() {
        let steps = [
            "scheduled",
            "sandbox",
            "container_created",
            "first_instruction",
            "launch_ready",
        ];
        let ns = steps.map(|key| of[key].as_i64().unwrap());
        assert!(ns.is_sorted() && ns[0] > 0, "{of}");
    }
}
