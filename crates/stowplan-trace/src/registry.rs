//! Builds the graph: from addresses, which are local to a process and used
//! again after an object is gone, to ids, which are not.

use rustc_hash::FxHashMap;

use crate::event::{Address, Body, ProcessKey};
use crate::graph::{
    Callback, Client, EventKinds, Graph, MessageLink, Node, Owner, Process, Publisher, Service,
    Subscription, Thread, Timer,
};
use crate::ids::{
    CallbackId, NodeId, ProcessId, PublisherId, ServiceId, SubscriptionId, ThreadId, TimerId,
    TopicId,
};

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
    subscriptions: ByAddress<SubscriptionId>,
    rmw_subscriptions: ByAddress<SubscriptionId>,
    objects: ByAddress<SubscriptionId>,
    services: ByAddress<ServiceId>,
    timers: ByAddress<TimerId>,
    callbacks: ByAddress<CallbackId>,
    state_machines: ByAddress<NodeId>,
    ipbs: ByAddress<SubscriptionId>,
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
        self.ipbs.get(&(process, *ipb)).copied()
    }

    /// The node of a life-cycle state machine.
    pub fn lifecycle_node(&self, process: ProcessId, state_machine: Address) -> Option<NodeId> {
        self.state_machines.get(&(process, state_machine)).copied()
    }

    /// Takes an event that creates or names something; others have no effect.
    pub fn observe(&mut self, time_ns: i64, process: ProcessId, body: &Body<'_>) -> Observed {
        match *body {
            Body::RclInit { version } => {
                self.graph.processes[process].tracetools_version = Some(version.to_owned());
            }
            Body::NodeInit {
                node,
                name,
                namespace,
            } => return Observed::Node(self.node_init(process, node, name, namespace)),
            Body::RmwPublisherInit { rmw_publisher, gid } => {
                self.gids.insert((process, rmw_publisher), gid.into());
            }
            Body::PublisherInit { .. } | Body::SubscriptionInit { .. } => {
                self.endpoint_init(process, body);
            }
            Body::RclcppSubscriptionInit {
                subscription,
                object,
            } => {
                if let Some(&id) = self.subscriptions.get(&(process, subscription)) {
                    self.objects.insert((process, object), id);
                }
            }
            Body::ServiceInit { .. }
            | Body::ClientInit { .. }
            | Body::TimerInit { .. }
            | Body::TimerLinkNode { .. } => self.timer_or_service(time_ns, process, body),
            Body::SubscriptionCallbackAdded { .. }
            | Body::ServiceCallbackAdded { .. }
            | Body::TimerCallbackAdded { .. } => self.callback_added(process, body),
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
                if let Some(&id) = self.objects.get(&(process, object)) {
                    self.ipbs.insert((process, ipb), id);
                }
            }
            Body::BufferToIpb { buffer, ipb } => {
                self.buffers.insert((process, buffer), ipb);
            }
            Body::MessageLink { .. } => self.message_link(process, body),
            _ => return Observed::Nothing,
        }
        Observed::Entity
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
            } => {
                let node = self.node(process, node);
                let id = self.graph.services.push(Service {
                    node,
                    name: name.to_owned(),
                });
                self.services.insert((process, service), id);
            }
            Body::ClientInit { node, name } => {
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
                self.timers.insert((process, timer), id);
            }
            Body::TimerLinkNode { timer, node } => {
                let node = self.node(process, node);
                if let Some(&id) = self.timers.get(&(process, timer)) {
                    self.graph.timers[id].node = Some(node);
                }
            }
            _ => {}
        }
    }

    fn callback_added(&mut self, process: ProcessId, body: &Body<'_>) {
        match *body {
            Body::SubscriptionCallbackAdded { object, callback } => {
                let Some(&id) = self.objects.get(&(process, object)) else {
                    return;
                };
                if let Some(known) = self.graph.subscriptions[id].callback {
                    // With intra-process communication rclcpp copies the callback:
                    // two addresses, one callback.
                    self.callbacks.insert((process, callback), known);
                    return;
                }
                let added = self.claim(process, callback, Owner::Subscription(id));
                self.graph.subscriptions[id].callback = Some(added);
            }
            Body::ServiceCallbackAdded { service, callback } => {
                if let Some(&id) = self.services.get(&(process, service)) {
                    self.claim(process, callback, Owner::Service(id));
                }
            }
            Body::TimerCallbackAdded { timer, callback } => {
                if let Some(&id) = self.timers.get(&(process, timer)) {
                    let added = self.claim(process, callback, Owner::Timer(id));
                    self.graph.timers[id].callback = Some(added);
                }
            }
            _ => {}
        }
    }

    /// Gives a callback its owner. An address that already has one is used again.
    fn claim(&mut self, process: ProcessId, address: Address, owner: Owner) -> CallbackId {
        let mut id = self.callback(process, address);
        if self.graph.callbacks[id].owner != Owner::Unknown {
            self.callbacks.remove(&(process, address));
            id = self.callback(process, address);
        }
        self.graph.callbacks[id].owner = owner;
        id
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
