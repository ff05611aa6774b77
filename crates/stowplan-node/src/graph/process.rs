//! What the parts of one process share.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stowplan_ctf::events::ros2::RclInit;
use stowplan_ctf::schema::Handle;
use stowplan_wire::announce::{Age, TagCounts};
use stowplan_wire::service::{
    DistributionPlan, ProcessPlan, ProfilePlan, ServicePlan, TopicPlan, TriggerPlan,
};

use super::discovery::NodeEntities;
use super::intra::IntraTopic;
use super::{Discovery, Publisher, Subscription, ThreadContext, new_handle};
use crate::announce::Agent;
use crate::dds::{
    DdsError, Durability, History, Matching, Participant, Qos, Reliability, Topic, text,
};
use crate::draw::whole;
use crate::payload::{HEAD_BYTES, Head, TYPE_NAME};
use crate::plan::Planned;
use crate::record;

/// Version of ros2_tracing whose events are recorded: Jazzy's.
const TRACER_VERSION: &str = "8.2.0";

/// One ROS process.
#[derive(Debug)]
pub struct Process {
    /// What the service does.
    pub plan: ServicePlan,
    /// Which of its processes this is.
    pub index: usize,
    /// Folder of start-up files.
    pub files: PathBuf,
    /// The service's run folder.
    pub folder: PathBuf,
    /// The connection to the agent.
    pub agent: Arc<Agent>,
    /// Its participant.
    pub participant: Participant,
    /// Endpoints that miss a peer.
    pub matching: &'static Matching,
    /// What it says of its nodes; `None` for a profile without implicit endpoints.
    discovery: Option<Discovery>,
    /// Content of messages: as long as the longest, in whole words.
    pub(super) filler: Arc<[u8]>,
    made: Mutex<CreatedEntities>,
}

/// What nodes have made so far.
#[derive(Debug, Default)]
struct CreatedEntities {
    intra: HashMap<u32, Arc<IntraTopic>>,
    publishers: Vec<Arc<Publisher>>,
    subscriptions: Vec<Arc<Subscription>>,
}

/// Messages by publisher or callback number.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct MessageCounts {
    /// Published, by publisher.
    pub published: BTreeMap<u32, u64>,
    /// Taken, by callback.
    pub taken: BTreeMap<u32, u64>,
    /// Reported lost by DDS, by callback.
    pub lost: BTreeMap<u32, u64>,
    /// Refused by DDS when published, all publishers.
    pub refused: u64,
    /// Ages of data, by callback that a message starts.
    pub ages: BTreeMap<u32, Age>,
    /// What came of looking for tags, by callback.
    pub tags: BTreeMap<u32, TagCounts>,
}

impl Process {
    /// Joins the run's domain.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn new(
        Planned { plan, folder }: Planned,
        index: usize,
        files: PathBuf,
        agent: Arc<Agent>,
        participant: Participant,
        matching: &'static Matching,
    ) -> Result<Self, DdsError> {
        record::event(&RclInit {
            context_handle: Handle(new_handle()),
            version: TRACER_VERSION,
        });
        let own = &plan.processes[index];
        Ok(Self {
            filler: vec![0xa5; longest(&plan, own)].into(),
            discovery: Discovery::start(&participant, own.profile)?,
            plan,
            index,
            files,
            folder,
            agent,
            participant,
            matching,
            made: Mutex::default(),
        })
    }

    /// Tells other participants about a node.
    pub(super) fn tell_node(&self, node: NodeEntities) -> Result<(), DdsError> {
        self.discovery.as_ref().map_or(Ok(()), |own| own.add(node))
    }

    /// Leaves the domain: afterwards no thread of DDS records an event.
    pub fn leave(&self) {
        if let Some(discovery) = &self.discovery {
            discovery.stop();
        }
        self.participant.close();
    }

    /// Its part of the plan.
    #[must_use]
    pub fn own(&self) -> &ProcessPlan {
        &self.plan.processes[self.index]
    }

    /// Implicit endpoints.
    #[must_use]
    pub fn profile(&self) -> ProfilePlan {
        self.own().profile
    }

    /// For a thread that executes callbacks.
    #[must_use]
    pub fn thread_context(&self) -> ThreadContext {
        ThreadContext::new(HEAD_BYTES + self.filler.len())
    }

    pub(super) fn payload_topic(&self, topic: &TopicPlan) -> Result<Topic, DdsError> {
        match &topic.dds {
            Some(dds) => self.participant.topic(&dds.name, &dds.type_name),
            None => self
                .participant
                .topic(&format!("rt{}", topic.name), TYPE_NAME),
        }
    }

    fn made(&self) -> MutexGuard<'_, CreatedEntities> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn intra_topic(&self, topic: u32) -> Arc<IntraTopic> {
        Arc::clone(self.made().intra.entry(topic).or_default())
    }

    pub(super) fn keep_publisher(&self, publisher: &Arc<Publisher>) {
        self.made().publishers.push(Arc::clone(publisher));
    }

    pub(super) fn keep_subscription(&self, subscription: &Arc<Subscription>) {
        self.made().subscriptions.push(Arc::clone(subscription));
    }

    /// Counts messages; losses can only be read while the participant exists.
    #[must_use]
    pub fn message_counts(&self) -> MessageCounts {
        let made = self.made();
        let subscriptions = &made.subscriptions;
        MessageCounts {
            published: made
                .publishers
                .iter()
                .map(|p| (p.id(), p.published()))
                .collect(),
            taken: subscriptions.iter().map(|s| (s.id(), s.taken())).collect(),
            lost: subscriptions.iter().map(|s| (s.id(), s.lost())).collect(),
            refused: made.publishers.iter().map(|p| p.refused()).sum(),
            ages: subscriptions
                .iter()
                .map(|s| (s.id(), s.callback().age()))
                .collect(),
            tags: subscriptions
                .iter()
                .filter_map(|s| Some((s.id(), s.callback().tags()?)))
                .collect(),
        }
    }
}

/// QoS of a topic's endpoints.
///
/// # Errors
/// When its partition cannot be one.
pub(super) fn qos_of(topic: &TopicPlan, ignore_local: bool) -> Result<Qos, DdsError> {
    let partition = topic.dds.as_ref().and_then(|dds| dds.partition.as_deref());
    Ok(Qos {
        reliability: if topic.reliable {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        durability: if topic.transient_local {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        history: History::KeepLast(topic.depth),
        lifespan_ns: None,
        ignore_local,
        partition: partition.map(|name| text("partition", name)).transpose()?,
    })
}

/// Filler of the longest message that a process sends or takes, in whole words.
fn longest(plan: &ServicePlan, process: &ProcessPlan) -> usize {
    let callbacks = || process.nodes.iter().flat_map(|node| &node.callbacks);
    let published = callbacks().flat_map(|c| c.publishes.iter().map(|p| p.topic));
    let taken = callbacks().filter_map(|c| match c.trigger {
        TriggerPlan::Subscription { topic, .. } => Some(topic),
        TriggerPlan::Timer { .. } => None,
    });
    published
        .chain(taken)
        .filter_map(|topic| plan.topics.get(topic as usize))
        .map(|topic| greatest(&topic.bytes).max(bytes(topic.largest_replayed)))
        .max()
        .map_or(0, Head::padded)
}

fn greatest(distribution: &DistributionPlan) -> usize {
    let value = match *distribution {
        DistributionPlan::Constant(value) => value,
        DistributionPlan::Uniform { high, .. } => high,
        DistributionPlan::LogNormal { max, .. } => max,
    };
    bytes(whole(value))
}

fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
