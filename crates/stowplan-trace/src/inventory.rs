//! What a trace has: its entities, and how many events of each name.

use crate::contents::Contents;
use crate::distributions::distributions;
use crate::event::Discard;
use crate::graph::Graph;
use crate::repeats::Repeats;
use crate::window::Window;

/// What a trace has. Calls and messages are counted and not followed: what became of them is in an
/// [`Overview`](crate::Overview), which takes several times as long.
#[derive(Debug)]
pub struct Inventory {
    /// The entities.
    pub graph: Graph,
    /// Where events were discarded.
    pub discards: Vec<Discard>,
    /// What the streams hold.
    pub contents: Contents,
    /// Events that lack a field which every distribution records.
    pub unreadable_events: u64,
    /// Where streams are broken.
    pub damage: Vec<stowplan_ctf::CtfError>,
    /// What several traces say of the same.
    pub repeats: Repeats,
    /// First and last event of ROS 2, nanoseconds; `None` for a trace without.
    pub extent: Option<Window>,
}

impl Inventory {
    /// The distributions of ROS 2 that the trace comes from.
    ///
    /// # Errors
    /// The reason, where nothing tells.
    pub fn distributions(&self) -> Result<Vec<&'static str>, String> {
        distributions(&self.graph, &self.contents)
    }
}
