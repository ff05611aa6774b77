//! Follows every thread: which callback runs, what it took, what it publishes.

use rustc_hash::FxHashMap;

use crate::event::{Address, Body, TraceEvent};
use crate::graph::{Graph, Owner};
use crate::ids::{
    CallbackId, Id, InstanceId, ProcessId, PublicationId, PublisherId, SubscriptionId, Table,
    TakeId, ThreadId,
};
use crate::record::{
    Arrival, Confidence, Instance, Link, LinkMethod, MaybeNs, Payload, Publication, Take,
};
use crate::registry::Registry;

mod handover;

/// What happened, in the order in which the trace has it.
#[derive(Debug, Default)]
pub struct Records {
    /// Callback instances by start.
    pub instances: Table<InstanceId, Instance>,
    /// Publications.
    pub publications: Table<PublicationId, Publication>,
    /// Takes.
    pub takes: Table<TakeId, Take>,
    /// Samples in readers' caches.
    pub arrivals: Vec<Arrival>,
    /// Publications replaced in a ring buffer before the subscription took them.
    pub ring_overwrites: Vec<(SubscriptionId, PublicationId)>,
    /// What could not be placed.
    pub gaps: Gaps,
    /// Callback instances whose end will not come.
    pub(crate) abandoned: Vec<InstanceId>,
}

/// Events that could not be placed because the trace lacks others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// `callback_end` without its start: the trace begins inside a callback.
    pub ends_without_start: u64,
    /// `callback_start` without its end: the trace ends inside a callback, or lost events.
    pub starts_without_end: u64,
    /// Takes by subscriptions that the trace does not name, such as those of the
    /// middleware's own discovery.
    pub takes_without_subscription: u64,
    /// Arrivals at such subscriptions.
    pub arrivals_without_subscription: u64,
    /// `rmw_publish` without `rcl_publish`, such as the middleware's own discovery.
    pub rmw_publish_without_rcl: u64,
    /// `rmw_publish` with 0 for the source timestamp: loaned messages of rmw_cyclonedds.
    pub publications_without_stamp: u64,
    /// Events that lack a field which every distribution records.
    pub unreadable_events: u64,
}

#[derive(Debug, Default)]
struct ThreadState {
    /// Callbacks that run, each inside the one before it.
    open: Vec<InstanceId>,
    /// When the callback that ended last began, where the trace has that.
    ended_began_ns: Option<i64>,
    take: Option<TakeId>,
    payload: Option<(SubscriptionId, Payload)>,
    release: Option<Release>,
    rclcpp: Option<(Address, i64)>,
    publishing: Option<Publishing>,
    unfollowed: Option<PublicationId>,
    /// Events were lost since the last callback event.
    doubtful: bool,
}

#[derive(Debug, Clone, Copy)]
struct Release {
    callback: CallbackId,
    time_ns: i64,
    sensor: bool,
}

#[derive(Debug, Clone, Copy)]
struct Publishing {
    id: PublicationId,
    publisher: PublisherId,
    /// The message as rcl got it; `None` until it did.
    message: Option<Address>,
    /// The message that the middleware made of it.
    copy: Option<Address>,
}

impl Publishing {
    /// Whether the middleware's word of a message is of this one. Since Humble, CARET gives no
    /// address for Fast DDS.
    fn is_of(&self, message: Address) -> bool {
        message == 0 || self.message == Some(message) || self.copy == Some(message)
    }
}

/// A message in a ring buffer.
#[derive(Debug, Clone, Copy)]
struct Slot {
    publication: PublicationId,
    enqueued_ns: i64,
}

/// Most callbacks that are taken to be open inside each other on a thread.
const DEEPEST: usize = 32;

/// The state of all threads.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    pub records: Records,
    /// No takes are inferred.
    pub without_messages: bool,
    threads: Vec<ThreadState>,
    ordinals: Vec<u32>,
    slots: FxHashMap<(ProcessId, Address, u64), Slot>,
    /// What was last published inside a process at an address, and when.
    handed: FxHashMap<(ProcessId, Address), (PublicationId, i64)>,
    /// Until when events of a process may be missing.
    lost_until_ns: FxHashMap<ProcessId, i64>,
}

impl Tracker {
    /// Takes an event; those that only create entities have no effect here.
    pub fn observe(&mut self, registry: &mut Registry, event: &TraceEvent<'_>) {
        let index = event.thread.index();
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, ThreadState::default);
        }
        // Other providers trace the inside of the middleware, where the source
        // timestamp is still to be taken.
        if event.body.is_of_middleware() {
            self.middleware_event(event);
            return;
        }
        if let Some(id) = self.threads[index].unfollowed.take()
            && let Some(publication) = self.records.publications.get_mut(id)
        {
            publication.followed_ns = Some(event.time_ns).into();
        }
        match event.body {
            Body::CallbackStart { callback, intra } => {
                let callback = registry.callback(event.process, callback);
                if !self.without_messages {
                    self.infer_take(registry, event, callback, intra);
                }
                self.callback_start(registry, event, callback);
            }
            Body::CallbackEnd { callback } => {
                let callback = registry.callback(event.process, callback);
                self.callback_end(event, callback);
            }
            Body::RclcppPublish { message } => {
                self.threads[index].rclcpp = Some((message, event.time_ns));
            }
            Body::IntraPublish { publisher, message } => {
                let publisher = registry.publisher(event.process, publisher);
                let id = self.publish(event, publisher, None);
                let handed = &mut self.handed;
                handed.insert((event.process, message), (id, event.time_ns));
            }
            Body::Dispatch { .. } | Body::DispatchIntra { .. } => self.dispatch(registry, event),
            Body::RclPublish { publisher, message } => {
                let publisher = registry.publisher(event.process, publisher);
                self.rcl_publish(event, publisher, message);
            }
            Body::RmwPublish { message, timestamp } => {
                self.rmw_publish(event, message, timestamp);
            }
            Body::RmwTake { .. } => self.rmw_take(registry, event),
            Body::ExecutorExecute => {
                registry.graph.threads[event.thread].executor = true;
                self.threads[index].take = None;
            }
            Body::RingEnqueue { .. } | Body::RingDequeue { .. } | Body::RingClear { .. } => {
                self.ring(registry, event);
            }
            Body::Arrival { .. } => self.arrival(registry, event),
            Body::Message { .. } => self.message(registry, event),
            Body::TimerRelease {
                callback,
                expected_ns,
            } => self.release(registry, event, callback, expected_ns, false),
            Body::SourceRelease {
                callback,
                release_ns,
                ..
            } => self.release(registry, event, callback, release_ns, true),
            _ => {}
        }
    }

    /// Events of these processes may be missing until `to_ns`: a callback that is open
    /// may have ended unseen, and what comes next may belong to what was not seen.
    pub fn doubt(&mut self, graph: &Graph, concerned: impl Fn(ProcessId) -> bool, to_ns: i64) {
        for process in graph.processes.ids().filter(|&id| concerned(id)) {
            let until = self.lost_until_ns.entry(process).or_insert(to_ns);
            *until = to_ns.max(*until);
        }
        for (thread, state) in graph.threads.ids().zip(&mut self.threads) {
            if concerned(graph.threads[thread].process) {
                *state = ThreadState {
                    open: std::mem::take(&mut state.open),
                    doubtful: true,
                    ..ThreadState::default()
                };
            }
        }
    }

    /// Whether events of a process may be missing at a time or after it.
    fn lost_since(&self, process: ProcessId, time_ns: i64) -> bool {
        let until = self.lost_until_ns.get(&process);
        until.is_some_and(|&until_ns| until_ns >= time_ns)
    }

    /// The trace has ended.
    pub fn finish(mut self) -> Records {
        for state in &self.threads {
            self.records.gaps.starts_without_end += state.open.len() as u64;
        }
        self.records
    }

    fn callback_start(
        &mut self,
        registry: &Registry,
        event: &TraceEvent<'_>,
        callback: CallbackId,
    ) {
        let state = &mut self.threads[event.thread.index()];
        if std::mem::take(&mut state.doubtful) {
            self.records.gaps.starts_without_end += state.open.len() as u64;
            self.records.abandoned.append(&mut state.open);
        }
        // Calls nest where a callback spins, also calls of one callback. Where ends are
        // missing, what is outside is given up sooner or later.
        if state.open.len() >= DEEPEST {
            self.records.gaps.starts_without_end += 1;
            self.records.abandoned.push(state.open.remove(0));
        }
        let id = self.records.instances.next_id();
        let take = state.take.take().filter(|&take| {
            let owner = registry.graph.callbacks[callback].owner;
            let Some(take) = self.records.takes.get_mut(take) else {
                return false;
            };
            let own = owner == Owner::Unknown || owner == Owner::Subscription(take.subscription);
            if own {
                take.instance = Some(id);
            }
            own
        });
        let release = state.release.take().filter(|r| r.callback == callback);
        self.records.instances.push(Instance {
            callback,
            thread: event.thread,
            start_ns: event.time_ns,
            end_ns: MaybeNs::NONE,
            take,
            release_ns: release.map(|r| r.time_ns).into(),
            first_publication: None,
            last_publication: None,
        });
        state.open.push(id);
    }

    /// When the callback that this thread ended last began.
    pub fn ended_began_ns(&self, thread: ThreadId) -> Option<i64> {
        self.threads.get(thread.index())?.ended_began_ns
    }

    fn callback_end(&mut self, event: &TraceEvent<'_>, callback: CallbackId) {
        let state = &mut self.threads[event.thread.index()];
        state.doubtful = false;
        let Some(at) = state
            .open
            .iter()
            .rposition(|&id| self.records.instances[id].callback == callback)
        else {
            state.ended_began_ns = None;
            self.records.gaps.ends_without_start += 1;
            return;
        };
        let ended = &mut self.records.instances[state.open[at]];
        ended.end_ns = Some(event.time_ns).into();
        state.ended_began_ns = Some(ended.start_ns);
        self.records.gaps.starts_without_end += (state.open.len() - at - 1) as u64;
        self.records.abandoned.extend(state.open.drain(at + 1..));
        state.open.truncate(at);
    }

    /// Begins a publication on this thread.
    fn publish(
        &mut self,
        event: &TraceEvent<'_>,
        publisher: PublisherId,
        message: Option<Address>,
    ) -> PublicationId {
        let index = publisher.index();
        if self.ordinals.len() <= index {
            self.ordinals.resize(index + 1, 0);
        }
        let state = &mut self.threads[event.thread.index()];
        let entered = match (state.rclcpp.take(), message) {
            (Some((rclcpp, time_ns)), Some(message)) if rclcpp == message => time_ns,
            _ => event.time_ns,
        };
        let instance = state.open.last().copied();
        let id = self.records.publications.push(Publication {
            publisher,
            thread: event.thread,
            instance,
            time_ns: entered,
            rmw_ns: MaybeNs::NONE,
            stamp: MaybeNs::NONE,
            stamp_by: LinkMethod::SourceTimestamp,
            unstamped: false,
            followed_ns: MaybeNs::NONE,
            ordinal: self.ordinals[index],
            next: None,
        });
        self.ordinals[index] += 1;
        state.publishing = Some(Publishing {
            id,
            publisher,
            message,
            copy: None,
        });
        if let Some(instance) = instance.and_then(|id| self.records.instances.get_mut(id)) {
            match instance.last_publication.replace(id) {
                Some(before) => {
                    if let Some(before) = self.records.publications.get_mut(before) {
                        before.next = Some(id);
                    }
                }
                None => instance.first_publication = Some(id),
            }
        }
        id
    }

    fn rcl_publish(&mut self, event: &TraceEvent<'_>, publisher: PublisherId, message: Address) {
        let state = &mut self.threads[event.thread.index()];
        if let Some(publishing) = &mut state.publishing
            && publishing.publisher == publisher
            && publishing.message.is_none()
        {
            // The same message, after readers inside the process got it.
            publishing.message = Some(message);
            state.rclcpp = None;
        } else {
            self.publish(event, publisher, Some(message));
        }
    }

    fn rmw_publish(&mut self, event: &TraceEvent<'_>, message: Address, stamp: Option<i64>) {
        let state = &mut self.threads[event.thread.index()];
        let Some(publishing) = state.publishing.filter(|p| p.message == Some(message)) else {
            self.records.gaps.rmw_publish_without_rcl += 1;
            return;
        };
        state.publishing = None;
        state.unfollowed = Some(publishing.id);
        if let Some(publication) = self.records.publications.get_mut(publishing.id) {
            publication.rmw_ns = Some(event.time_ns).into();
            publication.stamp = stamp.filter(|&stamp| stamp != 0).into();
            publication.unstamped = stamp == Some(0);
            self.records.gaps.publications_without_stamp += u64::from(publication.unstamped);
        }
    }

    fn rmw_take(&mut self, registry: &Registry, event: &TraceEvent<'_>) {
        let Body::RmwTake {
            rmw_subscription,
            source_timestamp,
            taken: true,
            ..
        } = event.body
        else {
            return;
        };
        match registry.rmw_subscription(event.process, rmw_subscription) {
            Some(subscription) => {
                self.take(event, subscription, Some(source_timestamp), None);
            }
            None => self.records.gaps.takes_without_subscription += 1,
        }
    }

    fn arrival(&mut self, registry: &Registry, event: &TraceEvent<'_>) {
        let Body::Arrival {
            rmw_subscription,
            source_timestamp,
        } = event.body
        else {
            return;
        };
        match registry.rmw_subscription(event.process, rmw_subscription) {
            Some(subscription) => self.records.arrivals.push(Arrival {
                subscription,
                stamp: source_timestamp,
                time_ns: event.time_ns,
                take: None,
            }),
            None => self.records.gaps.arrivals_without_subscription += 1,
        }
    }

    fn take(
        &mut self,
        event: &TraceEvent<'_>,
        subscription: SubscriptionId,
        stamp: Option<i64>,
        slot: Option<Slot>,
    ) -> TakeId {
        let link = slot.map(|slot| Link {
            publication: slot.publication,
            method: LinkMethod::RingBuffer,
            confidence: Confidence::Certain,
        });
        // The slot may have been used again unseen.
        let doubt = slot.is_some_and(|slot| self.lost_since(event.process, slot.enqueued_ns));
        let state = &mut self.threads[event.thread.index()];
        let payload = state.payload.take().filter(|p| p.0 == subscription);
        let mut take = Take {
            subscription,
            thread: event.thread,
            time_ns: event.time_ns,
            stamp: stamp.into(),
            link: None,
            doubtful: None,
            maybe_discarded: false,
            arrival_ns: slot.map(|slot| slot.enqueued_ns).into(),
            instance: None,
            payload: payload.map(|p| Box::new(p.1)),
            inferred: false,
        };
        take.set_link(link, doubt);
        let id = self.records.takes.push(take);
        state.take = Some(id);
        id
    }

    /// A message's own words may stand before its take, between take and
    /// callback, or inside the callback.
    fn message(&mut self, registry: &Registry, event: &TraceEvent<'_>) {
        let Body::Message {
            rmw_subscription,
            publisher_id,
            sequence,
            origin_ns,
            stamp_ns,
        } = event.body
        else {
            return;
        };
        let Some(subscription) = registry.rmw_subscription(event.process, rmw_subscription) else {
            return;
        };
        let payload = Payload {
            publisher_id,
            sequence,
            origin_ns,
            stamp_ns,
        };
        let state = &mut self.threads[event.thread.index()];
        let running = state
            .open
            .last()
            .and_then(|&id| self.records.instances.get(id)?.take);
        let target = state.take.or(running);
        let take = target.and_then(|id| self.records.takes.get_mut(id));
        match take.filter(|t| t.subscription == subscription && t.payload.is_none()) {
            Some(take) => take.payload = Some(Box::new(payload)),
            None => state.payload = Some((subscription, payload)),
        }
    }

    /// A release may stand before its callback starts or inside it.
    fn release(
        &mut self,
        registry: &mut Registry,
        event: &TraceEvent<'_>,
        callback: Address,
        time_ns: i64,
        sensor: bool,
    ) {
        let callback = registry.callback(event.process, callback);
        let state = &mut self.threads[event.thread.index()];
        if let Some(&id) = state.open.last()
            && self.records.instances[id].callback == callback
        {
            let release = &mut self.records.instances[id].release_ns;
            if sensor || *release == MaybeNs::NONE {
                *release = Some(time_ns).into();
            }
            return;
        }
        // The sensor's own release says more than the timer that models it.
        if sensor
            || !state
                .release
                .is_some_and(|r| r.callback == callback && r.sensor)
        {
            state.release = Some(Release {
                callback,
                time_ns,
                sensor,
            });
        }
    }
}
