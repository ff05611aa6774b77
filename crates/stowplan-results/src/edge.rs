//! The table of what messages took on each edge.

use crate::Label;
use crate::table::table;

table! {
    /// One row per run and edge on which a callback got messages: how long they took from publication to the start of the callback that takes them. `losses` has what was published on it.
    EdgeRow in "edges" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Topic.
        topic: Label,
        /// Publishing node; null where the trace does not have it.
        publisher: Option<Label>,
        /// Subscribing node.
        subscriber: Label,
        /// Messages published in the window that a callback got, and of which it is known which they were.
        taken: u64,
        /// Mean of publication → start of the callback that takes the message, ns; null between hosts whose clocks do not agree.
        latency_mean_ns: Option<f64>,
        /// Median of the same, ns.
        latency_median_ns: Option<f64>,
        /// 99th percentile of the same, ns; null where fewer than ten messages lie beyond it.
        latency_p99_ns: Option<f64>,
        /// Longest of the same, ns.
        latency_max_ns: Option<i64>,
    }
}
