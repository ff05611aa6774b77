//! From which node to which the chains go.

use std::collections::BTreeMap;

use stowplan_results::StackRecord;

/// Each way between two nodes that a chain takes, with its place in the chains.
pub(super) struct Hops<'a>(BTreeMap<(&'a str, &'a str), usize>);

impl<'a> Hops<'a> {
    pub(super) fn of(stack: &'a StackRecord) -> Self {
        let mut hops = BTreeMap::new();
        let chains = stack.chains.iter();
        for callbacks in chains.filter_map(|chain| stack.chain_callbacks.get(chain)) {
            let nodes = callbacks.iter();
            let nodes: Vec<&str> = nodes.filter_map(|c| Some(c.rsplit_once('/')?.0)).collect();
            for pair in nodes.windows(2) {
                let rank = hops.len();
                hops.entry((pair[0], pair[1])).or_insert(rank);
            }
        }
        Self(hops)
    }

    /// Place of an edge in the chains; `None` where it is on none.
    pub(super) fn rank(&self, from: Option<&str>, to: &str) -> Option<usize> {
        self.0.get(&(from?, to)).copied()
    }
}
