//! What the analysis reads: one typed event at a time, whatever distribution wrote it.
//!
//! Field names follow ros2_tracing. What a distribution does not record is `None`.

use crate::ids::{ProcessId, ThreadId};

/// An object's address in its process; never compared across processes.
pub type Address = u64;

/// One event of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceEvent<'a> {
    /// When, in nanoseconds of the trace's monotonic clock.
    pub time_ns: i64,
    /// The process that recorded it.
    pub process: ProcessId,
    /// The thread that recorded it.
    pub thread: ThreadId,
    /// What happened.
    pub body: Body<'a>,
}

/// What happened. Texts and byte strings borrow from the trace.
#[derive(Debug, Clone, Copy, PartialEq, Hash)]
#[expect(
    missing_docs,
    reason = "fields carry the names of ros2_tracing, see stowplan_ctf::events"
)]
pub enum Body<'a> {
    /// `ros2:rcl_init`; CARET's has no version.
    RclInit { version: Option<&'a str> },
    /// `ros2_caret:caret_init`: the distribution of ROS 2.
    CaretInit { distribution: &'a str },
    /// `ros2:rcl_node_init`
    NodeInit {
        node: Address,
        name: &'a str,
        namespace: &'a str,
    },
    /// `ros2:rmw_publisher_init`; `gid` has 24 or 16 bytes.
    RmwPublisherInit {
        rmw_publisher: Address,
        gid: &'a [u8],
    },
    /// `ros2:rcl_publisher_init`
    PublisherInit {
        publisher: Address,
        node: Address,
        rmw_publisher: Address,
        topic: &'a str,
        depth: u64,
    },
    /// `ros2:rcl_subscription_init`
    SubscriptionInit {
        subscription: Address,
        node: Address,
        rmw_subscription: Address,
        topic: &'a str,
        depth: u64,
    },
    /// `ros2:rclcpp_subscription_init`: `object` is the rclcpp subscription.
    RclcppSubscriptionInit {
        subscription: Address,
        object: Address,
    },
    /// `ros2:rclcpp_subscription_callback_added`
    SubscriptionCallbackAdded { object: Address, callback: Address },
    /// `ros2:rcl_service_init`
    ServiceInit {
        service: Address,
        node: Address,
        rmw_service: Option<Address>,
        name: &'a str,
    },
    /// `ros2:rclcpp_service_callback_added`
    ServiceCallbackAdded { service: Address, callback: Address },
    /// `ros2:rcl_client_init`
    ClientInit {
        node: Address,
        rmw_client: Option<Address>,
        name: &'a str,
    },
    /// `ros2:rcl_timer_init`
    TimerInit { timer: Address, period_ns: i64 },
    /// `ros2:rclcpp_timer_callback_added`
    TimerCallbackAdded { timer: Address, callback: Address },
    /// `ros2:rclcpp_timer_link_node`
    TimerLinkNode { timer: Address, node: Address },
    /// `ros2:rclcpp_callback_register`
    CallbackRegister { callback: Address, symbol: &'a str },
    /// `ros2:rcl_lifecycle_state_machine_init`
    LifecycleInit {
        node: Address,
        state_machine: Address,
    },
    /// `ros2:rcl_lifecycle_transition`
    LifecycleTransition {
        state_machine: Address,
        start: &'a str,
        goal: &'a str,
    },
    /// `ros2:callback_start`; `intra`: the message came inside the process.
    CallbackStart { callback: Address, intra: bool },
    /// `ros2:callback_end`
    CallbackEnd { callback: Address },
    /// `ros2:rclcpp_publish`
    RclcppPublish { message: Address },
    /// `ros2:rclcpp_intra_publish`
    IntraPublish {
        publisher: Address,
        message: Address,
    },
    /// `ros2:rcl_publish`
    RclPublish {
        publisher: Address,
        message: Address,
    },
    /// `ros2:rmw_publish`; the timestamp (CLOCK_REALTIME) exists from Jazzy on.
    RmwPublish {
        message: Address,
        timestamp: Option<i64>,
    },
    /// `ros2:rmw_take`
    RmwTake {
        rmw_subscription: Address,
        message: Address,
        source_timestamp: i64,
        taken: bool,
    },
    /// `ros2:rclcpp_executor_execute`
    ExecutorExecute,
    /// `ros2:rclcpp_ipb_to_subscription`: `object` is the rclcpp subscription.
    IpbToSubscription { ipb: Address, object: Address },
    /// `ros2:rclcpp_buffer_to_ipb`
    BufferToIpb { buffer: Address, ipb: Address },
    /// `ros2:rclcpp_ring_buffer_enqueue`
    RingEnqueue {
        buffer: Address,
        index: u64,
        overwritten: bool,
    },
    /// `ros2:rclcpp_ring_buffer_dequeue`
    RingDequeue { buffer: Address, index: u64 },
    /// `ros2:rclcpp_ring_buffer_clear`
    RingClear { buffer: Address },
    /// `ros2:message_link_periodic_async` and `ros2:message_link_partial_sync`
    MessageLink {
        subscriptions: &'a [Address],
        publishers: &'a [Address],
        synchronised: bool,
    },
    /// `dds:write`: the source timestamp of what the thread publishes.
    DdsWrite { timestamp: i64 },
    /// `ros2_caret:dds_write`; the source timestamp exists from Jazzy on.
    CaretWrite {
        message: Address,
        stamp: Option<i64>,
    },
    /// `ros2_caret:dds_bind_addr_to_addr` and `ros2:message_construct` (CARET): a message was
    /// copied or serialised.
    MessageCopy { from: Address, to: Address },
    /// `ros2_caret:dds_bind_addr_to_stamp`
    CaretStamp { message: Address, stamp: i64 },
    /// `ros2:dispatch_subscription_callback` (CARET)
    Dispatch { callback: Address, stamp: i64 },
    /// `ros2:dispatch_intra_process_subscription_callback` (CARET)
    DispatchIntra { callback: Address, message: Address },
    /// `stowplan:process_start`
    ProcessStart { host_monotonic_ns: i64 },
    /// `stowplan:node_load_begin`
    NodeLoadBegin { node: &'a str },
    /// `stowplan:node_loaded`
    NodeLoaded { node: &'a str, module: &'a str },
    /// `stowplan:launch_ready`
    LaunchReady { service: &'a str },
    /// `stowplan:endpoints_matched`
    EndpointsMatched { count: u32 },
    /// `stowplan:arrival`
    Arrival {
        rmw_subscription: Address,
        source_timestamp: i64,
    },
    /// `stowplan:message`
    Message {
        rmw_subscription: Address,
        publisher_id: u32,
        sequence: u64,
        origin_ns: i64,
        stamp_ns: i64,
    },
    /// `stowplan:timer_release`
    TimerRelease { callback: Address, expected_ns: i64 },
    /// `stowplan:source_release`
    SourceRelease {
        callback: Address,
        sequence: u64,
        release_ns: i64,
    },
    /// `stowplan:armed`
    Armed { t_arm_ns: i64 },
    /// `stowplan:disarmed`
    Disarmed,
    /// `stowplan:callback_cpu`
    CallbackCpu {
        callback: Address,
        cpu_ns: u64,
        iterations: u64,
    },
    /// `stowplan:sample_lost`
    SampleLost {
        rmw_subscription: Address,
        total: u64,
    },
    /// `stowplan:datagrams_dropped`
    DatagramsDropped { total: u64 },
    /// `ros2:rmw_client_init`
    RmwClientInit { rmw_client: Address, gid: &'a [u8] },
    /// `ros2:rmw_send_request`
    SendRequest { rmw_client: Address, sequence: i64 },
    /// `ros2:rmw_take_request`
    TakeRequest {
        rmw_service: Address,
        client_gid: &'a [u8],
        sequence: i64,
        taken: bool,
    },
    /// `ros2:rmw_send_response`
    SendResponse {
        rmw_service: Address,
        client_gid: &'a [u8],
        sequence: i64,
    },
    /// `ros2:rmw_take_response`
    TakeResponse {
        rmw_client: Address,
        sequence: i64,
        taken: bool,
    },
    /// `sched_switch` of the kernel.
    SchedSwitch(Switch<'a>),
    /// A ROS event of which only time, process and thread matter here.
    Other,
}

impl Body<'_> {
    /// Whether it happens all the time: it creates and names nothing, and is no mark.
    pub(crate) fn is_frequent(&self) -> bool {
        matches!(
            self,
            Self::CallbackStart { .. }
                | Self::CallbackEnd { .. }
                | Self::RclcppPublish { .. }
                | Self::IntraPublish { .. }
                | Self::RclPublish { .. }
                | Self::RmwPublish { .. }
                | Self::RmwTake { .. }
                | Self::ExecutorExecute
                | Self::RingEnqueue { .. }
                | Self::RingDequeue { .. }
                | Self::Arrival { .. }
                | Self::Message { .. }
                | Self::TimerRelease { .. }
                | Self::SourceRelease { .. }
                | Self::Other
        )
    }

    /// Whether it comes from inside the middleware.
    pub(crate) fn is_of_middleware(&self) -> bool {
        matches!(
            self,
            Self::DdsWrite { .. }
                | Self::CaretWrite { .. }
                | Self::MessageCopy { .. }
                | Self::CaretStamp { .. }
        )
    }
}

/// Whom a process is: two processes with one key are the same process.
///
/// `vpid` alone is not enough: it is local to a PID namespace, so several
/// containers can each have a process 1, and it is used again. A process that several
/// sessions recorded has one key; which processes are one is said in `processes`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessKey {
    /// Name of the host.
    pub host: String,
    /// Trace that holds its first event: folder below the one that was opened; of a trace
    /// that lies in several folders, the first.
    pub trace: String,
    /// Inode of its PID namespace, where the trace has that context.
    pub pid_namespace: Option<u64>,
    /// Process number as the process sees it.
    pub vpid: i64,
}

/// Where events were discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discard {
    /// Whose events may be missing.
    pub scope: DiscardScope,
    /// After this time, nanoseconds of the trace's clock.
    pub from_ns: i64,
    /// Before this time.
    pub to_ns: i64,
    /// How many.
    pub count: u64,
}

/// Whose events a [`Discard`] concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscardScope {
    /// One process.
    Process(ProcessId),
    /// Every process of this trace (buffers per user or per CPU): one of
    /// [`Process::traces`](crate::Process::traces).
    Trace(String),
}

/// A switch of a CPU from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Hash)]
pub struct Switch<'a> {
    /// Number of the CPU.
    pub cpu: u64,
    /// The thread that had it, by its number on the host; 0 is the idle one.
    pub from: i64,
    /// Whether `from` could have gone on.
    pub preempts: bool,
    /// The thread that gets it.
    pub to: i64,
    /// Name of the thread that gets it.
    pub name: &'a str,
}
