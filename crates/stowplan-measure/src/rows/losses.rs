//! One row per edge and cause of loss.

use stowplan_results::{Label, LossCause, LossRow};
use stowplan_trace::{Analysis, EdgeLosses, Window};

use super::RunKey;

/// The rows of all edges that lost messages in `window`; edges without a loss have one row with zero, so that
/// what was published is known.
#[must_use]
pub fn loss_rows(key: &RunKey, analysis: &Analysis, window: Window) -> Vec<LossRow> {
    let losses = analysis.losses(window);
    losses
        .edges
        .iter()
        .flat_map(|edge| of_edge(key, analysis, edge))
        .collect()
}

fn of_edge(key: &RunKey, analysis: &Analysis, edge: &EdgeLosses) -> Vec<LossRow> {
    let graph = &analysis.graph;
    let node = |id| {
        graph.nodes[id]
            .full_name()
            .trim_start_matches('/')
            .to_owned()
    };
    let subscription = &graph.subscriptions[edge.subscription];
    let topic: Label = graph.topics[subscription.topic].as_str().into();
    let publisher: Option<Label> = graph.publishers[edge.publisher]
        .node
        .map(|id| node(id).into());
    let subscriber: Label = node(subscription.node).into();
    let row = |cause, lost: Option<u64>, reason: Option<&str>| LossRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        topic: topic.clone(),
        publisher: publisher.clone(),
        subscriber: subscriber.clone(),
        edge_class: None,
        cause,
        published: Some(edge.published),
        lost,
        reason: reason.map(Into::into),
    };
    let no_arrivals = "the trace records no arrivals";
    let not_told_apart =
        "never in the reader's cache; socket buffer, reassembly and loss in DDS are not told apart";
    let mut rows = vec![
        row(
            LossCause::Overwritten,
            edge.overwritten,
            edge.overwritten.is_none().then_some(no_arrivals),
        ),
        row(
            LossCause::SampleLost,
            edge.missing,
            Some(if edge.missing.is_none() {
                no_arrivals
            } else {
                not_told_apart
            }),
        ),
    ];
    if edge.not_matched > 0 {
        rows.push(row(LossCause::NotMatched, Some(edge.not_matched), None));
    }
    rows
}
