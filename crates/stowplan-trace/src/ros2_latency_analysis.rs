//! Links as TUM's `ros2_latency_analysis` makes them, so that figures can be held
//! beside those of betz2023 and betz2024.
//!
//! Its `inst_get_dep_msg` takes the latest message that the topic's publishers had
//! sent before the callback started, whichever message the callback really got.
//! Its parts are then: dds = publication → start of the callback, which includes
//! waiting in the executor; idle = end of a callback → start of the next in the
//! node; cpu = start of the callback → its publication, or its duration.

use crate::graph::{Graph, Owner};
use crate::ids::{Id, PublicationId};
use crate::record::{Confidence, Link, LinkMethod, MaybeNs, Take};
use crate::tracker::Records;

/// Links every callback of a subscription to the latest publication before it.
pub(crate) fn link(graph: &Graph, records: &mut Records) {
    let mut sent: Vec<Vec<(i64, PublicationId)>> = vec![Vec::new(); graph.topics.len()];
    for (id, publication) in records.publications.iter() {
        if let Some(topic) = graph.publishers[publication.publisher].topic {
            sent[topic.index()].push((publication.time_ns, id));
        }
    }
    for list in &mut sent {
        list.sort_unstable();
    }
    for id in records.instances.ids() {
        let instance = &records.instances[id];
        let Owner::Subscription(subscription) = graph.callbacks[instance.callback].owner else {
            continue;
        };
        let list = &sent[graph.subscriptions[subscription].topic.index()];
        let before = list.partition_point(|&(time_ns, _)| time_ns < instance.start_ns);
        let link = before.checked_sub(1).map(|at| Link {
            publication: list[at].1,
            method: LinkMethod::LatestBeforeCallback,
            confidence: Confidence::Guessed,
        });
        let take = instance.take.unwrap_or_else(|| {
            records.takes.push(Take {
                subscription,
                thread: instance.thread,
                time_ns: instance.start_ns,
                stamp: MaybeNs::NONE,
                link: None,
                doubtful: None,
                maybe_discarded: false,
                arrival_ns: MaybeNs::NONE,
                instance: Some(id),
                payload: None,
                inferred: true,
            })
        });
        records.takes[take].link = link;
        records.instances[id].take = Some(take);
    }
}
