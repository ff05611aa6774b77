//! Chains of a trace that was counted.

use super::find::{Connections, Endpoint, FoundChain, FoundChains};
use crate::overview::Overview;

impl Overview {
    /// As [`Analysis::find_chains`](crate::Analysis::find_chains).
    #[must_use]
    pub fn find_chains(&self, from: Endpoint<'_>, to: Endpoint<'_>, limit: usize) -> FoundChains {
        self.seen().find(from, to, limit)
    }

    /// The longest chains, at most `limit`, each with an end of its own: of the shortest ways
    /// from a callback to which nothing leads, the one that is longest. Hops with few messages,
    /// infrastructure topics and slow timers are left out.
    #[must_use]
    pub fn longest_chains(&self, limit: usize) -> Vec<FoundChain> {
        self.seen().longest(limit)
    }

    fn seen(&self) -> Connections<'_> {
        let edges = self.counted.edges.iter();
        Connections {
            graph: &self.graph,
            publishes: self.counted.publishes.clone(),
            messages: edges.map(|(&ends, edge)| (ends, edge.messages)).collect(),
        }
    }
}
