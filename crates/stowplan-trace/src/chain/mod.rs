//! Latencies of cause-effect chains, docs/measuring.md §4.
//!
//! Where the papers differ from each other: betz2024 takes the end-to-end
//! latency from the start of the first callback to the last publication and
//! averages over the outputs of an input; the sensor's release, reaction and
//! data age stand beside it here.

mod counted;
mod fate;
pub(crate) mod find;
pub(crate) mod follow;
mod longest;
mod measure;
mod nodes;
mod parts;
pub(crate) mod spec;

pub use fate::{Fate, StopCause};
pub use find::{Endpoint, FoundChain, FoundChains};
pub use follow::BreakReason;
pub use measure::{
    Broken, ChainInput, ChainInstance, ChainResult, Invalid, Reference, StoppedInputs,
};
pub use nodes::{NodeChain, NodeStep};
pub use parts::{Parts, Step, StepHop};
pub use spec::{CallbackBy, CallbackSelector, Chain, ChainError, ChainSpec, Hop};

use crate::analysis::Analysis;
use crate::window::Window;

impl Analysis {
    /// Finds the callbacks of a chain.
    ///
    /// # Errors
    /// When a selector fits none or several callbacks, or callbacks that follow
    /// each other are not connected.
    pub fn resolve(&self, spec: &ChainSpec) -> Result<Chain, ChainError> {
        spec::resolve(&self.graph, spec, follow::publishes(self))
    }

    /// Whether the trace tells `send` from `transit` on the whole chain: the distribution records the
    /// entry of a publication into the middleware.
    #[must_use]
    pub fn records_send(&self, chain: &Chain) -> bool {
        chain.callbacks.iter().all(|&callback| {
            let process = self.graph.callbacks[callback].process;
            self.graph.processes[process].kinds.rmw_publish
        })
    }

    /// Every instance of a chain whose input was released in a window.
    ///
    /// # Errors
    /// As [`Analysis::resolve`].
    pub fn chain(&self, spec: &ChainSpec, window: Window) -> Result<ChainResult, ChainError> {
        Ok(self.measure(self.resolve(spec)?, window))
    }
}

#[cfg(test)]
mod longest_tests;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod simulated;
