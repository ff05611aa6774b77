//! Endpoints that rclcpp and rmw_cyclonedds create without being asked (docs/measuring.md §1).
//!
//! They exist in DDS with the names, types and QoS of ROS 2 and take part in discovery and in waiting;
//! no data goes over them. Sources: rclcpp `node_interfaces` (constructor order of `Node`),
//! `time_source.cpp` (its subscription to /parameter_events exists with and without use_sim_time),
//! `parameter_service.cpp`; rmw `qos_profiles.h`. `ros_discovery_info` is in `discovery`.
//! Difference: the thread of its own on which rclcpp executes each node's subscription to /clock is left out.

use std::sync::Arc;

use stowplan_ctf::events::ros2::{
    RclClientInit, RclServiceInit, RclcppCallbackRegister, RclcppServiceCallbackAdded,
};
use stowplan_ctf::schema::Handle;
use stowplan_wire::service::{NodeOptionsPlan, ProfilePlan};

use super::discovery::{Discovery, NodeEntities};
use super::publisher::record_publisher;
use super::subscription::SubscriptionHandles;
use super::{Process, Runnable, ThreadContext, new_handle};
use crate::dds::{
    DdsError, Durability, History, Hooks, Matching, Participant, Qos, Reader, Reliability, Writer,
};
use crate::executor::Executor;
use crate::executor::schedule::Class;
use crate::record;

/// `rmw_qos_profile_rosout_default`: late readers get it, for ten seconds.
const ROSOUT: Qos = Qos {
    reliability: Reliability::Reliable,
    durability: Durability::TransientLocal,
    history: History::KeepLast(1000),
    lifespan_ns: Some(10_000_000_000),
    ignore_local: false,
    partition: None,
};

/// `rmw_qos_profile_parameter_events` and `rmw_qos_profile_parameters`.
const PARAMETERS: Qos = Qos {
    reliability: Reliability::Reliable,
    durability: Durability::Volatile,
    history: History::KeepLast(1000),
    lifespan_ns: None,
    ignore_local: false,
    partition: None,
};

/// `rclcpp::ClockQoS`.
const CLOCK: Qos = Qos {
    reliability: Reliability::BestEffort,
    history: History::KeepLast(1),
    ..PARAMETERS
};

/// `rmw_qos_profile_services_default`.
const SERVICES: Qos = Qos {
    history: History::KeepLast(10),
    ..PARAMETERS
};

const PARAMETER_EVENT: &str = "rcl_interfaces::msg::dds_::ParameterEvent_";
const LOG: &str = "rcl_interfaces::msg::dds_::Log_";

/// Parameter services in the order in which rclcpp creates them: name and type.
const PARAMETER_SERVICES: [(&str, &str); 6] = [
    ("get_parameters", "rcl_interfaces::srv::dds_::GetParameters"),
    (
        "get_parameter_types",
        "rcl_interfaces::srv::dds_::GetParameterTypes",
    ),
    ("set_parameters", "rcl_interfaces::srv::dds_::SetParameters"),
    (
        "set_parameters_atomically",
        "rcl_interfaces::srv::dds_::SetParametersAtomically",
    ),
    (
        "describe_parameters",
        "rcl_interfaces::srv::dds_::DescribeParameters",
    ),
    (
        "list_parameters",
        "rcl_interfaces::srv::dds_::ListParameters",
    ),
];

/// Every node has it since Iron.
const TYPE_DESCRIPTION: (&str, &str) = (
    "get_type_description",
    "type_description_interfaces::srv::dds_::GetTypeDescription",
);

/// The service that loads components, of each container.
const LOAD_NODE: (&str, &str) = (
    "_container/load_node",
    "composition_interfaces::srv::dds_::LoadNode",
);

/// Services of a container in the order in which rclcpp_components creates them.
const CONTAINER_SERVICES: [(&str, &str); 3] = [
    LOAD_NODE,
    (
        "_container/unload_node",
        "composition_interfaces::srv::dds_::UnloadNode",
    ),
    (
        "_container/list_nodes",
        "composition_interfaces::srv::dds_::ListNodes",
    ),
];

/// Type of a service of which only the name is known.
const UNKNOWN_TYPE: &str = "stowplan_msgs::srv::dds_::Service";

/// A subscription that rclcpp's time source makes.
struct ImplicitSubscription {
    name: &'static str,
    kind: &'static str,
    qos: &'static Qos,
    depth: u32,
    symbol: &'static str,
}

/// Of every node.
const PARAMETER_SUBSCRIPTION: ImplicitSubscription = ImplicitSubscription {
    name: "/parameter_events",
    kind: PARAMETER_EVENT,
    qos: &PARAMETERS,
    depth: 1000,
    symbol: "rclcpp::TimeSource::on_parameter_event",
};

/// Of a node with `use_sim_time`, made before the other.
const CLOCK_SUBSCRIPTION: ImplicitSubscription = ImplicitSubscription {
    name: "/clock",
    kind: "rosgraph_msgs::msg::dds_::Clock_",
    qos: &CLOCK,
    depth: 1,
    symbol: "rclcpp::TimeSource::clock_cb",
};

/// An endpoint that waits for data which does not come.
#[derive(Debug)]
pub struct IdleEndpoint {
    handle: u64,
    reader: Reader,
}

impl IdleEndpoint {
    /// The handle that executor events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handle
    }

    /// Takes what came after all, as from a real ROS program in the domain, and drops it.
    pub fn execute(&self, context: &mut ThreadContext) {
        // What cannot be taken stays; there is nobody to tell.
        let _dropped = self.reader.take(&mut context.buffer);
    }
}

/// A node of which rclcpp makes the endpoints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host<'a> {
    pub process: &'a Process,
    pub executor: &'a Executor,
    /// Its default callback group.
    pub group: usize,
    /// Its handle.
    pub node: u64,
    /// Its name with its namespace, without the first slash.
    pub name: &'a str,
}

impl Host<'_> {
    /// Creates what a node has before its own endpoints.
    ///
    /// # Errors
    /// When CycloneDDS refuses one.
    pub(super) fn endpoints(
        self,
        options: NodeOptionsPlan,
        entities: &mut NodeEntities,
    ) -> Result<(), DdsError> {
        let profile = self.process.profile();
        if profile == ProfilePlan::Minimal {
            return Ok(());
        }
        let participant = &self.process.participant;
        publishers(participant, self.node, options, entities)?;
        if options.parameter_services {
            for service in &PARAMETER_SERVICES {
                self.service(service, &PARAMETERS, entities)?;
            }
        }
        if profile == ProfilePlan::Jazzy && options.type_description_service {
            self.service(&TYPE_DESCRIPTION, &SERVICES, entities)?;
        }
        if self.process.own().use_sim_time {
            self.subscription(&CLOCK_SUBSCRIPTION, entities)?;
        }
        if options.parameter_event_subscription {
            self.subscription(&PARAMETER_SUBSCRIPTION, entities)?;
        }
        Ok(())
    }

    /// Creates the services of a component container, of which the launcher looks for the first.
    ///
    /// # Errors
    /// When CycloneDDS refuses one.
    pub(super) fn container_services(self, entities: &mut NodeEntities) -> Result<(), DdsError> {
        if self.process.profile() == ProfilePlan::Minimal {
            return Ok(());
        }
        let mut services = CONTAINER_SERVICES.iter();
        services.try_for_each(|service| self.service(service, &SERVICES, entities))
    }

    /// Creates a service that nobody calls, by its full ROS name.
    ///
    /// # Errors
    /// When CycloneDDS refuses it.
    pub(super) fn named_service(
        self,
        name: &str,
        entities: &mut NodeEntities,
    ) -> Result<(), DdsError> {
        let participant = &self.process.participant;
        let (kind, qos) = type_of(name);
        let (handle, reader) =
            service_endpoints(participant, self.node, name, kind, qos, entities)?;
        self.idle(Class::Service, handle, reader)
    }

    /// Creates a client that calls nothing, of a service by its full ROS name.
    ///
    /// # Errors
    /// When CycloneDDS refuses it.
    pub(super) fn named_client(
        self,
        name: &str,
        entities: &mut NodeEntities,
    ) -> Result<(), DdsError> {
        let participant = &self.process.participant;
        let (kind, qos) = type_of(name);
        let (requests, replies) = service_topics(name, kind);
        let topic = participant.topic(&requests.0, &requests.1)?;
        let writer = Writer::new(participant, topic, qos, None)?;
        let topic = participant.topic(&replies.0, &replies.1)?;
        let reader = Reader::new(participant, topic, qos, None, None)?;
        entities.writer(writer.gid());
        entities.reader(reader.gid());
        let handle = record_client(self.node, name);
        self.idle(Class::Client, handle, reader)
    }

    fn service(
        self,
        service: &(&str, &str),
        qos: &Qos,
        entities: &mut NodeEntities,
    ) -> Result<(), DdsError> {
        let participant = &self.process.participant;
        let (part, kind) = service;
        let name = format!("/{}/{part}", self.name);
        let (handle, reader) =
            service_endpoints(participant, self.node, &name, kind, qos, entities)?;
        self.idle(Class::Service, handle, reader)
    }

    fn subscription(
        self,
        subscription: &ImplicitSubscription,
        entities: &mut NodeEntities,
    ) -> Result<(), DdsError> {
        let ImplicitSubscription {
            name,
            kind,
            qos,
            depth,
            symbol,
        } = *subscription;
        let participant = &self.process.participant;
        let topic = participant.topic(&format!("rt{name}"), kind)?;
        let reader = Reader::new(participant, topic, qos, None, None)?;
        entities.reader(reader.gid());
        let handles = SubscriptionHandles::new();
        let callback = new_handle();
        handles.record(self.node, name, depth, reader.gid(), callback, None);
        record::event(&RclcppCallbackRegister {
            callback: Handle(callback),
            symbol,
        });
        self.idle(Class::Subscription, handles.rcl, reader)
    }

    pub(super) fn idle(self, class: Class, handle: u64, reader: Reader) -> Result<(), DdsError> {
        let condition = reader.condition();
        let idle = Runnable::Idle(Arc::new(IdleEndpoint { handle, reader }));
        self.executor
            .add(class, self.group, idle, Some(condition), None)
    }
}

/// Creates a component container's own node where the stack does not have it.
///
/// # Errors
/// When CycloneDDS refuses.
pub fn container_node(
    process: &Process,
    executor: &Executor,
    group: usize,
    node: u64,
) -> Result<(), DdsError> {
    let (namespace, name) = (&process.plan.service, &process.own().name);
    let host = Host {
        process,
        executor,
        group,
        node,
        name: &format!("{namespace}/{name}"),
    };
    let mut entities = NodeEntities::new(&format!("/{namespace}"), name);
    let options = NodeOptionsPlan {
        parameter_services: false,
        parameter_event_publisher: false,
        ..NodeOptionsPlan::default()
    };
    host.endpoints(options, &mut entities)?;
    host.container_services(&mut entities)?;
    process.tell_node(entities)
}

/// Creates the endpoints of the node that `ros2 launch` itself has: an rclpy node, so without a
/// subscription to /parameter_events. Nobody executes it here, as nobody asks it anything.
///
/// # Errors
/// When CycloneDDS refuses one.
pub fn launch_endpoints(
    participant: &Participant,
    profile: ProfilePlan,
    name: &str,
) -> Result<Option<Discovery>, DdsError> {
    let Some(discovery) = Discovery::start(participant, profile)? else {
        return Ok(None);
    };
    let mut entities = NodeEntities::new("/", name);
    publishers(participant, 0, NodeOptionsPlan::default(), &mut entities)?;
    let described = (profile == ProfilePlan::Jazzy).then_some((&TYPE_DESCRIPTION, &SERVICES));
    let services = PARAMETER_SERVICES.iter().map(|s| (s, &PARAMETERS));
    for ((part, kind), qos) in services.chain(described) {
        let name = format!("/{name}/{part}");
        service_endpoints(participant, 0, &name, kind, qos, &mut entities)?;
    }
    discovery.add(entities)?;
    Ok(Some(discovery))
}

/// The launcher's client of a container's service: matched once the service is discovered.
///
/// # Errors
/// When CycloneDDS refuses.
pub fn load_client(
    participant: &Participant,
    discovery: Option<&Discovery>,
    container: &str,
) -> Result<&'static Matching, DdsError> {
    let matching = Matching::leak().map_err(|error| DdsError {
        what: "watch for a container".into(),
        reason: error.to_string(),
    })?;
    let name = format!("/{container}/{}", LOAD_NODE.0);
    let (requests, replies) = service_topics(&name, LOAD_NODE.1);
    let hooks = || Hooks::leak(matching, 0, 1);
    let topic = participant.topic(&requests.0, &requests.1)?;
    let writer = Writer::new(participant, topic, &SERVICES, Some(hooks()))?;
    let topic = participant.topic(&replies.0, &replies.1)?;
    let reader = Reader::new(participant, topic, &SERVICES, Some(hooks()), None)?;
    if let Some(discovery) = discovery {
        discovery.extend_first(|launch| {
            launch.writer(writer.gid());
            launch.reader(reader.gid());
        })?;
    }
    record_client(0, &name);
    matching.seal();
    Ok(matching)
}

/// Records a new client and returns its handle.
fn record_client(node: u64, service_name: &str) -> u64 {
    let handle = new_handle();
    record::event(&RclClientInit {
        client_handle: Handle(handle),
        node_handle: Handle(node),
        rmw_client_handle: Handle(new_handle()),
        service_name,
    });
    handle
}

/// Type and quality of service of a service by its full name: those that every node or container has are known.
fn type_of(name: &str) -> (&'static str, &'static Qos) {
    let is = |part: &str| name.strip_suffix(part).is_some_and(|n| n.ends_with('/'));
    let parameter = PARAMETER_SERVICES.iter().map(|s| (s, &PARAMETERS));
    let other = CONTAINER_SERVICES.iter().chain([&TYPE_DESCRIPTION]);
    let mut known = parameter.chain(other.map(|s| (s, &SERVICES)));
    known
        .find(|((part, _), _)| is(part))
        .map_or((UNKNOWN_TYPE, &SERVICES), |((_, kind), qos)| (kind, qos))
}

/// The DDS type of a topic that every node knows; `None` of any other.
pub(super) fn implicit_type(topic: &str) -> Option<&'static str> {
    match topic {
        "/rosout" => Some(LOG),
        "/parameter_events" => Some(PARAMETER_EVENT),
        _ => None,
    }
}

/// Names and types of the two topics of a service with this full ROS name: requests, replies.
fn service_topics(name: &str, kind: &str) -> ((String, String), (String, String)) {
    (
        (format!("rq{name}Request"), format!("{kind}_Request_")),
        (format!("rr{name}Reply"), format!("{kind}_Response_")),
    )
}

/// Creates and records what a node publishes on without being asked.
fn publishers(
    participant: &Participant,
    node: u64,
    options: NodeOptionsPlan,
    entities: &mut NodeEntities,
) -> Result<(), DdsError> {
    let rosout = ("/rosout", LOG, &ROSOUT);
    let events = ("/parameter_events", PARAMETER_EVENT, &PARAMETERS);
    let wanted = [
        options.rosout.then_some(rosout),
        options.parameter_event_publisher.then_some(events),
    ];
    for (name, kind, qos) in wanted.into_iter().flatten() {
        let topic = participant.topic(&format!("rt{name}"), kind)?;
        let writer = Writer::new(participant, topic, qos, None)?;
        entities.writer(writer.gid());
        record_publisher(node, name, 1000, writer.gid());
    }
    Ok(())
}

/// Creates and records a service server with this full ROS name; its handle and its reader of requests.
fn service_endpoints(
    participant: &Participant,
    node: u64,
    name: &str,
    kind: &str,
    qos: &Qos,
    entities: &mut NodeEntities,
) -> Result<(u64, Reader), DdsError> {
    let (requests, replies) = service_topics(name, kind);
    let topic = participant.topic(&requests.0, &requests.1)?;
    let reader = Reader::new(participant, topic, qos, None, None)?;
    let topic = participant.topic(&replies.0, &replies.1)?;
    let writer = Writer::new(participant, topic, qos, None)?;
    entities.reader(reader.gid());
    entities.writer(writer.gid());
    let handle = new_handle();
    record::event(&RclServiceInit {
        service_handle: Handle(handle),
        node_handle: Handle(node),
        rmw_service_handle: Handle(new_handle()),
        service_name: name,
    });
    record::event(&RclcppServiceCallbackAdded {
        service_handle: Handle(handle),
        callback: Handle(new_handle()),
    });
    Ok((handle, reader))
}
