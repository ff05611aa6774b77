//! Chains of a trace that was counted.

use super::find::{Connections, Endpoint, FoundChain, FoundChains};
use crate::overview::Overview;

impl Overview {
    /// As [`Analysis::find_chains`](crate::Analysis::find_chains).
    #[must_use]
    pub fn find_chains(&self, from: Endpoint<'_>, to: Endpoint<'_>, limit: usize) -> FoundChains {
        self.seen().find(from, to, limit)
    }

    /// The longest chains from sensors to actuators, at most `limit`, each with an end of its own: of
    /// the shortest ways from a callback to which nothing leads to one that leads nowhere, the one with
    /// most messages. Nodes without a name, hops with few messages, infrastructure topics, slow timers
    /// and timers of a node that rarely hears anything are left out.
    #[must_use]
    pub fn longest_chains(&self, limit: usize) -> Vec<FoundChain> {
        self.seen().longest(limit)
    }

    fn seen(&self) -> Connections<'_> {
        let edges = self.counted.edges.iter();
        let ids = self.graph.callbacks.ids().zip(&self.counted.callbacks);
        Connections {
            graph: &self.graph,
            publishes: self.counted.publishes.clone(),
            messages: edges.map(|(&ends, edge)| (ends, edge.messages)).collect(),
            calls: ids.map(|(id, of)| (id, of.count)).collect(),
            length_ns: self
                .extent
                .map_or(0, |extent| extent.to_ns - extent.from_ns),
        }
    }
}
