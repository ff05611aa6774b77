//! What the streams of a trace hold.

use std::collections::BTreeMap;

/// What the streams of a trace hold, whatever it means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Events per name.
    pub by_event: BTreeMap<String, u64>,
    /// Events that the tracers say they discarded.
    pub discarded_events: u64,
    /// Packets that they discarded, with an unknown number of events.
    pub discarded_packets: u64,
    /// Number of streams.
    pub streams: u64,
    /// Events of other providers than ROS 2's, such as the kernel's.
    pub other_events: u64,
    /// Whether a kind of event that tells the distribution is declared: `rmw_take`.
    pub declares_take: bool,
    /// Likewise the timestamp of `rmw_publish`.
    pub declares_publish_stamp: bool,
}
