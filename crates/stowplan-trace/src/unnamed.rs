//! Callbacks of which a trace does not say whose they are, and why.

use std::collections::BTreeMap;

use crate::graph::{CreationEvent, Graph, Owner};

/// Callbacks without an owner, for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unnamed {
    /// The first event of their creation that the trace lacks.
    pub missing: CreationEvent,
    /// Whether their processes began before the trace: it has no `rcl_init` of them.
    pub began_before: bool,
    /// How many.
    pub callbacks: u64,
}

impl Graph {
    /// Callbacks without an owner, by reason.
    #[must_use]
    pub fn unnamed_callbacks(&self) -> Vec<Unnamed> {
        let mut counts: BTreeMap<(CreationEvent, bool), u64> = BTreeMap::new();
        for (_, callback) in self.callbacks.iter() {
            if callback.owner == Owner::Unknown {
                let missing = callback.missing.unwrap_or(CreationEvent::CallbackAdded);
                let began_before = !self.processes[callback.process].initialised;
                *counts.entry((missing, began_before)).or_default() += 1;
            }
        }
        let counts = counts.into_iter();
        counts
            .map(|((missing, began_before), callbacks)| Unnamed {
                missing,
                began_before,
                callbacks,
            })
            .collect()
    }
}
