//! Endpoints that rclcpp and rmw_cyclonedds create without being asked (MEASURING §1).
//!
//! They exist in DDS with the names, types and QoS of ROS 2 and take part in discovery and in waiting;
//! no data goes over them. Sources: rclcpp `node_interfaces` (constructor order of `Node`),
//! `time_source.cpp` (its subscription to /parameter_events exists with and without use_sim_time),
//! `parameter_service.cpp`; rmw `qos_profiles.h`; rmw_dds_common for `ros_discovery_info`.
//! Differences: the content of `ros_discovery_info` is not written, and the thread that rmw_cyclonedds
//! keeps to read it is left out.

use std::sync::Arc;

use stowplan_ctf::events::ros2::{
    RclClientInit, RclServiceInit, RclcppCallbackRegister, RclcppServiceCallbackAdded,
};
use stowplan_ctf::schema::Handle;
use stowplan_wire::service::ProfilePlan;

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

/// `rmw_qos_profile_services_default`.
const SERVICES: Qos = Qos {
    history: History::KeepLast(10),
    ..PARAMETERS
};

/// Writer of `ros_discovery_info`, as rmw_cyclonedds_cpp's `init_rmw_context_impl` makes it.
const DISCOVERY_WRITER: Qos = Qos {
    durability: Durability::TransientLocal,
    history: History::KeepLast(1),
    ..PARAMETERS
};

/// Its reader keeps all.
const DISCOVERY_READER: Qos = Qos {
    history: History::KeepAll,
    ..DISCOVERY_WRITER
};

const PARAMETER_EVENT: &str = "rcl_interfaces::msg::dds_::ParameterEvent_";

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

/// Creates `ros_discovery_info`'s endpoints of a participant.
///
/// # Errors
/// When CycloneDDS refuses one.
pub fn discovery_endpoints(participant: &Participant) -> Result<(), DdsError> {
    let topic = participant.topic(
        "ros_discovery_info",
        "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
    )?;
    Writer::new(participant, topic, &DISCOVERY_WRITER, None)?;
    Reader::new(participant, topic, &DISCOVERY_READER, None, None)?;
    Ok(())
}

/// Creates what a node has before its own endpoints.
///
/// # Errors
/// When CycloneDDS refuses one.
pub(super) fn node_endpoints(
    process: &Process,
    executor: &Executor,
    group: usize,
    node: u64,
    name: &str,
) -> Result<(), DdsError> {
    let profile = process.profile();
    if profile == ProfilePlan::Minimal {
        return Ok(());
    }
    let participant = &process.participant;
    publisher(
        participant,
        node,
        "/rosout",
        "rcl_interfaces::msg::dds_::Log_",
        &ROSOUT,
    )?;
    publisher(
        participant,
        node,
        "/parameter_events",
        PARAMETER_EVENT,
        &PARAMETERS,
    )?;
    for service in &PARAMETER_SERVICES {
        add_service(process, executor, group, node, name, service, &PARAMETERS)?;
    }
    if profile == ProfilePlan::Jazzy {
        add_service(
            process,
            executor,
            group,
            node,
            name,
            &TYPE_DESCRIPTION,
            &SERVICES,
        )?;
    }
    parameter_subscription(process, executor, group, node)
}

/// Creates the service of a component container that loads nodes, which its launcher looks for.
///
/// # Errors
/// When CycloneDDS refuses.
pub fn container_service(
    process: &Process,
    executor: &Executor,
    group: usize,
    node: u64,
    name: &str,
) -> Result<(), DdsError> {
    add_service(process, executor, group, node, name, &LOAD_NODE, &SERVICES)
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
) -> Result<(), DdsError> {
    if profile == ProfilePlan::Minimal {
        return Ok(());
    }
    discovery_endpoints(participant)?;
    publisher(
        participant,
        0,
        "/rosout",
        "rcl_interfaces::msg::dds_::Log_",
        &ROSOUT,
    )?;
    publisher(
        participant,
        0,
        "/parameter_events",
        PARAMETER_EVENT,
        &PARAMETERS,
    )?;
    for service in &PARAMETER_SERVICES {
        service_endpoints(participant, 0, name, service, &PARAMETERS)?;
    }
    if profile == ProfilePlan::Jazzy {
        service_endpoints(participant, 0, name, &TYPE_DESCRIPTION, &SERVICES)?;
    }
    Ok(())
}

/// The launcher's client of a container's service: matched once the service is discovered.
///
/// # Errors
/// When CycloneDDS refuses.
pub fn load_client(
    participant: &Participant,
    container: &str,
) -> Result<&'static Matching, DdsError> {
    let matching = Matching::leak().map_err(|error| DdsError {
        what: "watch for a container".into(),
        reason: error.to_string(),
    })?;
    let (requests, replies) = service_topics(container, &LOAD_NODE);
    let hooks = || Hooks::leak(matching, 0, 1);
    let topic = participant.topic(&requests.0, &requests.1)?;
    Writer::new(participant, topic, &SERVICES, Some(hooks()))?;
    let topic = participant.topic(&replies.0, &replies.1)?;
    Reader::new(participant, topic, &SERVICES, Some(hooks()), None)?;
    record::event(&RclClientInit {
        client_handle: Handle(new_handle()),
        node_handle: Handle(0),
        rmw_client_handle: Handle(new_handle()),
        service_name: &format!("/{container}/{}", LOAD_NODE.0),
    });
    matching.seal();
    Ok(matching)
}

/// Names and types of a service's two topics: requests, replies.
fn service_topics(node: &str, service: &(&str, &str)) -> ((String, String), (String, String)) {
    let (name, kind) = service;
    (
        (
            format!("rq/{node}/{name}Request"),
            format!("{kind}_Request_"),
        ),
        (
            format!("rr/{node}/{name}Reply"),
            format!("{kind}_Response_"),
        ),
    )
}

fn publisher(
    participant: &Participant,
    node: u64,
    name: &str,
    kind: &str,
    qos: &Qos,
) -> Result<(), DdsError> {
    let topic = participant.topic(&format!("rt{name}"), kind)?;
    let writer = Writer::new(participant, topic, qos, None)?;
    record_publisher(node, name, 1000, writer.gid());
    Ok(())
}

fn add_service(
    process: &Process,
    executor: &Executor,
    group: usize,
    node: u64,
    name: &str,
    service: &(&str, &str),
    qos: &Qos,
) -> Result<(), DdsError> {
    let (handle, reader) = service_endpoints(&process.participant, node, name, service, qos)?;
    add_idle(executor, Class::Service, group, handle, reader)
}

/// Creates and records a service server; its handle and its reader of requests.
fn service_endpoints(
    participant: &Participant,
    node: u64,
    name: &str,
    service: &(&str, &str),
    qos: &Qos,
) -> Result<(u64, Reader), DdsError> {
    let (requests, replies) = service_topics(name, service);
    let topic = participant.topic(&requests.0, &requests.1)?;
    let reader = Reader::new(participant, topic, qos, None, None)?;
    let topic = participant.topic(&replies.0, &replies.1)?;
    Writer::new(participant, topic, qos, None)?;
    let handle = new_handle();
    record::event(&RclServiceInit {
        service_handle: Handle(handle),
        node_handle: Handle(node),
        rmw_service_handle: Handle(new_handle()),
        service_name: &format!("/{name}/{}", service.0),
    });
    record::event(&RclcppServiceCallbackAdded {
        service_handle: Handle(handle),
        callback: Handle(new_handle()),
    });
    Ok((handle, reader))
}

fn parameter_subscription(
    process: &Process,
    executor: &Executor,
    group: usize,
    node: u64,
) -> Result<(), DdsError> {
    let participant = &process.participant;
    let topic = participant.topic("rt/parameter_events", PARAMETER_EVENT)?;
    let reader = Reader::new(participant, topic, &PARAMETERS, None, None)?;
    let handles = SubscriptionHandles::new();
    let callback = new_handle();
    handles.record(node, "/parameter_events", 1000, reader.gid(), callback);
    record::event(&RclcppCallbackRegister {
        callback: Handle(callback),
        symbol: "rclcpp::TimeSource::on_parameter_event",
    });
    add_idle(executor, Class::Subscription, group, handles.rcl, reader)
}

fn add_idle(
    executor: &Executor,
    class: Class,
    group: usize,
    handle: u64,
    reader: Reader,
) -> Result<(), DdsError> {
    let condition = reader.condition();
    let idle = IdleEndpoint { handle, reader };
    executor.add(
        class,
        group,
        Runnable::Idle(Arc::new(idle)),
        Some(condition),
        None,
    )
}
