//! Which fields of which event classes the analysis reads, by name: order, size
//! and further fields differ between distributions.

/// An event class that the analysis reads; see [`Body`](crate::event::Body).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    RclInit,
    NodeInit,
    RmwPublisherInit,
    PublisherInit,
    SubscriptionInit,
    RclcppSubscriptionInit,
    SubscriptionCallbackAdded,
    ServiceInit,
    ServiceCallbackAdded,
    ClientInit,
    TimerInit,
    TimerCallbackAdded,
    TimerLinkNode,
    CallbackRegister,
    LifecycleInit,
    LifecycleTransition,
    CallbackStart,
    CallbackEnd,
    RclcppPublish,
    IntraPublish,
    RclPublish,
    RmwPublish,
    RmwTake,
    ExecutorExecute,
    IpbToSubscription,
    BufferToIpb,
    RingEnqueue,
    RingDequeue,
    RingClear,
    MessageLinkAsync,
    MessageLinkSync,
    DdsWrite,
    CaretWrite,
    CaretStamp,
    Dispatch,
    DispatchIntra,
    ProcessStart,
    NodeLoadBegin,
    NodeLoaded,
    LaunchReady,
    EndpointsMatched,
    Arrival,
    Message,
    TimerRelease,
    SourceRelease,
    Armed,
    Disarmed,
    CallbackCpu,
    SampleLost,
    DatagramsDropped,
    CaretInit,
    CaretCopy,
    MessageConstruct,
    RmwClientInit,
    SendRequest,
    TakeRequest,
    SendResponse,
    TakeResponse,
    SchedSwitch,
    SchedOther,
}

/// What is needed of the events of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needed {
    /// All of them: they create or name something.
    All,
    /// Those whose first field has a value that the recorder had not yet: something unnamed may be used.
    FirstOfEach,
    /// Their number.
    Count,
}

impl Kind {
    /// Whether it tells how long callbacks ran, and what kept them.
    pub fn is_of_calls(self) -> bool {
        matches!(
            self,
            K::CallbackStart | K::CallbackEnd | K::CallbackCpu | K::SchedSwitch | K::SchedOther
        )
    }

    /// What an [`Inventory`](crate::Inventory) needs.
    pub fn needed(self) -> Needed {
        match self {
            K::CallbackStart | K::Dispatch | K::DispatchIntra | K::RclPublish | K::IntraPublish => {
                Needed::FirstOfEach
            }
            K::CallbackEnd
            | K::RclcppPublish
            | K::RmwPublish
            | K::RmwTake
            | K::ExecutorExecute
            | K::RingEnqueue
            | K::RingDequeue
            | K::RingClear
            | K::DdsWrite
            | K::CaretWrite
            | K::CaretStamp
            | K::CaretCopy
            | K::MessageConstruct
            | K::Arrival
            | K::Message
            | K::TimerRelease
            | K::SourceRelease
            | K::CallbackCpu
            | K::SendRequest
            | K::TakeRequest
            | K::SendResponse
            | K::TakeResponse
            | K::SchedSwitch
            | K::SchedOther => Needed::Count,
            _ => Needed::All,
        }
    }
}

use Kind as K;

/// Class, kind, fields in the order in which [`Class::read`](crate::ctf_classes::Class::read) numbers them.
pub(crate) const CLASSES: &[(&str, Kind, &[&str])] = &[
    ("ros2:rcl_init", K::RclInit, &["version"]),
    (
        "ros2:rcl_node_init",
        K::NodeInit,
        &["node_handle", "node_name", "namespace"],
    ),
    (
        "ros2:rmw_publisher_init",
        K::RmwPublisherInit,
        &["rmw_publisher_handle", "gid"],
    ),
    (
        "ros2:rcl_publisher_init",
        K::PublisherInit,
        &[
            "publisher_handle",
            "node_handle",
            "rmw_publisher_handle",
            "topic_name",
            "queue_depth",
        ],
    ),
    (
        "ros2:rcl_subscription_init",
        K::SubscriptionInit,
        &[
            "subscription_handle",
            "node_handle",
            "rmw_subscription_handle",
            "topic_name",
            "queue_depth",
        ],
    ),
    (
        "ros2:rclcpp_subscription_init",
        K::RclcppSubscriptionInit,
        &["subscription_handle", "subscription"],
    ),
    (
        "ros2:rclcpp_subscription_callback_added",
        K::SubscriptionCallbackAdded,
        &["subscription", "callback"],
    ),
    (
        "ros2:rcl_service_init",
        K::ServiceInit,
        &[
            "service_handle",
            "node_handle",
            "service_name",
            "rmw_service_handle",
        ],
    ),
    (
        "ros2:rclcpp_service_callback_added",
        K::ServiceCallbackAdded,
        &["service_handle", "callback"],
    ),
    (
        "ros2:rcl_client_init",
        K::ClientInit,
        &["node_handle", "service_name", "rmw_client_handle"],
    ),
    (
        "ros2:rcl_timer_init",
        K::TimerInit,
        &["timer_handle", "period"],
    ),
    (
        "ros2:rclcpp_timer_callback_added",
        K::TimerCallbackAdded,
        &["timer_handle", "callback"],
    ),
    (
        "ros2:rclcpp_timer_link_node",
        K::TimerLinkNode,
        &["timer_handle", "node_handle"],
    ),
    (
        "ros2:rclcpp_callback_register",
        K::CallbackRegister,
        &["callback", "symbol"],
    ),
    (
        "ros2:rcl_lifecycle_state_machine_init",
        K::LifecycleInit,
        &["node_handle", "state_machine"],
    ),
    (
        "ros2:rcl_lifecycle_transition",
        K::LifecycleTransition,
        &["state_machine", "start_label", "goal_label"],
    ),
    (
        "ros2:callback_start",
        K::CallbackStart,
        &["callback", "is_intra_process"],
    ),
    ("ros2:callback_end", K::CallbackEnd, &["callback"]),
    ("ros2:rclcpp_publish", K::RclcppPublish, &["message"]),
    (
        "ros2:rclcpp_intra_publish",
        K::IntraPublish,
        &["publisher_handle", "message"],
    ),
    (
        "ros2:rcl_publish",
        K::RclPublish,
        &["publisher_handle", "message"],
    ),
    ("ros2:rmw_publish", K::RmwPublish, &["message", "timestamp"]),
    (
        "ros2:rmw_take",
        K::RmwTake,
        &[
            "rmw_subscription_handle",
            "message",
            "source_timestamp",
            "taken",
        ],
    ),
    ("ros2:rclcpp_executor_execute", K::ExecutorExecute, &[]),
    (
        "ros2:rclcpp_ipb_to_subscription",
        K::IpbToSubscription,
        &["ipb", "subscription"],
    ),
    (
        "ros2:rclcpp_buffer_to_ipb",
        K::BufferToIpb,
        &["buffer", "ipb"],
    ),
    (
        "ros2:rclcpp_ring_buffer_enqueue",
        K::RingEnqueue,
        &["buffer", "index", "overwritten"],
    ),
    (
        "ros2:rclcpp_ring_buffer_dequeue",
        K::RingDequeue,
        &["buffer", "index"],
    ),
    ("ros2:rclcpp_ring_buffer_clear", K::RingClear, &["buffer"]),
    (
        "ros2:message_link_periodic_async",
        K::MessageLinkAsync,
        &["subs", "pubs"],
    ),
    (
        "ros2:message_link_partial_sync",
        K::MessageLinkSync,
        &["subs", "pubs"],
    ),
    ("dds:write", K::DdsWrite, &["timestamp"]),
    (
        "ros2_caret:dds_write",
        K::CaretWrite,
        &["message", "timestamp"],
    ),
    (
        "ros2_caret:dds_bind_addr_to_stamp",
        K::CaretStamp,
        &["addr", "source_stamp"],
    ),
    (
        "ros2:dispatch_subscription_callback",
        K::Dispatch,
        &["callback", "source_stamp"],
    ),
    (
        "ros2:dispatch_intra_process_subscription_callback",
        K::DispatchIntra,
        &["callback", "message"],
    ),
    (
        "stowplan:process_start",
        K::ProcessStart,
        &["host_monotonic_ns"],
    ),
    ("stowplan:node_load_begin", K::NodeLoadBegin, &["node"]),
    ("stowplan:node_loaded", K::NodeLoaded, &["node", "module"]),
    ("stowplan:launch_ready", K::LaunchReady, &["service"]),
    (
        "stowplan:endpoints_matched",
        K::EndpointsMatched,
        &["count"],
    ),
    (
        "stowplan:arrival",
        K::Arrival,
        &["rmw_subscription_handle", "source_timestamp"],
    ),
    (
        "stowplan:message",
        K::Message,
        &[
            "rmw_subscription_handle",
            "publisher_id",
            "sequence",
            "origin_ns",
            "stamp_ns",
        ],
    ),
    (
        "stowplan:timer_release",
        K::TimerRelease,
        &["callback", "expected_ns"],
    ),
    (
        "stowplan:source_release",
        K::SourceRelease,
        &["callback", "sequence", "release_ns"],
    ),
    ("stowplan:armed", K::Armed, &["t_arm_ns"]),
    ("stowplan:disarmed", K::Disarmed, &[]),
    (
        "stowplan:callback_cpu",
        K::CallbackCpu,
        &["callback", "cpu_ns", "iterations"],
    ),
    (
        "stowplan:sample_lost",
        K::SampleLost,
        &["rmw_subscription_handle", "total"],
    ),
    (
        "stowplan:datagrams_dropped",
        K::DatagramsDropped,
        &["total"],
    ),
    ("ros2_caret:caret_init", K::CaretInit, &["distribution"]),
    (
        "ros2_caret:dds_bind_addr_to_addr",
        K::CaretCopy,
        &["addr_from", "addr_to"],
    ),
    (
        "ros2:message_construct",
        K::MessageConstruct,
        &["original_message", "constructed_message"],
    ),
    (
        "ros2:rmw_client_init",
        K::RmwClientInit,
        &["rmw_client_handle", "gid"],
    ),
    (
        "ros2:rmw_send_request",
        K::SendRequest,
        &["rmw_client_handle", "sequence_number"],
    ),
    (
        "ros2:rmw_take_request",
        K::TakeRequest,
        &[
            "rmw_service_handle",
            "client_gid",
            "sequence_number",
            "taken",
        ],
    ),
    (
        "ros2:rmw_send_response",
        K::SendResponse,
        &["rmw_service_handle", "client_gid", "sequence_number"],
    ),
    (
        "ros2:rmw_take_response",
        K::TakeResponse,
        &["rmw_client_handle", "sequence_number", "taken"],
    ),
    (
        "sched_switch",
        K::SchedSwitch,
        &["prev_tid", "prev_state", "next_tid", "next_comm"],
    ),
    ("sched_wakeup", K::SchedOther, &[]),
    ("sched_wakeup_new", K::SchedOther, &[]),
    ("sched_waking", K::SchedOther, &[]),
];

/// Where [`Kind::SchedSwitch`] has the CPU of its packet among what is read.
pub(crate) const SWITCHED_CPU: usize = 4;

/// The class whose meaning a class of CARET has: since its runtime recording, CARET keeps what
/// entities are made and emits it later, as `ros2_caret:rcl_node_init` for `ros2:rcl_node_init`
/// and so on (`CARET_trace/include/caret_trace/tp.h`). The time of creation is in the field
/// [`CREATED`].
pub(crate) fn caret_original(name: &str) -> Option<String> {
    Some(format!("ros2:{}", name.strip_prefix("ros2_caret:")?))
}

/// Field of CARET's classes for when an entity was made, nanoseconds of the trace's clock.
pub(crate) const CREATED: &str = "init_timestamp";
