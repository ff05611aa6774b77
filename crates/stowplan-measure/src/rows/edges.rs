//! One row per edge: how long its messages took.

use std::collections::BTreeMap;

use stowplan_results::{EdgeRow, Label};
use stowplan_trace::{Analysis, Distribution, NodeId, PublisherId, SubscriptionId, Window};

use super::RunKey;

/// The rows of all edges on which a callback got messages that were published in `window`.
#[must_use]
pub fn edge_rows(key: &RunKey, analysis: &Analysis, window: Window) -> Vec<EdgeRow> {
    let records = &analysis.records;
    let mut taken: BTreeMap<(PublisherId, SubscriptionId), Vec<i64>> = BTreeMap::new();
    for (_, take) in records.takes.iter() {
        let (Some(link), Some(instance)) = (take.link, take.instance) else {
            continue;
        };
        let publication = &records.publications[link.publication];
        if window.contains(publication.time_ns) {
            let edge = taken
                .entry((publication.publisher, take.subscription))
                .or_default();
            edge.push(records.instances[instance].start_ns - publication.time_ns);
        }
    }
    let rows = taken.into_iter();
    rows.filter_map(|(edge, latencies)| row(key, analysis, edge, latencies))
        .collect()
}

fn row(
    key: &RunKey,
    analysis: &Analysis,
    (publisher, subscription): (PublisherId, SubscriptionId),
    latencies: Vec<i64>,
) -> Option<EdgeRow> {
    let graph = &analysis.graph;
    let name = |id: NodeId| -> Label {
        let name = graph.nodes[id].full_name();
        name.trim_start_matches('/').into()
    };
    let (from, to) = (
        &graph.publishers[publisher],
        &graph.subscriptions[subscription],
    );
    let host = |process| graph.processes[process].key.host.as_str();
    let (sender, receiver) = (host(from.process), host(to.process));
    let mut clocks = analysis.clocks.iter();
    let disagree = clocks.any(|clocks| clocks.is_between(sender, receiver));
    let all = Distribution::of(latencies)?;
    let of = (!disagree).then_some(&all);
    Some(EdgeRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        topic: graph.topics[to.topic].as_str().into(),
        publisher: from.node.map(name),
        subscriber: name(to.node),
        taken: all.count,
        latency_mean_ns: of.map(|of| of.mean_ns),
        latency_median_ns: of.map(|of| of.median_ns),
        latency_p99_ns: of.and_then(|of| of.p99_ns.ok()),
        latency_max_ns: of.map(|of| of.max_ns),
    })
}

#[cfg(test)]
mod tests {
    use stowplan_trace::{Overview, Reading};

    use super::*;

    /// Source: the overview of the same recorded trace, which counts edges by callbacks and on its own.
    #[test]
    fn latencies_are_those_of_the_overview() {
        let Some(folder) = stowplan_testkit::kept_trace("humble-chain_perpid") else {
            return;
        };
        let overview = Overview::from_ctf(folder.path(), Reading::default()).unwrap();
        let analysis = Analysis::from_ctf(folder.path()).unwrap();
        let key = RunKey {
            run: 1,
            block: 1,
            deployment: "d".into(),
        };
        let rows = edge_rows(&key, &analysis, Window::ALWAYS);
        for topic in ["/c0", "/c1", "/c2", "/c3"] {
            let of_topic = |id| overview.graph.topics[id] == topic;
            let mut edges = overview.edge_summaries().into_iter();
            let edge = edges.find(|e| e.topic.is_some_and(of_topic)).unwrap();
            let latency = edge.latency.unwrap();
            let row = rows.iter().find(|row| &*row.topic == topic).unwrap();
            assert_eq!(row.taken, edge.messages, "{topic}");
            let mean_ns = row.latency_mean_ns.unwrap();
            assert!((mean_ns - latency.mean_ns).abs() < 1.0, "{topic}");
            assert_eq!(row.latency_max_ns, Some(latency.max_ns), "{topic}");
            assert!(row.publisher.as_deref().unwrap().starts_with("stage"));
        }
    }
}
