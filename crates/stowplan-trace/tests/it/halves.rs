//! Two halves of one recording are of one system: what differs between them means nothing.

use stowplan_stats::compare_spread;
use stowplan_trace::{Overview, Reading};

/// Compares the first with the second half of the blocks of every callback and edge: how many could be compared, and
/// which differ.
fn halves(name: &str) -> Option<(usize, Vec<String>)> {
    let folder = stowplan_testkit::kept_trace(name)?;
    let (overview, blocks) =
        Overview::from_ctf_with_blocks(folder.path(), Reading::default()).expect("a trace");
    let mut figures = Vec::new();
    for summary in overview.callback_summaries() {
        let of = blocks.callback(summary.callback).expect("it was called");
        let name = overview.graph.describe(summary.callback);
        figures.push((format!("duration of {name}"), of.durations_ns.clone()));
        figures.push((format!("rate of {name}"), of.rates_per_s.clone()));
    }
    for edge in overview.edge_summaries() {
        let of = blocks.edge(edge.from, edge.to).unwrap_or_default();
        let [from, to] = [edge.from, edge.to].map(|id| overview.graph.describe(id));
        figures.push((format!("{from} → {to}"), of.to_vec()));
    }
    figures.retain(|(_, blocks)| blocks.len() >= 12);
    let comparisons = figures.len();
    let differ = figures.into_iter().filter_map(|(name, blocks)| {
        let (a, b) = blocks.split_at(blocks.len() / 2);
        let compared = compare_spread(a, b, comparisons).expect("six blocks or more");
        compared.differs().then(|| format!("{name}: {compared:?}"))
    });
    Some((comparisons, differ.collect()))
}

#[test]
fn halves_of_a_recording_do_not_differ() {
    for (name, least) in [
        ("humble-chain_perpid", 8),
        ("humble-ab_ctr_r1", 100),
        ("tracecompass-ros2", 2),
        ("autoware-carla", 100),
    ] {
        let Some((comparisons, differ)) = halves(name) else {
            return;
        };
        println!("{name}: {comparisons} comparisons");
        assert!(comparisons >= least, "{name}: {comparisons} comparisons");
        assert_eq!(differ, [""; 0], "{name}");
    }
}
