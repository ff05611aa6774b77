//! The entities of a trace: processes, threads, nodes, endpoints, timers, callbacks.

use crate::event::ProcessKey;
use crate::ids::{
    CallbackId, ClientId, Id, NodeId, ProcessId, PublisherId, ServiceId, SubscriptionId, Table,
    ThreadId, TimerId, TopicId,
};

/// A process.
#[derive(Debug, Clone)]
pub struct Process {
    /// What identifies it.
    pub key: ProcessKey,
    /// Traces that hold its events, named as in [`ProcessKey::trace`].
    pub traces: Vec<String>,
    /// Its `comm`, where the trace has it.
    pub name: Option<String>,
    /// CLOCK_REALTIME - trace clock, nanoseconds; needed where links rest on
    /// source timestamps alone.
    pub realtime_offset_ns: Option<i64>,
    /// tracetools version.
    pub tracetools_version: Option<String>,
    /// Distribution of ROS 2, where the trace names it.
    pub distribution: Option<String>,
    /// Whether the trace has its `rcl_init`: then what it made afterwards is in the trace, too.
    pub initialised: bool,
    /// Which kinds of events its distribution has.
    pub kinds: EventKinds,
    /// Time of its first event, nanoseconds.
    pub first_ns: i64,
    /// Time of its last event, nanoseconds.
    pub last_ns: i64,
}

/// Kinds of events that not every distribution has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKinds {
    /// Takes of messages, by any tracer.
    pub takes: bool,
    /// The entry of a publication into the middleware.
    pub rmw_publish: bool,
    /// Arrivals of messages in a reader's cache: by Stowplan's node program.
    pub arrivals: bool,
}

impl Default for EventKinds {
    /// All.
    fn default() -> Self {
        Self {
            takes: true,
            rmw_publish: true,
            arrivals: true,
        }
    }
}

/// Subscriptions whose messages a publication of the node rests on, as the program
/// itself says (`ros2:message_link_*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageLink {
    /// Inputs.
    pub subscriptions: Vec<SubscriptionId>,
    /// Outputs.
    pub publishers: Vec<PublisherId>,
    /// Whether the publication waits for all inputs (`partial_sync`); else a timer
    /// uses what is there (`periodic_async`).
    pub synchronised: bool,
}

/// A thread.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// Its number as the process sees it.
    pub vtid: i64,
    /// Whether an executor runs on it.
    pub executor: bool,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its process.
    pub process: ProcessId,
    /// Name without namespace; `None` if the trace begins after its creation.
    pub name: Option<String>,
    /// Namespace with leading slash.
    pub namespace: String,
}

impl Node {
    /// Namespace and name, or a statement that the trace does not have them.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.name {
            None => "(node without rcl_node_init)".to_owned(),
            Some(name) => format!("{}/{name}", self.namespace.trim_end_matches('/')),
        }
    }

    /// Whether `name` is its name: with its namespace if `name` has a slash, else without.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        if name.contains('/') {
            self.name.is_some() && self.full_name() == name
        } else {
            self.name.as_deref() == Some(name)
        }
    }
}

/// A publisher.
#[derive(Debug, Clone)]
pub struct Publisher {
    /// Its process.
    pub process: ProcessId,
    /// Its node; `None` if the trace begins after its creation.
    pub node: Option<NodeId>,
    /// Its topic; `None` if the trace begins after its creation.
    pub topic: Option<TopicId>,
    /// History depth in messages.
    pub depth: Option<u64>,
    /// DDS identifier, 16 or 24 bytes.
    pub gid: Option<Box<[u8]>>,
}

/// A subscription.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Its process.
    pub process: ProcessId,
    /// Its node.
    pub node: NodeId,
    /// Its topic.
    pub topic: TopicId,
    /// History depth in messages.
    pub depth: u64,
    /// Its callback.
    pub callback: Option<CallbackId>,
}

/// A timer.
#[derive(Debug, Clone)]
pub struct Timer {
    /// Its node; `None` where the trace does not link it.
    pub node: Option<NodeId>,
    /// Period in nanoseconds.
    pub period_ns: i64,
    /// Its callback.
    pub callback: Option<CallbackId>,
    /// When it was created, nanoseconds of the trace's clock.
    pub init_ns: i64,
}

/// A service server.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its node.
    pub node: NodeId,
    /// Full service name.
    pub name: String,
}

/// A service client.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its node.
    pub node: NodeId,
    /// Full service name.
    pub name: String,
}

/// What a callback belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A timer.
    Timer(TimerId),
    /// A subscription.
    Subscription(SubscriptionId),
    /// A service server.
    Service(ServiceId),
    /// A service client: index into [`Graph::clients`].
    Client(ClientId),
    /// Not in the trace; [`Callback::missing`] says which event lacks.
    Unknown,
}

/// The events that together say whose a callback is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CreationEvent {
    /// `rclcpp_subscription_callback_added`, `rclcpp_timer_callback_added` or
    /// `rclcpp_service_callback_added`.
    CallbackAdded,
    /// The object that the callback was added to is of no known subscription.
    RclcppSubscriptionInit,
    /// The topic of the subscription is not known.
    RclSubscriptionInit,
    /// The timer that the callback was added to is not known.
    RclTimerInit,
    /// The service that the callback was added to is not known.
    RclServiceInit,
}

impl CreationEvent {
    /// Its name in a trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CallbackAdded => "rclcpp_*_callback_added",
            Self::RclcppSubscriptionInit => "rclcpp_subscription_init",
            Self::RclSubscriptionInit => "rcl_subscription_init",
            Self::RclTimerInit => "rcl_timer_init",
            Self::RclServiceInit => "rcl_service_init",
        }
    }
}

/// A callback.
#[derive(Debug, Clone)]
pub struct Callback {
    /// Its process.
    pub process: ProcessId,
    /// What it belongs to.
    pub owner: Owner,
    /// While the owner is unknown: the first event of its creation that the trace lacks.
    pub missing: Option<CreationEvent>,
    /// Name of the function, as the trace has it.
    pub symbol: Option<String>,
    /// Which of the callbacks with the same owner kind, topic or period and symbol
    /// of its node it is, in order of creation: lambdas share their symbol.
    pub ordinal: u32,
}

/// Topics that ROS 2 itself has.
const INFRASTRUCTURE: [&str; 3] = ["/rosout", "/parameter_events", "/clock"];

/// Whether a topic of this name belongs to ROS 2 itself: logging, parameters, simulated time.
#[must_use]
pub fn is_infrastructure(topic: &str) -> bool {
    INFRASTRUCTURE.contains(&topic)
}

/// All entities.
#[derive(Debug, Default)]
pub struct Graph {
    /// Processes.
    pub processes: Table<ProcessId, Process>,
    /// Threads.
    pub threads: Table<ThreadId, Thread>,
    /// Nodes.
    pub nodes: Table<NodeId, Node>,
    /// Topic names.
    pub topics: Table<TopicId, String>,
    /// Publishers.
    pub publishers: Table<PublisherId, Publisher>,
    /// Subscriptions.
    pub subscriptions: Table<SubscriptionId, Subscription>,
    /// Timers.
    pub timers: Table<TimerId, Timer>,
    /// Service servers.
    pub services: Table<ServiceId, Service>,
    /// Callbacks.
    pub callbacks: Table<CallbackId, Callback>,
    /// Service clients.
    pub clients: Vec<Client>,
    /// What programs say of the causes of their publications.
    pub message_links: Vec<MessageLink>,
    /// Events of ROS 2 that were left out because the trace lacks their context `vpid`: two
    /// processes can have equal addresses.
    pub without_vpid: u64,
    /// Events of ROS 2 without the context `vtid`: their callbacks have a number of calls and
    /// no durations, and their messages have no links.
    pub without_vtid: u64,
}

/// What starts a callback, in words that survive across runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// A timer with this period in nanoseconds.
    Timer(i64),
    /// A message on this topic.
    Subscription(String),
    /// A request to this service.
    Service(String),
    /// A response of this service.
    Client(String),
    /// Not in the trace.
    Unknown,
}

/// Whom a callback is, as its trace names it. Which one it is in the trace of another
/// start, [`Matching`](crate::Matching) says: names may have addresses in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallbackIdentity {
    /// Full node name, where the trace has it.
    pub node: Option<String>,
    /// What starts it.
    pub trigger: Trigger,
    /// Its symbol.
    pub symbol: Option<String>,
    /// See [`Callback::ordinal`].
    pub ordinal: u32,
}

impl Graph {
    /// The node of a callback.
    #[must_use]
    pub fn node_of(&self, callback: CallbackId) -> Option<NodeId> {
        match self.callbacks[callback].owner {
            Owner::Timer(timer) => self.timers[timer].node,
            Owner::Subscription(subscription) => Some(self.subscriptions[subscription].node),
            Owner::Service(service) => Some(self.services[service].node),
            Owner::Client(client) => Some(self.clients[client.index()].node),
            Owner::Unknown => None,
        }
    }

    /// The topic that starts a callback.
    #[must_use]
    pub fn topic_of(&self, callback: CallbackId) -> Option<TopicId> {
        match self.callbacks[callback].owner {
            Owner::Subscription(subscription) => Some(self.subscriptions[subscription].topic),
            _ => None,
        }
    }

    /// What starts a callback.
    #[must_use]
    pub fn trigger_of(&self, callback: CallbackId) -> Trigger {
        match self.callbacks[callback].owner {
            Owner::Timer(timer) => Trigger::Timer(self.timers[timer].period_ns),
            Owner::Subscription(subscription) => {
                Trigger::Subscription(self.topics[self.subscriptions[subscription].topic].clone())
            }
            Owner::Service(service) => Trigger::Service(self.services[service].name.clone()),
            Owner::Client(client) => Trigger::Client(self.clients[client.index()].name.clone()),
            Owner::Unknown => Trigger::Unknown,
        }
    }

    /// Whom a callback is across runs.
    #[must_use]
    pub fn identity_of(&self, callback: CallbackId) -> CallbackIdentity {
        CallbackIdentity {
            node: self
                .node_of(callback)
                .map(|node| self.nodes[node].full_name()),
            trigger: self.trigger_of(callback),
            symbol: self.callbacks[callback].symbol.clone(),
            ordinal: self.callbacks[callback].ordinal,
        }
    }

    /// A callback in words for messages: node and trigger.
    #[must_use]
    pub fn describe(&self, callback: CallbackId) -> String {
        let node = match self.node_of(callback) {
            Some(node) => self.nodes[node].full_name(),
            None => "(unknown node)".to_owned(),
        };
        match self.trigger_of(callback) {
            Trigger::Timer(period) => format!("{node} timer {period} ns"),
            Trigger::Subscription(topic) => format!("{node} subscription {topic}"),
            Trigger::Service(name) => format!("{node} service {name}"),
            Trigger::Client(name) => format!("{node} client of {name}"),
            Trigger::Unknown => format!("{node} callback"),
        }
    }

    /// Whether a topic belongs to ROS 2 itself: logging, parameters, simulated time.
    #[must_use]
    pub fn is_infrastructure(&self, topic: TopicId) -> bool {
        is_infrastructure(&self.topics[topic])
    }

    /// The topic of this name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<TopicId> {
        self.topics
            .iter()
            .find(|(_, topic)| *topic == name)
            .map(|(id, _)| id)
    }

    /// Gives callbacks that look alike their number in order of creation.
    pub(crate) fn number_callbacks(&mut self) {
        let mut seen = std::collections::HashMap::new();
        let mut ordinals = Vec::with_capacity(self.callbacks.len());
        for (id, callback) in self.callbacks.iter() {
            let node = self.node_of(id).map(|node| self.nodes[node].full_name());
            // Symbols can be thousands of characters long: they are not copied.
            let alike = (node, self.trigger_of(id), callback.symbol.as_deref());
            let count = seen.entry(alike).or_insert(0_u32);
            ordinals.push(*count);
            *count += 1;
        }
        for (id, ordinal) in self.callbacks.ids().zip(ordinals) {
            self.callbacks[id].ordinal = ordinal;
        }
    }
}
