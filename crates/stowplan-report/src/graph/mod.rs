//! The node graph of a trace: who sends what to whom, how often, and how long it takes.

mod dot;
mod node_graph;
mod picture;
mod place;
mod svg;

use stowplan_trace::Overview;

pub use node_graph::{GraphEdge, GraphNode, NodeGraph};
pub(crate) use node_graph::{module_of, process_names};
use picture::Picture;
pub use picture::{Limits, View};
pub use svg::Form;

impl NodeGraph {
    /// The nodes of a trace and what they sent each other; topics of ROS 2 itself (logging,
    /// parameters, simulated time) only with `every_topic`.
    #[must_use]
    pub fn of(overview: &Overview, every_topic: bool) -> Self {
        node_graph::read(overview, every_topic)
    }

    /// As Graphviz DOT: every node, by process.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::write(self)
    }

    /// As a picture.
    #[must_use]
    pub fn svg(&self, view: &View, form: Form) -> String {
        let picture = Picture::of(self, view);
        svg::write(&place::place(picture), form)
    }

    /// The view in which the whole graph can be read: its nodes while they are few, else its modules.
    #[must_use]
    pub fn readable(&self, limits: Limits) -> View {
        picture::readable(self, limits)
    }
}
