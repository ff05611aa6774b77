//! Loading nodes: what a node's constructor costs and makes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use stowplan_ctf::events::ros2::RclNodeInit;
use stowplan_ctf::events::stowplan::{NodeLoadBegin, NodeLoaded};
use stowplan_ctf::schema::Handle;
use stowplan_wire::announce::Announcement;
use stowplan_wire::service::{CallbackPlan, NodePlan, TopicPlan, TriggerPlan};

use super::callback::TimerEntity;
use super::chains::Chains;
use super::discovery::NodeEntities;
use super::implicit::Host;
use super::intra::IntraSubscription;
use super::{Callback, Process, Publisher, Runnable, Subscription, new_handle};
use crate::dds::{Condition, Guard};
use crate::error::NodeError;
use crate::executor::Executor;
use crate::executor::recording::Recording;
use crate::executor::schedule::Class;
use crate::executor::timer::{TimerClock, TimerSpec};
use crate::vision::TagDetector;
use crate::work::WorkingSet;
use crate::{record, startup};

/// Working set of the constructor's work: small, because what it costs is calibrated for this size.
pub const START_WORKING_SET: u64 = 4096;

/// Loads a node: its start-up cost, its endpoints, then its callbacks in the order of registration.
///
/// # Errors
/// When a file, memory or an endpoint cannot be had, or the plan contradicts itself.
pub fn load_node(process: &Process, plan: &NodePlan, executor: &Executor) -> Result<(), NodeError> {
    process.agent.say(&Announcement::NodeLoading {
        node: plan.name.clone(),
        t_ns: record::now(),
    })?;
    record::event(&NodeLoadBegin { node: &plan.name });
    startup::touch_files(&process.files, &plan.files)?;
    WorkingSet::new(START_WORKING_SET).run(plan.start_iterations);
    startup::keep_memory(plan.memory_bytes)?;
    let node = record_node(&plan.name);
    let mut groups = Groups::new(executor, &plan.reentrant_groups);
    let default = groups.number(None);
    let mut entities = NodeEntities::new("/", &plan.name);
    let host = Host {
        process,
        executor,
        group: default,
        node,
        name: &plan.name,
    };
    host.endpoints(plan.options, &mut entities)?;
    if process.own().is_own_node(plan) {
        host.container_services(&mut entities)?;
    }
    let publishers = make_publishers(process, node, plan, &mut entities)?;
    // A timer can use callbacks that are registered after it.
    let callbacks = plan.callbacks.iter().map(|callback| {
        let made = make_callback(process, plan, callback, &publishers)?;
        Ok((callback.id, Arc::new(made)))
    });
    let callbacks: Result<HashMap<u32, Arc<Callback>>, NodeError> = callbacks.collect();
    let callbacks = callbacks?;
    for callback in &plan.callbacks {
        let group = groups.number(callback.group.as_deref());
        let place = Place {
            process,
            executor,
            node,
            plan,
            group,
        };
        place.register(callback, &callbacks, &mut entities)?;
    }
    host.silent(plan, &mut entities)?;
    process.tell_node(entities)?;
    record::event(&NodeLoaded {
        node: &plan.name,
        module: &plan.module,
    });
    process.agent.say(&Announcement::NodeLoaded {
        node: plan.name.clone(),
        t_ns: record::now(),
    })
}

/// Records the creation of a node and returns its handle.
pub fn record_node(name: &str) -> u64 {
    let node = new_handle();
    record::event(&RclNodeInit {
        node_handle: Handle(node),
        rmw_handle: Handle(new_handle()),
        node_name: name,
        namespace: "/",
    });
    node
}

/// Callback groups of a node by name.
struct Groups<'a> {
    executor: &'a Executor,
    reentrant: &'a [String],
    numbers: HashMap<Option<String>, usize>,
}

impl<'a> Groups<'a> {
    fn new(executor: &'a Executor, reentrant: &'a [String]) -> Self {
        Self {
            executor,
            reentrant,
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, name: Option<&str>) -> usize {
        let reentrant = name.is_some_and(|name| self.reentrant.iter().any(|r| r == name));
        *self
            .numbers
            .entry(name.map(str::to_owned))
            .or_insert_with(|| self.executor.add_group(reentrant))
    }
}

/// The publishers of a node's callbacks by their numbers: callbacks share them.
fn make_publishers(
    process: &Process,
    node: u64,
    plan: &NodePlan,
    entities: &mut NodeEntities,
) -> Result<HashMap<u32, Arc<Publisher>>, NodeError> {
    let mut publishers = HashMap::new();
    for publisher in plan.callbacks.iter().flat_map(|c| &c.publishes) {
        if publishers.contains_key(&publisher.id) {
            continue;
        }
        let topic = topic(process, plan, publisher.topic)?;
        let made = Arc::new(Publisher::new(process, node, publisher, topic)?);
        entities.writer(made.gid());
        process.keep_publisher(&made);
        publishers.insert(publisher.id, made);
    }
    Ok(publishers)
}

fn make_callback(
    process: &Process,
    plan: &NodePlan,
    callback: &CallbackPlan,
    publishers: &HashMap<u32, Arc<Publisher>>,
) -> Result<Callback, NodeError> {
    let used = plan.callbacks.iter().any(|c| c.uses.contains(&callback.id));
    let own = callback.publishes.iter();
    let frames = match callback.trigger {
        TriggerPlan::Subscription { topic: index, .. } => topic(process, plan, index)?.frames,
        TriggerPlan::Timer { .. } => None,
    };
    let detector = frames.map(TagDetector::new).transpose()?;
    let made = Callback::new(
        &plan.name,
        callback,
        process.plan.seed,
        process.plan.record_callback_cpu,
        used,
        own.map(|p| Arc::clone(&publishers[&p.id])).collect(),
        Chains::of(callback, &process.agent),
    );
    Ok(made.with_detector(detector))
}

pub(super) fn topic<'a>(
    process: &'a Process,
    node: &NodePlan,
    index: u32,
) -> Result<&'a TopicPlan, NodeError> {
    let topics = &process.plan.topics;
    topics
        .get(index as usize)
        .ok_or_else(|| NodeError::Inconsistent {
            node: node.name.clone(),
            message: format!("topic {index} of {}", topics.len()),
        })
}

/// Where a callback is registered.
struct Place<'a> {
    process: &'a Process,
    executor: &'a Executor,
    node: u64,
    plan: &'a NodePlan,
    group: usize,
}

impl Place<'_> {
    fn register(
        &self,
        plan: &CallbackPlan,
        callbacks: &HashMap<u32, Arc<Callback>>,
        entities: &mut NodeEntities,
    ) -> Result<(), NodeError> {
        let callback = Arc::clone(&callbacks[&plan.id]);
        match plan.trigger {
            TriggerPlan::Subscription {
                topic: index,
                expected_publishers,
            } => {
                let topic = topic(self.process, self.plan, index)?;
                self.subscription(index, topic, expected_publishers, callback, entities)
            }
            TriggerPlan::Timer {
                period_ns,
                jitter_ns,
                rate_error,
                phase_ns,
                ref replay,
            } => {
                let spec = TimerSpec {
                    period_ns,
                    jitter_ns,
                    rate_error,
                    phase_ns,
                    seed: self.process.plan.seed,
                    callback: plan.id,
                };
                let uses = plan.uses.iter().map(|id| self.used(*id, callbacks));
                let uses = uses.collect::<Result<Vec<_>, _>>()?;
                let topic = replay.as_ref().and_then(|of| of.topic);
                let timer = TimerEntity::new(self.node, period_ns, callback, uses, topic);
                let recording = replay.as_ref().map(|of| self.recording(&of.file));
                let clock = TimerClock::new(&spec, record::now()).replaying(recording.transpose()?);
                self.add(
                    Class::Timer,
                    Runnable::Timer(Arc::new(timer)),
                    None,
                    Some(clock),
                )
            }
        }
    }

    /// A file of what a source replays, beside the plan.
    fn recording(&self, file: &str) -> Result<Recording, NodeError> {
        let path = self.process.folder.join(file);
        Recording::map(&path).map_err(|source| NodeError::Read { path, source })
    }

    fn used(
        &self,
        id: u32,
        callbacks: &HashMap<u32, Arc<Callback>>,
    ) -> Result<Arc<Callback>, NodeError> {
        let used = callbacks.get(&id).map(Arc::clone);
        used.ok_or_else(|| NodeError::Inconsistent {
            node: self.plan.name.clone(),
            message: format!("a callback uses callback {id}, which the node does not have"),
        })
    }

    fn subscription(
        &self,
        index: u32,
        topic: &TopicPlan,
        expected_publishers: u32,
        callback: Arc<Callback>,
        entities: &mut NodeEntities,
    ) -> Result<(), NodeError> {
        let subscription = Arc::new(Subscription::new(
            self.process,
            self.node,
            topic,
            expected_publishers,
            callback,
        )?);
        entities.reader(subscription.gid());
        self.process.keep_subscription(&subscription);
        if let Some(part) = subscription.intra() {
            let participant = &self.process.participant;
            let intra = IntraSubscription::new(participant, &subscription, part, topic.depth)?;
            let intra = Arc::new(intra);
            let condition = intra.condition();
            self.add(
                Class::IntraProcess,
                Runnable::Intra(Arc::clone(&intra)),
                Some(condition),
                None,
            )?;
            self.process.intra_topic(index).add(intra);
        }
        let condition = subscription.condition();
        self.add(
            Class::Subscription,
            Runnable::Subscription(subscription),
            Some(condition),
            None,
        )
    }

    fn add(
        &self,
        class: Class,
        runnable: Runnable,
        condition: Option<Condition>,
        clock: Option<TimerClock>,
    ) -> Result<(), NodeError> {
        self.executor
            .add(class, self.group, runnable, condition, clock)
            .map_err(NodeError::from)
    }
}

/// Loads components one after another on the executor of their container, as its `load_node` service
/// does.
pub struct Loader {
    handle: u64,
    guard: Guard,
    wanted: Mutex<VecDeque<usize>>,
    load: Box<dyn Fn(usize) + Send + Sync>,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl Loader {
    /// Loads node number n by `load(n)`.
    ///
    /// # Errors
    /// When CycloneDDS refuses a condition.
    pub fn new(
        process: &Process,
        load: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Self, NodeError> {
        Ok(Self {
            handle: new_handle(),
            guard: Guard::new(&process.participant)?,
            wanted: Mutex::default(),
            load: Box::new(load),
        })
    }

    /// The handle that executor events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handle
    }

    /// Holds while a node waits to be loaded.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.guard.condition()
    }

    /// Asks for a node.
    pub fn ask(&self, node: usize) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.push_back(node);
        self.guard.trigger();
    }

    /// Loads the next node that was asked for.
    pub fn execute(&self) {
        self.guard.reset();
        let (next, more) = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            (wanted.pop_front(), !wanted.is_empty())
        };
        if more {
            self.guard.trigger();
        }
        if let Some(node) = next {
            (self.load)(node);
        }
    }
}
