//! Events of our own: start-up, arrival in the reader's cache, and values that
//! messages carry, against which the trace is checked.

use crate::schema::Handle;

events! {
    /// The first instruction of a process in its partition.
    35 "stowplan:process_start" ProcessStart {
        /// CLOCK_MONOTONIC as this process reads it, nanoseconds: shows the offset of a time namespace or of another machine.
        host_monotonic_ns: u64,
    }

    /// A node begins to load.
    36 "stowplan:node_load_begin" NodeLoadBegin<'a> {
        /// Full node name.
        node: &'a str,
    }

    /// A node has loaded: its entities exist.
    37 "stowplan:node_loaded" NodeLoaded<'a> {
        /// Full node name.
        node: &'a str,
        /// Module of the node; empty where the stack names none.
        module: &'a str,
    }

    /// The launcher of a service has started all its nodes.
    38 "stowplan:launch_ready" LaunchReady<'a> {
        /// Name of the service.
        service: &'a str,
    }

    /// All endpoints of this process that the stack declares have found their peers.
    39 "stowplan:endpoints_matched" EndpointsMatched {
        /// Number of matched pairs.
        count: u32,
    }

    /// A sample reached the reader's cache; recorded on the receive thread.
    40 "stowplan:arrival" Arrival {
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// Source timestamp of the sample, CLOCK_REALTIME nanoseconds.
        source_timestamp: i64,
    }

    /// What a taken message says of itself: a check that does not rest on the trace's own links.
    41 "stowplan:message" Message {
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// Number of the publisher in the plan.
        publisher_id: u32,
        /// Number of the message from this publisher.
        sequence: u64,
        /// Release of the sensor data that it rests on, CLOCK_MONOTONIC nanoseconds.
        origin_ns: u64,
        /// When it was published, CLOCK_MONOTONIC nanoseconds.
        stamp_ns: u64,
    }

    /// When a timer callback should have started.
    42 "stowplan:timer_release" TimerRelease {
        /// The callback object.
        callback: Handle,
        /// Release time, CLOCK_MONOTONIC nanoseconds.
        expected_ns: u64,
    }

    /// A sensor's data became available.
    43 "stowplan:source_release" SourceRelease {
        /// The callback that publishes it.
        callback: Handle,
        /// Number of the release.
        sequence: u64,
        /// Release time, CLOCK_MONOTONIC nanoseconds.
        release_ns: u64,
    }

    /// This process is told when the measurement window begins, before it does.
    44 "stowplan:armed" Armed {
        /// Common start of the window, CLOCK_MONOTONIC nanoseconds.
        t_arm_ns: u64,
    }

    /// The measurement window ends for this process.
    45 "stowplan:disarmed" Disarmed {}

    /// What the call used that its thread has just ended.
    46 "stowplan:callback_cpu" CallbackCpu {
        /// The callback object.
        callback: Handle,
        /// CPU time, nanoseconds.
        cpu_ns: u64,
        /// Iterations of the work kernel.
        iterations: u64,
    }

    /// DDS reports lost samples.
    47 "stowplan:sample_lost" SampleLost {
        /// The rmw subscription.
        rmw_subscription_handle: Handle,
        /// Lost since the reader exists.
        total: u64,
    }

    /// What the sockets of this process have dropped: recorded before the window begins and after it ends.
    48 "stowplan:datagrams_dropped" DatagramsDropped {
        /// Datagrams dropped since the sockets exist, because their buffers were full.
        total: u64,
    }
}
