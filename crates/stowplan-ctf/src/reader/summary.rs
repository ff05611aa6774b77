//! What a trace contains, counted in one pass.

use std::collections::BTreeMap;

use super::merge::{Events, TraceInput};
use super::stream::{Item, LostKind};
use crate::error::CtfError;

/// Counts over whole traces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Recorded events.
    pub events: u64,
    /// Events that the tracers discarded.
    pub discarded_events: u64,
    /// Packets that the tracers discarded, with an unknown number of events.
    pub discarded_packets: u64,
    /// Time of the first event, nanoseconds since the epoch; `None` without events.
    pub first_ns: Option<i64>,
    /// Time of the last event.
    pub last_ns: Option<i64>,
    /// Events per name.
    pub by_name: BTreeMap<String, u64>,
}

impl Summary {
    /// Reads all events of the traces.
    ///
    /// # Errors
    /// At the first fault in a stream.
    pub fn of(traces: &[TraceInput<'_>]) -> Result<Self, CtfError> {
        let mut summary = Self::default();
        let mut counts: Vec<Vec<u64>> = traces
            .iter()
            .map(|trace| vec![0; trace.metadata.classes().len()])
            .collect();
        let mut events = Events::new(traces)?;
        while let Some(item) = events.next_item()? {
            match item {
                Item::Event(event) => {
                    counts[event.trace as usize][event.class_index as usize] += 1;
                    summary.first_ns.get_or_insert(event.timestamp_ns);
                    summary.last_ns = Some(event.timestamp_ns);
                }
                Item::Lost(lost) => match lost.kind {
                    LostKind::Events => summary.discarded_events += lost.count,
                    LostKind::Packets => summary.discarded_packets += lost.count,
                },
            }
        }
        for (trace, counts) in traces.iter().zip(counts) {
            for (class, count) in trace.metadata.classes().iter().zip(counts) {
                if count > 0 {
                    *summary.by_name.entry(class.name.clone()).or_insert(0) += count;
                    summary.events += count;
                }
            }
        }
        Ok(summary)
    }

    /// From the first event to the last, nanoseconds; `None` without events.
    pub fn duration_ns(&self) -> Option<i64> {
        Some(self.last_ns?.saturating_sub(self.first_ns?))
    }
}
