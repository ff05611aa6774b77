//! Keeps what chains need of a trace and nothing else, while the rest is forgotten.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Graph;
use crate::ids::{CallbackId, Id, InstanceId, PublicationId, SubscriptionId, TakeId, TopicId};
use crate::record::{Instance, Link, Publication, Take};
use crate::tracker::Records;

/// What is kept, under ids of its own.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    /// Callbacks whose instances are kept: those of the chains, and those that
    /// publish what the chains take.
    callbacks: FxHashSet<CallbackId>,
    /// Callbacks of the chains.
    chains: FxHashSet<CallbackId>,
    /// Topics that the chains take.
    topics: FxHashSet<TopicId>,
    records: Records,
    instances: FxHashMap<InstanceId, InstanceId>,
    publications: FxHashMap<PublicationId, PublicationId>,
    /// Takes whose callback had not started when they were settled.
    early: FxHashMap<InstanceId, TakeId>,
    next_instance: usize,
}

impl Keep {
    /// `chains`: the callbacks of each. `publishes`: callbacks and the topics that they publish on.
    pub fn new<'p>(
        graph: &Graph,
        chains: impl IntoIterator<Item = &'p [CallbackId]>,
        publishes: &FxHashSet<(CallbackId, TopicId)>,
    ) -> Self {
        let mut keep = Self::default();
        for chain in chains {
            keep.chains.extend(chain);
        }
        let topics = keep.chains.iter().filter_map(|&id| graph.topic_of(id));
        keep.topics = topics.collect();
        keep.callbacks = keep.chains.clone();
        let sources = publishes.iter().filter(|(_, t)| keep.topics.contains(t));
        keep.callbacks.extend(sources.map(|source| source.0));
        keep
    }

    /// Gives instances that began their place, in the order in which they began.
    pub fn reserve(&mut self, records: &Records, cut_ns: i64) {
        while self.next_instance < records.instances.len() {
            let id = InstanceId::new(self.next_instance);
            let instance = &records.instances[id];
            if instance.start_ns >= cut_ns {
                break;
            }
            self.next_instance += 1;
            let early = self.early.remove(&id);
            if !self.callbacks.contains(&instance.callback) {
                continue;
            }
            let new = self.records.instances.push(Instance {
                take: early,
                first_publication: None,
                last_publication: None,
                ..instance.clone()
            });
            self.instances.insert(id, new);
            if let Some(take) = early {
                self.records.takes[take].instance = Some(new);
            }
        }
    }

    /// A publication is settled.
    pub fn publication(&mut self, topic: Option<TopicId>, id: PublicationId, of: &Publication) {
        let instance = of.instance.and_then(|id| self.instances.get(&id)).copied();
        let wanted = topic.is_some_and(|topic| self.topics.contains(&topic))
            || instance.is_some_and(|id| {
                let callback = self.records.instances[id].callback;
                self.chains.contains(&callback)
            });
        if !wanted {
            return;
        }
        let new = self.records.publications.push(Publication {
            instance,
            next: None,
            ..of.clone()
        });
        self.publications.insert(id, new);
        let Some(instance) = instance else { return };
        let instance = &mut self.records.instances[instance];
        match instance.last_publication.replace(new) {
            Some(before) => self.records.publications[before].next = Some(new),
            None => instance.first_publication = Some(new),
        }
    }

    /// A take is settled.
    pub fn take(&mut self, graph: &Graph, of: &Take) {
        let callback = graph.subscriptions[of.subscription].callback;
        if !callback.is_some_and(|callback| self.chains.contains(&callback)) {
            return;
        }
        let instance = of.instance.and_then(|id| self.instances.get(&id)).copied();
        let kept = |mut link: Link| {
            link.publication = *self.publications.get(&link.publication)?;
            Some(link)
        };
        let (link, doubtful) = (of.link.and_then(kept), of.doubtful.and_then(kept));
        let new = self.records.takes.push(Take {
            instance,
            link,
            doubtful,
            ..of.clone()
        });
        match (instance, of.instance) {
            (Some(instance), _) => self.records.instances[instance].take = Some(new),
            (None, Some(later)) => {
                self.early.insert(later, new);
            }
            _ => {}
        }
    }

    /// An instance is settled.
    pub fn instance(&mut self, id: InstanceId, of: &Instance) {
        if let Some(new) = self.instances.remove(&id) {
            let kept = &mut self.records.instances[new];
            kept.end_ns = of.end_ns;
            kept.release_ns = of.release_ns;
        }
    }

    /// What else the tracker has recorded since.
    pub fn others(&mut self, graph: &Graph, records: &mut Records, settled: usize) {
        let wanted = |id: SubscriptionId| {
            let callback = graph.subscriptions[id].callback;
            callback.is_some_and(|callback| self.chains.contains(&callback))
        };
        let arrivals = records.arrivals.drain(..);
        self.records
            .arrivals
            .extend(arrivals.filter(|arrival| wanted(arrival.subscription)));
        let publications = &self.publications;
        let kept = &mut self.records.ring_overwrites;
        records.ring_overwrites.retain(|&(subscription, id)| {
            if let Some(&new) = publications.get(&id) {
                kept.push((subscription, new));
                return false;
            }
            // What is settled and not kept is not wanted.
            id.index() >= settled
        });
    }

    /// A publication can no longer be taken.
    pub fn gone(&mut self, id: PublicationId) {
        self.publications.remove(&id);
    }

    /// What was kept.
    pub fn finish(self) -> Records {
        self.records
    }
}
