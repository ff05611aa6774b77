//! Builds the graph: from addresses, which are local to a process and used
//! again after an object is gone, to ids, which are not.

use rustc_hash::FxHashMap;

use crate::event::{Address, Body, ProcessKey};
use crate::graph::{
    Callback, Client, CreationEvent, EventKinds, Graph, MessageLink, Node, Owner, Process,
    Publisher, Service, Subscription, Thread, Timer,
};
use crate::ids::{
    CallbackId, NodeId, ProcessId, PublisherId, ServiceId, SubscriptionId, ThreadId, TimerId,
    TopicId,
};

use pieces::Pieces;

mod callbacks;
mod pieces;

type ByAddress<T> = FxHashMap<(ProcessId, Address), T>;

/// The graph so far and what each address means at this point of the trace.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub graph: Graph,
    processes: FxHashMap<ProcessKey, ProcessId>,
    threads: FxHashMap<(ProcessId, i64), ThreadId>,
    topics: FxHashMap<String, TopicId>,
    nodes: ByAddress<NodeId>,
    publishers: ByAddress<PublisherId>,
    gids: ByAddress<Box<[u8]>>,
    rmw_publishers: ByAddress<PublisherId>,
    subscriptions: ByAddress<SubscriptionId>,
    rmw_subscriptions: ByAddress<SubscriptionId>,
    /// rclcpp's objects of subscriptions; what made them is an rcl subscription.
    objects: ByAddress<Pieces<Address>>,
    /// Objects of rcl subscriptions that the trace has not named yet.
    waiting_objects: ByAddress<Vec<Address>>,
    services: ByAddress<Pieces<ServiceId>>,
    timers: ByAddress<Pieces<TimerId, NodeId>>,
    callbacks: ByAddress<CallbackId>,
    state_machines: ByAddress<NodeId>,
    /// The object of the subscription that an intra-process buffer is of.
    ipbs: ByAddress<Address>,
    /// The intra-process buffer that a ring buffer is of.
    buffers: ByAddress<Address>,
}

impl Registry {
    /// The process of this key.
    pub fn process(&mut self, key: &ProcessKey) -> ProcessId {
        if let Some(&id) = self.processes.get(key) {
            return id;
        }
        let id = self.graph.processes.push(Process {
            key: key.clone(),
            traces: vec![key.trace.clone()],
            name: None,
            realtime_offset_ns: None,
            tracetools_version: None,
            distribution: None,
            initialised: false,
            kinds: EventKinds::default(),
            first_ns: i64::MAX,
            last_ns: i64::MIN,
        });
        self.processes.insert(key.clone(), id);
        id
    }

    /// The thread with this number in its process.
    pub fn thread(&mut self, process: ProcessId, vtid: i64) -> ThreadId {
        *self.threads.entry((process, vtid)).or_insert_with(|| {
            self.graph.threads.push(Thread {
                process,
                vtid,
                executor: false,
            })
        })
    }

    fn topic(&mut self, name: &str) -> TopicId {
        if let Some(&id) = self.topics.get(name) {
            return id;
        }
        let id = self.graph.topics.push(name.to_owned());
        self.topics.insert(name.to_owned(), id);
        id
    }

    /// The node at `address`. The endpoints that rcl itself creates name their
    /// node before `rcl_node_init` does.
    fn node(&mut self, process: ProcessId, address: Address) -> NodeId {
        *self.nodes.entry((process, address)).or_insert_with(|| {
            self.graph.nodes.push(Node {
                process,
                name: None,
                namespace: String::new(),
            })
        })
    }

    /// The callback at `address`; made if the trace has not named it.
    pub fn callback(&mut self, process: ProcessId, address: Address) -> CallbackId {
        *self.callbacks.entry((process, address)).or_insert_with(|| {
            self.graph.callbacks.push(Callback {
                process,
                owner: Owner::Unknown,
                missing: Some(CreationEvent::CallbackAdded),
                symbol: None,
                ordinal: 0,
            })
        })
    }

    /// The callback at `address`, if the trace has named it.
    pub fn known_callback(&self, process: ProcessId, address: Address) -> Option<CallbackId> {
        self.callbacks.get(&(process, address)).copied()
    }

    /// The publisher at `address`; made if the trace has not named it, as for
    /// `/rosout`, whose publisher rcl copies.
    pub fn publisher(&mut self, process: ProcessId, address: Address) -> PublisherId {
        *self
            .publishers
            .entry((process, address))
            .or_insert_with(|| {
                self.graph.publishers.push(Publisher {
                    process,
                    node: None,
                    topic: None,
                    depth: None,
                    gid: None,
                })
            })
    }

    /// The subscription behind an rmw handle.
    pub fn rmw_subscription(&self, process: ProcessId, address: Address) -> Option<SubscriptionId> {
        self.rmw_subscriptions.get(&(process, address)).copied()
    }

    /// The subscription that a ring buffer feeds.
    pub fn buffer_subscription(
        &self,
        process: ProcessId,
        buffer: Address,
    ) -> Option<SubscriptionId> {
        let ipb = self.buffers.get(&(process, buffer))?;
        let object = self.ipbs.get(&(process, *ipb))?;
        let handle = self.objects.get(&(process, *object))?.made?;
        self.subscriptions.get(&(process, handle)).copied()
    }

    /// The node of a life-cycle state machine.
    pub fn lifecycle_node(&self, process: ProcessId, state_machine: Address) -> Option<NodeId> {
        self.state_machines.get(&(process, state_machine)).copied()
    }

    /// Takes an event that creates or names something; others have no effect.
    pub fn observe(&mut self, time_ns: i64, process: ProcessId, body: &Body<'_>) -> Observed {
        match *body {
            Body::RclInit { version } => {
                let process = &mut self.graph.processes[process];
                process.initialised = true;
                process.tracetools_version = version.map(str::to_owned);
            }
            Body::CaretInit { distribution } => {
                let process = &mut self.graph.processes[process];
                process.distribution = Some(distribution.to_owned());
            }
            Body::NodeInit {
                node,
                name,
                namespace,
            } => return Observed::Node(self.node_init(process, node, name, namespace)),
            Body::RmwPublisherInit { rmw_publisher, gid } => {
                self.rmw_publisher_init(process, rmw_publisher, gid);
            }
            Body::PublisherInit { .. } | Body::SubscriptionInit { .. } => {
                self.endpoint_init(process, body);
            }
            Body::ServiceInit { .. } | Body::ClientInit { .. } | Body::TimerInit { .. } => {
                self.timer_or_service(time_ns, process, body);
            }
            Body::RclcppSubscriptionInit { .. }
            | Body::TimerLinkNode { .. }
            | Body::SubscriptionCallbackAdded { .. }
            | Body::ServiceCallbackAdded { .. }
            | Body::TimerCallbackAdded { .. } => self.join(process, body),
            Body::CallbackRegister { callback, symbol } => {
                let id = self.callback(process, callback);
                self.graph.callbacks[id].symbol = Some(symbol.to_owned());
            }
            Body::LifecycleInit {
                node,
                state_machine,
            } => {
                let node = self.node(process, node);
                self.state_machines.insert((process, state_machine), node);
            }
            Body::IpbToSubscription { ipb, object } => {
                self.ipbs.insert((process, ipb), object);
            }
            Body::BufferToIpb { buffer, ipb } => {
                self.buffers.insert((process, buffer), ipb);
            }
            Body::MessageLink { .. } => self.message_link(process, body),
            _ => return Observed::Nothing,
        }
        Observed::Entity
    }

    /// As [`Registry::observe`], and what an event uses is there, too, if nothing has named it.
    pub fn note(&mut self, time_ns: i64, process: ProcessId, body: &Body<'_>) {
        match *body {
            Body::CallbackStart { callback, .. }
            | Body::Dispatch { callback, .. }
            | Body::DispatchIntra { callback, .. } => {
                self.callback(process, callback);
            }
            Body::RclPublish { publisher, .. } | Body::IntraPublish { publisher, .. } => {
                self.publisher(process, publisher);
            }
            _ => {
                self.observe(time_ns, process, body);
            }
        }
    }

    fn message_link(&mut self, process: ProcessId, body: &Body<'_>) {
        let Body::MessageLink {
            subscriptions,
            publishers,
            synchronised,
        } = *body
        else {
            return;
        };
        let known = |address: &Address| self.subscriptions.get(&(process, *address)).copied();
        let subscriptions = subscriptions.iter().filter_map(known).collect();
        let known = |address: &Address| self.publishers.get(&(process, *address)).copied();
        let publishers = publishers.iter().filter_map(known).collect();
        self.graph.message_links.push(MessageLink {
            subscriptions,
            publishers,
            synchronised,
        });
    }

    fn node_init(
        &mut self,
        process: ProcessId,
        address: Address,
        name: &str,
        namespace: &str,
    ) -> NodeId {
        let mut id = self.node(process, address);
        if self.graph.nodes[id].name.is_some() {
            // The address belonged to a node that is gone.
            self.nodes.remove(&(process, address));
            id = self.node(process, address);
        }
        let node = &mut self.graph.nodes[id];
        node.name = Some(name.to_owned());
        node.namespace = namespace.to_owned();
        id
    }

    /// The gid comes before its publisher in rcl's order.
    fn rmw_publisher_init(&mut self, process: ProcessId, rmw_publisher: Address, gid: &[u8]) {
        let key = (process, rmw_publisher);
        let known = self.rmw_publishers.get(&key);
        let publisher = known.map(|&id| &mut self.graph.publishers[id]);
        match publisher.filter(|publisher| publisher.gid.is_none()) {
            Some(publisher) => publisher.gid = Some(gid.into()),
            None => {
                self.gids.insert(key, gid.into());
            }
        }
    }

    fn endpoint_init(&mut self, process: ProcessId, body: &Body<'_>) {
        match *body {
            Body::PublisherInit {
                publisher,
                node,
                rmw_publisher,
                topic,
                depth,
            } => {
                let node = self.node(process, node);
                let topic = self.topic(topic);
                let gid = self.gids.remove(&(process, rmw_publisher));
                let id = self.graph.publishers.push(Publisher {
                    process,
                    node: Some(node),
                    topic: Some(topic),
                    depth: Some(depth),
                    gid,
                });
                self.publishers.insert((process, publisher), id);
                self.rmw_publishers.insert((process, rmw_publisher), id);
            }
            Body::SubscriptionInit {
                subscription,
                node,
                rmw_subscription,
                topic,
                depth,
            } => {
                let node = self.node(process, node);
                let topic = self.topic(topic);
                let id = self.graph.subscriptions.push(Subscription {
                    process,
                    node,
                    topic,
                    depth,
                    callback: None,
                });
                self.subscriptions.insert((process, subscription), id);
                self.rmw_subscriptions
                    .insert((process, rmw_subscription), id);
                let objects = self.waiting_objects.remove(&(process, subscription));
                for object in objects.into_iter().flatten() {
                    self.bind_subscription(process, object);
                }
            }
            _ => {}
        }
    }

    fn timer_or_service(&mut self, time_ns: i64, process: ProcessId, body: &Body<'_>) {
        match *body {
            Body::ServiceInit {
                service,
                node,
                name,
                ..
            } => {
                let node = self.node(process, node);
                let id = self.graph.services.push(Service {
                    node,
                    name: name.to_owned(),
                });
                let pieces = self.services.entry((process, service)).or_default();
                pieces.make(id);
                self.bind_service(process, service);
            }
            Body::ClientInit { node, name, .. } => {
                let node = self.node(process, node);
                let name = name.to_owned();
                self.graph.clients.push(Client { node, name });
            }
            Body::TimerInit { timer, period_ns } => {
                let id = self.graph.timers.push(Timer {
                    node: None,
                    period_ns,
                    callback: None,
                    init_ns: time_ns,
                });
                self.timers.entry((process, timer)).or_default().make(id);
                self.bind_timer(process, timer);
            }
            _ => {}
        }
    }
}

/// What [`Registry::observe`] made of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// The event creates nothing.
    Nothing,
    /// A node was named.
    Node(NodeId),
    /// Something else was created or named.
    Entity,
}

#[cfg(test)]
mod tests;
