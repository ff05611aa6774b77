//! Pictures of a node graph made by hand.

use std::collections::BTreeSet;

use stowplan_report::{Form, GraphEdge, GraphNode, Limits, NodeGraph, View};

/// driver → filter → planner ⇄ monitor in two processes, and a node that says nothing.
fn graph() -> NodeGraph {
    let node = |name: &str, process, module: &str| GraphNode {
        name: name.to_owned(),
        process,
        module: module.to_owned(),
    };
    let way = |from, to, topic: &str, messages, latency_ns: Option<f64>| GraphEdge {
        from,
        to,
        topic: topic.to_owned(),
        messages,
        hz: Some(messages as f64 / 100.0),
        latency_ns,
        class: None,
        chain: false,
    };
    NodeGraph {
        processes: vec!["sensors 10".into(), "planning 20".into()],
        nodes: vec![
            node("/sensing/driver", 0, "/sensing"),
            node("/sensing/filter", 0, "/sensing"),
            node("/planning/planner", 1, "/planning"),
            node("/planning/monitor<1>", 1, "/planning"),
            node("/planning/silent", 1, "/planning"),
        ],
        ways: vec![
            way(0, 1, "/raw", 1000, Some(250_000.0)),
            way(1, 2, "/points", 990, Some(1_250_000.0)),
            way(1, 2, "/state", 10, None),
            way(2, 3, "/path", 100, Some(90_000.0)),
            way(3, 2, "/alive", 2, Some(4_000_000.0)),
        ],
    }
}

#[test]
fn dot_has_every_node_and_an_arrow_per_topic() {
    insta::assert_snapshot!(graph().dot());
}

#[test]
fn few_nodes_are_drawn_by_process() {
    let graph = graph();
    let view = graph.readable(Limits::default());
    assert_eq!(view, View::Nodes);
    insta::assert_snapshot!(graph.svg(&view, Form::File));
}

/// Texts of an SVG, in order.
fn texts(svg: &str) -> Vec<&str> {
    let parts = svg
        .split("</text>")
        .filter_map(|part| part.split("<text").nth(1));
    parts
        .filter_map(|part| Some(part.split_once('>')?.1))
        .collect()
}

#[test]
fn many_nodes_are_drawn_by_module() {
    let graph = graph();
    let limits = Limits {
        nodes: 3,
        arrows: 60,
    };
    let view = graph.readable(limits);
    assert_eq!(view, View::Modules);
    assert_eq!(
        texts(&graph.svg(&view, Form::Page)),
        [
            "2 topics",
            "10.0 Hz, 1.25 ms",
            "/planning",
            "3 nodes, 2 links inside",
            "/sensing",
            "2 nodes, 1 link inside",
        ]
    );
}

#[test]
fn a_module_is_drawn_with_its_neighbours() {
    let svg = graph().svg(&View::Module("/planning".into()), Form::Page);
    let found: BTreeSet<&str> = texts(&svg).into_iter().collect();
    for text in [
        "planner",
        "monitor&lt;1&gt;",
        "/sensing",
        "2 messages, 4.00 ms",
    ] {
        assert!(found.contains(text), "{text} in {found:?}");
    }
    assert!(found.contains("1 node without messages on these topics not drawn"));
    assert!(!found.contains("/raw"));
}

#[test]
fn only_the_nodes_that_were_asked_for_are_drawn() {
    let names = ["/sensing/driver", "/sensing/filter"].map(String::from);
    let svg = graph().svg(&View::Only(names.into()), Form::Page);
    assert_eq!(
        texts(&svg),
        [
            "sensors 10",
            "/raw",
            "10.0 Hz, 250 µs",
            "/sensing/driver",
            "/sensing/filter"
        ]
    );
}
