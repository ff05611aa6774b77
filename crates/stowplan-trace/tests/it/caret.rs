//! A Galactic trace with CARET's events, and the path that CARET's architecture file names.

use stowplan_trace::{
    Analysis, Confidence, Hop, LinkMethod, Linking, NodeChain, NodeStep, Reading, Window,
};

fn step(node: &str, subscribe: Option<&str>, publish: Option<&str>) -> NodeStep {
    NodeStep {
        node: node.to_owned(),
        subscribe: subscribe.map(str::to_owned),
        publish: publish.map(str::to_owned),
    }
}

/// As `architecture.yaml` beside the trace has it.
fn target() -> NodeChain {
    NodeChain {
        name: "target".to_owned(),
        nodes: vec![
            step("/sensor_dummy_node", None, Some("/topic1")),
            step("/filter_node", Some("/topic1"), Some("/topic2")),
            step("/message_driven_node", Some("/topic2"), Some("/topic3")),
            step("/timer_driven_node", Some("/topic3"), Some("/topic4")),
            step("/actuator_dummy_node", Some("/topic4"), None),
        ],
    }
}

#[test]
fn links_are_those_of_the_source_timestamps() {
    let Some(folder) = stowplan_testkit::kept_trace("caret-end-to-end") else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).unwrap();
    let takes = &analysis.records.takes;
    // One dispatch_subscription_callback each.
    assert_eq!(takes.len(), 333);
    let mut linked = 0;
    for (_, take) in takes.iter() {
        let Some(link) = take.link else { continue };
        assert_eq!(link.method, LinkMethod::Caret);
        assert_eq!(link.confidence, Confidence::Certain);
        let publication = &analysis.records.publications[link.publication];
        assert_eq!(publication.stamp, take.stamp);
        assert!(publication.time_ns < take.time_ns);
        linked += 1;
    }
    assert!(linked > 200, "{linked}");
}

#[test]
fn the_named_path_is_found_and_its_parts_sum_to_its_latency() {
    let Some(folder) = stowplan_testkit::kept_trace("caret-end-to-end") else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).unwrap();
    let chain = analysis.resolve_nodes(&target()).unwrap();
    // The timer of one node uses what its subscription got.
    assert!(chain.hops.contains(&Hop::Idle));
    let result = analysis.measure(chain, Window::ALWAYS);
    assert!(result.instances.len() > 20, "{}", result.instances.len());
    for instance in &result.instances {
        assert_eq!(instance.parts.total_ns(), instance.e2e_ns);
    }
}

#[test]
fn as_tum_links_go_to_the_latest_publication() {
    let Some(folder) = stowplan_testkit::kept_trace("caret-end-to-end") else {
        return;
    };
    let reading = Reading {
        linking: Linking::Tum,
        ..Reading::default()
    };
    let analysis = Analysis::from_ctf_with(folder.path(), reading).unwrap();
    let chain = analysis.resolve_nodes(&target()).unwrap();
    let result = analysis.measure(chain, Window::ALWAYS);
    assert!(!result.instances.is_empty());
    for (_, take) in analysis.records.takes.iter() {
        if let (Some(link), Some(instance)) = (take.link, take.instance) {
            let sent = analysis.records.publications[link.publication].time_ns;
            let start = analysis.records.instances[instance].start_ns;
            let topic = analysis.graph.subscriptions[take.subscription].topic;
            let between = analysis.records.publications.iter().any(|(_, p)| {
                analysis.graph.publishers[p.publisher].topic == Some(topic)
                    && sent < p.time_ns
                    && p.time_ns < start
            });
            assert!(!between);
        }
    }
}
