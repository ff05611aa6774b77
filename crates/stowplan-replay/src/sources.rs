//! Which sources of a stack replay what of a bag.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stowplan_model::{Callback, Distribution, Node, Stack, Trigger};
use stowplan_plan::nearest;

use crate::bag::{Bag, RecordedMessage};
use crate::error::ReplayError;

/// What of a bag a stack replays: kept with a request, so that a resumed one replays the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// The bag: a file or a folder.
    pub bag: PathBuf,
    /// Its digest, see [`Bag::sha256`].
    pub sha256: String,
    /// From the first message that is replayed to the last, ns.
    pub length_ns: u64,
    /// What each source replays, in the order of the stack.
    pub sources: Vec<ReplayedSource>,
}

/// What a source replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayedSource {
    /// Topic in the bag.
    pub bag_topic: String,
    /// Node of the source.
    pub node: String,
    /// The source: a callback that a timer starts and that uses nobody's data.
    pub callback: String,
    /// Topic of the stack whose messages have the recorded sizes; `None` where the source publishes nothing.
    pub topic: Option<String>,
    /// Number of messages.
    pub messages: u64,
    /// Mean time between them, ns.
    pub period_ns: u64,
    /// Mean size, bytes.
    pub mean_bytes: f64,
    /// Largest size, bytes.
    pub largest_bytes: u64,
}

/// A source and what it publishes of what is replayed.
struct Source<'a> {
    node: &'a Node,
    callback: &'a Callback,
    topic: Option<&'a str>,
}

impl Source<'_> {
    fn name(&self) -> String {
        format!("{}/{}", self.node.name, self.callback.name)
    }
}

impl Replayed {
    /// Finds what a stack replays of a bag: what `topics` maps, and topics of the same name.
    ///
    /// # Errors
    /// When a name is not known, a topic has several sources or none, or nothing of the bag is a source's.
    pub fn find(
        bag: &Bag,
        stack: &Stack,
        topics: &BTreeMap<String, String>,
    ) -> Result<Self, ReplayError> {
        let path = &bag.path;
        let mut found: Vec<(&String, Source<'_>)> = Vec::new();
        for (topic, target) in topics {
            if !bag.topics.contains_key(topic) {
                let known = bag.topics.keys().map(String::as_str);
                let hint = nearest::hint(topic, known);
                let error = ReplayError::new(path, format!("it has no topic '{topic}'"));
                return Err(ReplayError { hint, ..error });
            }
            found.push((topic, target_of(path, stack, target)?));
        }
        for topic in bag
            .topics
            .keys()
            .filter(|topic| !topics.contains_key(*topic))
        {
            let taken = |source: &Source<'_>| found.iter().any(|(_, s)| s.name() == source.name());
            let mut sources = of_topic(stack, topic);
            sources.retain(|source| !taken(source));
            match sources.len() {
                0 => {}
                1 => found.extend(sources.pop().map(|source| (topic, source))),
                _ => return Err(several(path, topic, &sources)),
            }
        }
        if found.is_empty() {
            return Err(nothing(bag, stack));
        }
        for (at, (topic, source)) in found.iter().enumerate() {
            let name = source.name();
            let images = source.topic.and_then(|of| stack.topic(of));
            if let Some(images) = images.filter(|of| of.frames.is_some()) {
                let cause = format!(
                    "'{topic}' would give '{}' its sizes, and that has images which are drawn",
                    images.name
                );
                return Err(ReplayError::new(path, cause)
                    .hint("give the topic 'bytes' in place of 'frames' in the stack"));
            }
            if let Some((other, _)) = found[..at].iter().find(|(_, s)| s.name() == name) {
                let cause = format!("'{other}' and '{topic}' are both to be replayed by {name}");
                return Err(ReplayError::new(path, cause).hint("map one of them"));
            }
        }
        Ok(Self::of(bag, stack, &found))
    }

    fn of(bag: &Bag, stack: &Stack, found: &[(&String, Source<'_>)]) -> Self {
        let messages = |topic: &str| &*bag.topics[topic];
        let (from_ns, to_ns) = bounds(found.iter().map(|(topic, _)| messages(topic)));
        let mut sources: Vec<ReplayedSource> = found
            .iter()
            .map(|(topic, source)| of_source(topic, source, messages(topic)))
            .collect();
        let rank =
            |of: &ReplayedSource| stack.nodes.iter().position(|n| n.name.as_str() == of.node);
        sources.sort_by_key(rank);
        Self {
            bag: bag.path.clone(),
            sha256: bag.sha256.clone(),
            length_ns: to_ns - from_ns,
            sources,
        }
    }

    /// Gives the sources of a stack the mean rate and size of what they replay: for its plan, and until the measurement begins.
    pub fn apply(&self, stack: &mut Stack) {
        for source in &self.sources {
            let publishers = |topic: &str| {
                let all = stack.nodes.iter().flat_map(|node| &node.callbacks);
                all.filter(|c| c.publishes.iter().any(|t| t == topic))
                    .count()
            };
            let alone = source.topic.as_deref().filter(|t| publishers(t) == 1);
            if let Some(topic) = alone.and_then(|a| stack.topics.iter_mut().find(|t| t.name == a)) {
                topic.bytes = Distribution::Constant(source.mean_bytes.round());
            }
            let mut callbacks = stack
                .nodes
                .iter_mut()
                .filter(|node| node.name.as_str() == source.node)
                .flat_map(|node| &mut node.callbacks);
            if let Some(callback) = callbacks.find(|c| c.name.as_str() == source.callback) {
                callback.trigger = Trigger::Timer {
                    period_ns: source.period_ns,
                    jitter_ns: Distribution::Constant(0.0),
                    rate_error: 0.0,
                };
            }
        }
    }

    /// What each source replays, in the order of [`Self::sources`]: ns since the first message that is replayed, and bytes.
    ///
    /// # Errors
    /// When the bag cannot be read any more, or is another one.
    pub fn messages(&self) -> Result<Vec<Vec<(u64, u64)>>, ReplayError> {
        let bag = Bag::read(&self.bag)?;
        if bag.sha256 != self.sha256 {
            let cause = format!(
                "it is not the bag that this experiment began with: SHA-256 {}, not {}",
                bag.sha256, self.sha256
            );
            return Err(ReplayError::new(&self.bag, cause).hint("put that bag back in its place"));
        }
        let all = || self.sources.iter().map(|s| &*bag.topics[&s.bag_topic]);
        let (from_ns, _) = bounds(all());
        let relative = |m: &RecordedMessage| (m.log_ns - from_ns, m.bytes);
        Ok(all()
            .map(|messages| messages.iter().map(relative).collect())
            .collect())
    }

    /// Sources of a stack that replay nothing and keep their periods, as `NODE/CALLBACK`.
    #[must_use]
    pub fn not_replayed(&self, stack: &Stack) -> Vec<String> {
        let is_replayed = |source: &Source<'_>| {
            let mut all = self.sources.iter();
            all.any(|of| format!("{}/{}", of.node, of.callback) == source.name())
        };
        let others = all_sources(stack).filter(|source| !is_replayed(source));
        others.map(|source| source.name()).collect()
    }
}

fn of_source(topic: &str, source: &Source<'_>, messages: &[RecordedMessage]) -> ReplayedSource {
    let count = messages.len() as u64;
    let (from_ns, to_ns) = bounds([messages].into_iter());
    let period_ns = (to_ns - from_ns).checked_div(count - 1).unwrap_or(0);
    ReplayedSource {
        bag_topic: topic.to_owned(),
        node: source.node.name.to_string(),
        callback: source.callback.name.to_string(),
        topic: source.topic.map(str::to_owned),
        messages: count,
        // One message has no period, and messages of one instant have none: the stack's, if it has a longer one.
        period_ns: match &source.callback.trigger {
            Trigger::Timer { period_ns: own, .. } if period_ns == 0 => *own,
            _ => period_ns,
        },
        mean_bytes: messages.iter().map(|m| m.bytes as f64).sum::<f64>() / count as f64,
        largest_bytes: messages.iter().map(|m| m.bytes).max().unwrap_or(0),
    }
}

/// The first and the last instant of any of these, of which each has a message.
fn bounds<'a>(all: impl Iterator<Item = &'a [RecordedMessage]>) -> (u64, u64) {
    all.filter_map(|messages| Some((messages.first()?.log_ns, messages.last()?.log_ns)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0, 0))
}

fn all_sources(stack: &Stack) -> impl Iterator<Item = Source<'_>> {
    let all = stack.nodes.iter();
    let all = all.flat_map(|node| node.callbacks.iter().map(move |callback| (node, callback)));
    let sources = all.filter(|(_, callback)| is_source(callback));
    sources.map(|(node, callback)| Source {
        node,
        callback,
        topic: None,
    })
}

fn is_source(callback: &Callback) -> bool {
    matches!(callback.trigger, Trigger::Timer { .. }) && callback.uses.is_empty()
}

/// The sources that publish a topic.
fn of_topic<'a>(stack: &'a Stack, topic: &str) -> Vec<Source<'a>> {
    let all = all_sources(stack).filter_map(|source| {
        let mut topics = source.callback.publishes.iter();
        let topic = topics.find(|t| *t == topic)?;
        Some(Source {
            topic: Some(topic),
            ..source
        })
    });
    all.collect()
}

/// The source that a user means by a topic of the stack, or by `NODE/CALLBACK`.
fn target_of<'a>(path: &Path, stack: &'a Stack, target: &str) -> Result<Source<'a>, ReplayError> {
    if target.starts_with('/') {
        let mut sources = of_topic(stack, target);
        return match sources.len() {
            1 => Ok(sources.remove(0)),
            0 => Err(no_source(path, stack, target)),
            _ => Err(several(path, target, &sources)),
        };
    }
    let found = all_sources(stack).find(|source| source.name() == target);
    let Some(source) = found else {
        let names: Vec<String> = all_sources(stack).map(|source| source.name()).collect();
        let cause = format!("the stack has no source '{target}'");
        let hint = nearest::hint(target, names.iter().map(String::as_str));
        let error = ReplayError::new(path, cause);
        return Err(ReplayError { hint, ..error });
    };
    let topic = source.callback.publishes.first().map(String::as_str);
    Ok(Source { topic, ..source })
}

fn published(stack: &Stack) -> Vec<&str> {
    let mut topics: Vec<&str> = all_sources(stack)
        .flat_map(|source| source.callback.publishes.iter().map(String::as_str))
        .collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

fn no_source(path: &Path, stack: &Stack, topic: &str) -> ReplayError {
    let cause = format!("no source of the stack publishes '{topic}'");
    let hint = nearest::hint(topic, published(stack));
    let error = ReplayError::new(path, cause);
    ReplayError { hint, ..error }
}

fn several(path: &Path, topic: &str, sources: &[Source<'_>]) -> ReplayError {
    let names: Vec<String> = sources.iter().map(Source::name).collect();
    let cause = format!("several sources publish '{topic}': {}", names.join(", "));
    ReplayError::new(path, cause).hint(format!("map it to one of them, as '{topic}: {}'", names[0]))
}

/// A bag of which no source replays anything.
fn nothing(bag: &Bag, stack: &Stack) -> ReplayError {
    const FEW: usize = 8;
    let few = |names: Vec<&str>| {
        let more = if names.len() > FEW { ", …" } else { "" };
        format!("{}{more}", names[..names.len().min(FEW)].join(", "))
    };
    if bag.topics.is_empty() {
        return ReplayError::new(&bag.path, "it has no message")
            .hint("'ros2 bag info' or 'mcap info' says what a bag has");
    }
    let known = bag.topics.keys().map(String::as_str).collect();
    ReplayError::new(&bag.path, "it has no message of any source of the stack").hint(format!(
        "map a topic of the bag ({}) to one that a source publishes ({})",
        few(known),
        few(published(stack))
    ))
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
