//! The tracepoints of ros2_tracing with the names, order and types of its Jazzy
//! release (tracetools 8.2, `tracetools/tp_call.h`), so that tools made for it
//! read what we write.

use crate::schema::{Gid, Handle};

events! {
    /// A ROS context begins.
    0 "ros2:rcl_init" RclInit<'a> {
        /// The rcl context.
        context_handle: Handle,
        /// Version of the tracer; readers choose the field set by it.
        version: &'a str,
    }

    /// A node was created.
    1 "ros2:rcl_node_init" RclNodeInit<'a> {
        /// The rcl node.
        node_handle: Handle,
        /// The rmw node below it.
        rmw_handle: Handle,
        /// Name without namespace.
        node_name: &'a str,
        /// Namespace, beginning with `/`.
        namespace: &'a str,
    }

    /// A DDS writer was created for a publisher.
    2 "ros2:rmw_publisher_init" RmwPublisherInit {
        /// The rmw publisher.
        rmw_publisher_handle: Handle,
        /// DDS identifier of the endpoint.
        gid: Gid,
    }

    /// A publisher was created.
    3 "ros2:rcl_publisher_init" RclPublisherInit<'a> {
        /// The rcl publisher.
        publisher_handle: Handle,
        /// The rcl node.
        node_handle: Handle,
        /// The rmw publisher.
        rmw_publisher_handle: Handle,
        /// Full topic name.
        topic_name: &'a str,
        /// Depth of the history, in messages.
        queue_depth: u64,
    }

    /// A publication enters rclcpp.
    4 "ros2:rclcpp_publish" RclcppPublish {
        /// Address of the message.
        message: Handle,
    }

    /// A message is handed over inside the process.
    5 "ros2:rclcpp_intra_publish" RclcppIntraPublish {
        /// The rcl publisher.
        publisher_handle: Handle,
        /// Address of the message.
        message: Handle,
    }

    /// A publication enters rcl.
    6 "ros2:rcl_publish" RclPublish {
        /// The rcl publisher.
        publisher_handle: Handle,
        /// Address of the message.
        message: Handle,
    }

    /// A publication enters the middleware.
    7 "ros2:rmw_publish" RmwPublish {
        /// The rmw publisher.
        rmw_publisher_handle: Handle,
        /// Address of the message.
        message: Handle,
        /// Source timestamp handed to DDS, CLOCK_REALTIME nanoseconds.
        timestamp: i64,
    }

    /// A DDS reader was created for a subscription.
    8 "ros2:rmw_subscription_init" RmwSubscriptionInit {
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// DDS identifier of the endpoint.
        gid: Gid,
    }

    /// A subscription was created.
    9 "ros2:rcl_subscription_init" RclSubscriptionInit<'a> {
        /// The rcl subscription.
        subscription_handle: Handle,
        /// The rcl node.
        node_handle: Handle,
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// Full topic name.
        topic_name: &'a str,
        /// Depth of the history, in messages.
        queue_depth: u64,
    }

    /// Links an rcl subscription to its rclcpp object.
    10 "ros2:rclcpp_subscription_init" RclcppSubscriptionInit {
        /// The rcl subscription.
        subscription_handle: Handle,
        /// The rclcpp subscription.
        subscription: Handle,
    }

    /// Links a subscription to its callback.
    11 "ros2:rclcpp_subscription_callback_added" RclcppSubscriptionCallbackAdded {
        /// The rclcpp subscription.
        subscription: Handle,
        /// The callback object.
        callback: Handle,
    }

    /// A message was asked from the middleware.
    12 "ros2:rmw_take" RmwTake {
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// Address of the message.
        message: Handle,
        /// Source timestamp of the sample, CLOCK_REALTIME nanoseconds; equals `timestamp` of its `rmw_publish`.
        source_timestamp: i64,
        /// 1 if a message was taken, else 0.
        taken: i32,
    }

    /// A message was taken through rcl.
    13 "ros2:rcl_take" RclTake {
        /// Address of the message.
        message: Handle,
    }

    /// A message was taken through rclcpp.
    14 "ros2:rclcpp_take" RclcppTake {
        /// Address of the message.
        message: Handle,
    }

    /// A service server was created.
    15 "ros2:rcl_service_init" RclServiceInit<'a> {
        /// The rcl service.
        service_handle: Handle,
        /// The rcl node.
        node_handle: Handle,
        /// The rmw service.
        rmw_service_handle: Handle,
        /// Full service name.
        service_name: &'a str,
    }

    /// Links a service server to its callback.
    16 "ros2:rclcpp_service_callback_added" RclcppServiceCallbackAdded {
        /// The rcl service.
        service_handle: Handle,
        /// The callback object.
        callback: Handle,
    }

    /// A service client was created.
    17 "ros2:rcl_client_init" RclClientInit<'a> {
        /// The rcl client.
        client_handle: Handle,
        /// The rcl node.
        node_handle: Handle,
        /// The rmw client.
        rmw_client_handle: Handle,
        /// Full service name.
        service_name: &'a str,
    }

    /// A timer was created.
    18 "ros2:rcl_timer_init" RclTimerInit {
        /// The rcl timer.
        timer_handle: Handle,
        /// Period in nanoseconds.
        period: i64,
    }

    /// Links a timer to its callback.
    19 "ros2:rclcpp_timer_callback_added" RclcppTimerCallbackAdded {
        /// The rcl timer.
        timer_handle: Handle,
        /// The callback object.
        callback: Handle,
    }

    /// Links a timer to its node.
    20 "ros2:rclcpp_timer_link_node" RclcppTimerLinkNode {
        /// The rcl timer.
        timer_handle: Handle,
        /// The rcl node.
        node_handle: Handle,
    }

    /// Names a callback.
    21 "ros2:rclcpp_callback_register" RclcppCallbackRegister<'a> {
        /// The callback object.
        callback: Handle,
        /// Name of the function that is called.
        symbol: &'a str,
    }

    /// A callback begins.
    22 "ros2:callback_start" CallbackStart {
        /// The callback object.
        callback: Handle,
        /// 1 if the message came by pointer inside the process, else 0.
        is_intra_process: i32,
    }

    /// A callback ends.
    23 "ros2:callback_end" CallbackEnd {
        /// The callback object.
        callback: Handle,
    }

    /// A life-cycle node was created.
    24 "ros2:rcl_lifecycle_state_machine_init" RclLifecycleStateMachineInit {
        /// The rcl node.
        node_handle: Handle,
        /// The life-cycle state machine.
        state_machine: Handle,
    }

    /// A life-cycle node changed its state.
    25 "ros2:rcl_lifecycle_transition" RclLifecycleTransition<'a> {
        /// The life-cycle state machine.
        state_machine: Handle,
        /// State that is left.
        start_label: &'a str,
        /// State that is entered.
        goal_label: &'a str,
    }

    /// The executor looks for ready work.
    26 "ros2:rclcpp_executor_get_next_ready" RclcppExecutorGetNextReady {}

    /// The executor begins to wait.
    27 "ros2:rclcpp_executor_wait_for_work" RclcppExecutorWaitForWork {
        /// Longest time to wait, in nanoseconds; negative waits without limit.
        timeout: i64,
    }

    /// The executor begins to execute an entity.
    28 "ros2:rclcpp_executor_execute" RclcppExecutorExecute {
        /// The rcl entity that is executed.
        handle: Handle,
    }

    /// Links an intra-process buffer to its subscription.
    29 "ros2:rclcpp_ipb_to_subscription" RclcppIpbToSubscription {
        /// The intra-process buffer.
        ipb: Handle,
        /// The rclcpp subscription.
        subscription: Handle,
    }

    /// Links a ring buffer to its intra-process buffer.
    30 "ros2:rclcpp_buffer_to_ipb" RclcppBufferToIpb {
        /// The ring buffer.
        buffer: Handle,
        /// The intra-process buffer.
        ipb: Handle,
    }

    /// A ring buffer was created.
    31 "ros2:rclcpp_construct_ring_buffer" RclcppConstructRingBuffer {
        /// The ring buffer.
        buffer: Handle,
        /// Messages that fit.
        capacity: u64,
    }

    /// A message was put into a ring buffer.
    32 "ros2:rclcpp_ring_buffer_enqueue" RclcppRingBufferEnqueue {
        /// The ring buffer.
        buffer: Handle,
        /// Slot of the message.
        index: u64,
        /// Messages in the buffer afterwards.
        size: u64,
        /// 1 if the oldest message was overwritten, else 0.
        overwritten: i32,
    }

    /// A message was taken from a ring buffer.
    33 "ros2:rclcpp_ring_buffer_dequeue" RclcppRingBufferDequeue {
        /// The ring buffer.
        buffer: Handle,
        /// Slot of the message.
        index: u64,
        /// Messages in the buffer afterwards.
        size: u64,
    }

    /// A ring buffer was emptied.
    34 "ros2:rclcpp_ring_buffer_clear" RclcppRingBufferClear {
        /// The ring buffer.
        buffer: Handle,
    }
}
