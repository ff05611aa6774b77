//! Follows data backwards from every output to its input.
//!
//! Backwards, because each output rests on exactly one input, while an input
//! has any number of outputs: none if it is overwritten, several if a timer
//! uses it more than once.

use rustc_hash::FxHashMap;

use super::spec::{Chain, Hop};
use crate::analysis::Analysis;
use crate::ids::{CallbackId, Id, InstanceId, PublicationId, TopicId};
use crate::record::{Confidence, Publication};

/// The instances of one callback of the chain.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// By start.
    pub instances: Vec<InstanceId>,
    /// For each, how its data came from the level before; `Err` says why it did not.
    pub came: Vec<Result<Came, BreakReason>>,
}

/// How data came to an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    /// Index of the instance in the level before.
    pub from: u32,
    /// The publication that carried it; `None` at an idle hop.
    pub publication: Option<PublicationId>,
    /// How sure.
    pub confidence: Confidence,
    /// Whether the publication may be another one, that was discarded.
    pub doubtful: bool,
}

/// Why the path of an output cannot be followed to an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakReason {
    /// The first callback has nothing before it.
    Begins,
    /// The callback got its message from somewhere else than the chain's callback
    /// before: another publisher of the topic.
    OtherPublisher,
    /// The trace has no take for the callback.
    NoTake,
    /// The message's publication is not in the trace.
    NoPublication,
    /// The message was published outside a callback, or its callback is not in the trace.
    OutsideCallback,
    /// The node had no data yet.
    NoDataYet,
}

impl BreakReason {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Begins => "the chain begins here",
            Self::OtherPublisher => "message of another publisher",
            Self::NoTake => "no take in the trace",
            Self::NoPublication => "no publication in the trace fits the message",
            Self::OutsideCallback => "published outside a callback of the trace",
            Self::NoDataYet => "no data yet",
        }
    }
}

/// All levels of a chain with their connections.
pub(super) fn levels(analysis: &Analysis, chain: &Chain) -> Vec<Level> {
    let mut wanted: FxHashMap<CallbackId, Vec<InstanceId>> = chain
        .callbacks
        .iter()
        .map(|&callback| (callback, Vec::new()))
        .collect();
    for (id, instance) in analysis.records.instances.iter() {
        if let Some(list) = wanted.get_mut(&instance.callback) {
            list.push(id);
        }
    }
    let mut levels: Vec<Level> = Vec::new();
    for (at, callback) in chain.callbacks.iter().enumerate() {
        let instances = wanted[callback].clone();
        let came = match at.checked_sub(1) {
            None => vec![Err(BreakReason::Begins); instances.len()],
            Some(before) => match chain.hops[before] {
                Hop::Topic(topic) => {
                    by_message(analysis, &levels[before].instances, &instances, topic)
                }
                Hop::Idle => by_latest(analysis, &levels[before].instances, &instances),
            },
        };
        levels.push(Level { instances, came });
    }
    levels
}

fn by_message(
    analysis: &Analysis,
    before: &[InstanceId],
    instances: &[InstanceId],
    topic: TopicId,
) -> Vec<Result<Came, BreakReason>> {
    let records = &analysis.records;
    instances
        .iter()
        .map(|&id| {
            let take = records.instances[id].take.ok_or(BreakReason::NoTake)?;
            let take = &records.takes[take];
            debug_assert_eq!(analysis.graph.subscriptions[take.subscription].topic, topic);
            let link = take.link.or(take.doubtful);
            let link = link.ok_or(BreakReason::NoPublication)?;
            let source = records.publications[link.publication]
                .instance
                .ok_or(BreakReason::OutsideCallback)?;
            // Instances have ascending ids in each level.
            let from = before
                .binary_search(&source)
                .map_err(|_| BreakReason::OtherPublisher)?;
            Ok(Came {
                from: from as u32,
                publication: Some(link.publication),
                confidence: link.confidence,
                doubtful: take.link.is_none(),
            })
        })
        .collect()
}

/// At an idle hop an instance uses the data of the latest instance before it
/// that had ended when it started.
fn by_latest(
    analysis: &Analysis,
    before: &[InstanceId],
    instances: &[InstanceId],
) -> Vec<Result<Came, BreakReason>> {
    let records = &analysis.records;
    let mut ended: Vec<(i64, usize)> = before
        .iter()
        .enumerate()
        .filter_map(|(index, &id)| Some((records.instances[id].end_ns.get()?, index)))
        .collect();
    ended.sort_unstable();
    instances
        .iter()
        .map(|&id| {
            let start = records.instances[id].start_ns;
            let count = ended.partition_point(|&(end, _)| end <= start);
            let latest = count.checked_sub(1).ok_or(BreakReason::NoDataYet)?;
            Ok(Came {
                from: ended[latest].1 as u32,
                publication: None,
                confidence: Confidence::Certain,
                doubtful: false,
            })
        })
        .collect()
}

/// The way of one output back to its input: index per level, last level first
/// reversed to the chain's order. `Err` names the level that broke it.
pub(super) fn path(levels: &[Level], last: usize) -> Result<Vec<usize>, (usize, BreakReason)> {
    let mut path = vec![last; levels.len()];
    for at in (1..levels.len()).rev() {
        let came = levels[at].came[path[at]].map_err(|reason| (at, reason))?;
        path[at - 1] = came.from as usize;
    }
    Ok(path)
}

/// Whether a publication on a path may be another one, that was discarded.
pub(super) fn is_doubtful(levels: &[Level], path: &[usize]) -> bool {
    let mut came = levels.iter().zip(path).skip(1).map(|(l, &at)| l.came[at]);
    came.any(|came| came.is_ok_and(|came| came.doubtful))
}

/// For each input, the furthest level that its data reached and the instance there.
pub(super) fn reach(levels: &[Level]) -> Vec<(usize, InstanceId)> {
    let mut ahead: Vec<(usize, InstanceId)> = Vec::new();
    for at in (0..levels.len()).rev() {
        let level = &levels[at];
        let mut here: Vec<(usize, InstanceId)> =
            level.instances.iter().map(|&id| (at, id)).collect();
        if let Some(next) = levels.get(at + 1) {
            for (index, came) in next.came.iter().enumerate() {
                if let Ok(came) = came
                    && ahead[index].0 > here[came.from as usize].0
                {
                    here[came.from as usize] = ahead[index];
                }
            }
        }
        ahead = here;
    }
    ahead
}

/// The publications of an instance in order.
pub(crate) fn publications_of(
    analysis: &Analysis,
    instance: InstanceId,
) -> impl Iterator<Item = (PublicationId, &Publication)> {
    let records = &analysis.records;
    let first = records.instances[instance].first_publication;
    std::iter::successors(first, |&id| records.publications[id].next)
        .map(|id| (id, &records.publications[id]))
}

/// Whether callbacks publish on topics, for all of them at once.
pub(crate) fn publishes(analysis: &Analysis) -> impl Fn(CallbackId, TopicId) -> bool + use<> {
    let mut pairs = rustc_hash::FxHashSet::default();
    for (_, publication) in analysis.records.publications.iter() {
        let topic = analysis.graph.publishers[publication.publisher].topic;
        if let (Some(instance), Some(topic)) = (publication.instance, topic) {
            let callback = analysis.records.instances[instance].callback;
            pairs.insert((callback.index(), topic.index()));
        }
    }
    move |callback, topic| pairs.contains(&(callback.index(), topic.index()))
}
