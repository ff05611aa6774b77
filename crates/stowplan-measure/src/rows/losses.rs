//! One row per edge and cause of loss.

use stowplan_plan::EdgeClass;
use stowplan_results::{Label, LossCause, LossRow};
use stowplan_trace::{Analysis, EdgeLosses, Transport, Window};

use super::RunKey;

/// The rows of all edges that lost messages in `window`; edges without a loss have one row with zero, so that
/// what was published is known. `apart` says whether two nodes, by name, are in different network namespaces.
#[must_use]
pub fn loss_rows(
    key: &RunKey,
    analysis: &Analysis,
    window: Window,
    apart: &dyn Fn(&str, &str) -> bool,
) -> Vec<LossRow> {
    let losses = analysis.losses(window);
    losses
        .edges
        .iter()
        .flat_map(|edge| of_edge(key, analysis, edge, apart))
        .collect()
}

fn of_edge(
    key: &RunKey,
    analysis: &Analysis,
    edge: &EdgeLosses,
    apart: &dyn Fn(&str, &str) -> bool,
) -> Vec<LossRow> {
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
    let namespaces = |from: &Label| apart(from, &subscriber);
    let edge_class = class(edge.way, publisher.as_ref().is_some_and(namespaces));
    let row = |cause, lost: Option<u64>, reason: Option<&str>| LossRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        topic: topic.clone(),
        publisher: publisher.clone(),
        subscriber: subscriber.clone(),
        edge_class: edge_class.map(Into::into),
        cause,
        published: Some(edge.published),
        lost,
        reason: reason.map(Into::into),
    };
    let mut rows = vec![
        overwritten(edge, &row),
        row(
            LossCause::SampleLost,
            edge.sample_lost,
            edge.sample_lost.is_none().then_some(WHOSE),
        ),
    ];
    rows.extend(never_arrived(edge, &row));
    if edge.not_matched > 0 {
        rows.push(row(LossCause::NotMatched, Some(edge.not_matched), None));
    }
    rows
}

/// The class of an edge, as plans have them.
fn class(way: Option<Transport>, apart: bool) -> Option<&'static str> {
    let class = match way? {
        Transport::Pointer => EdgeClass::IntraProcess,
        Transport::SameProcess => EdgeClass::SameProcess,
        Transport::OtherProcess if apart => EdgeClass::OtherNamespace,
        Transport::OtherProcess => EdgeClass::Loopback,
    };
    Some(class.name())
}

const NO_ARRIVALS: &str = "the trace records no arrivals";
const WHOSE: &str = "DDS reports lost samples, and several publishers reach the subscription";
const NOT_COUNTED: &str =
    "the process did not say before and after the window what its sockets dropped";
const NOTHING_DROPPED: &str = "never in the reader's cache; its process's sockets dropped nothing: lost in \
     reassembly, replaced in the writer's history, or never sent";
const PERHAPS_DROPPED: &str = "never in the reader's cache; lost in a socket buffer, in reassembly, in the writer's history, or never sent";

fn overwritten(
    edge: &EdgeLosses,
    row: &impl Fn(LossCause, Option<u64>, Option<&str>) -> LossRow,
) -> LossRow {
    let reason = match (edge.overwritten, edge.missing) {
        (Some(_), _) => None,
        (None, None) => Some(NO_ARRIVALS),
        (None, Some(_)) => Some(WHOSE),
    };
    row(LossCause::Overwritten, edge.overwritten, reason)
}

/// The rows of what never reached the reader's cache.
fn never_arrived(
    edge: &EdgeLosses,
    row: &impl Fn(LossCause, Option<u64>, Option<&str>) -> LossRow,
) -> [LossRow; 2] {
    let socket = |lost, reason: Option<&str>| row(LossCause::SocketBuffer, lost, reason);
    let rest = |lost, reason| row(LossCause::NotToldApart, lost, reason);
    match (edge.missing, edge.datagrams_dropped) {
        (None, _) => [
            socket(None, Some(NO_ARRIVALS)),
            rest(None, Some(NO_ARRIVALS)),
        ],
        (Some(0), _) => [socket(Some(0), None), rest(Some(0), None)],
        (Some(missing), Some(0)) => [
            socket(Some(0), None),
            rest(Some(missing), Some(NOTHING_DROPPED)),
        ],
        (Some(missing), Some(dropped)) => {
            let reason = format!(
                "the sockets of its process dropped {dropped} datagrams; which messages they were of is not known"
            );
            [
                socket(None, Some(&reason)),
                rest(Some(missing), Some(PERHAPS_DROPPED)),
            ]
        }
        (Some(missing), None) => [
            socket(None, Some(NOT_COUNTED)),
            rest(Some(missing), Some(PERHAPS_DROPPED)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use stowplan_trace::{Id, PublisherId, SubscriptionId};

    use super::*;

    fn rows(missing: Option<u64>, dropped: Option<u64>) -> Vec<(LossCause, Option<u64>, bool)> {
        let edge = EdgeLosses {
            publisher: PublisherId::new(0),
            subscription: SubscriptionId::new(0),
            way: None,
            published: 10,
            taken: 5,
            not_matched: 0,
            undecided: 0,
            not_taken: 5,
            overwritten: missing.map(|missing| 5 - missing),
            sample_lost: Some(0),
            missing,
            datagrams_dropped: dropped,
        };
        let told = |cause, lost, reason: Option<&str>| LossRow {
            run: 1,
            block: 1,
            deployment: "d".into(),
            topic: "/t".into(),
            publisher: None,
            subscriber: "s".into(),
            edge_class: None,
            cause,
            published: Some(10),
            lost,
            reason: reason.map(Into::into),
        };
        let rows = never_arrived(&edge, &told).into_iter();
        rows.chain([overwritten(&edge, &told)])
            .map(|row| (row.cause, row.lost, row.reason.is_some()))
            .collect()
    }

    #[test]
    fn a_class_is_what_the_trace_and_the_networks_say() {
        assert_eq!(class(None, true), None);
        assert_eq!(
            class(Some(Transport::Pointer), false),
            Some("intra_process")
        );
        assert_eq!(
            class(Some(Transport::SameProcess), false),
            Some("same_process")
        );
        assert_eq!(
            class(Some(Transport::OtherProcess), false),
            Some("loopback")
        );
        assert_eq!(
            class(Some(Transport::OtherProcess), true),
            Some("other_namespace")
        );
    }

    #[test]
    fn a_cause_is_given_only_where_there_is_evidence() {
        use LossCause::{NotToldApart, Overwritten, SocketBuffer};
        let of = |socket, rest, overwritten| {
            vec![
                (SocketBuffer, socket, false),
                (NotToldApart, rest, false),
                (Overwritten, overwritten, false),
            ]
        };
        let known = |rows: Vec<(LossCause, Option<u64>, bool)>| -> Vec<_> {
            // Where a figure is missing there is a reason.
            assert!(rows.iter().all(|row| row.1.is_some() || row.2));
            rows.into_iter().map(|row| (row.0, row.1, false)).collect()
        };
        assert_eq!(known(rows(Some(0), Some(9))), of(Some(0), Some(0), Some(5)));
        assert_eq!(known(rows(Some(2), Some(0))), of(Some(0), Some(2), Some(3)));
        assert_eq!(known(rows(Some(2), Some(9))), of(None, Some(2), Some(3)));
        assert_eq!(known(rows(Some(2), None)), of(None, Some(2), Some(3)));
        assert_eq!(known(rows(None, Some(0))), of(None, None, None));
    }
}
