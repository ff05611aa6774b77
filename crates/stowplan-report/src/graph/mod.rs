//! The node graph of a trace: who sends what to whom, how often, and how long it takes.

mod dot;
mod picture;
mod place;
mod svg;
mod ways;

use stowplan_trace::Overview;

use picture::Picture;
pub use picture::{Limits, View};
pub use svg::Form;
pub use ways::{GraphNode, NodeGraph, Way};
pub(crate) use ways::{module_of, process_names};

impl NodeGraph {
    /// The nodes of a trace and what they sent each other; topics of ROS 2 itself (logging,
    /// parameters, simulated time) only with `every_topic`.
    #[must_use]
    pub fn of(overview: &Overview, every_topic: bool) -> Self {
        ways::read(overview, every_topic)
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
