//! Services that are started on demand: a timeline is played, and the chain that runs meanwhile is looked at.

mod check;
mod figures;
mod latency;
mod player;
mod session;
mod summary;

#[cfg(test)]
mod tests;

pub(crate) use check::chains_of;
pub(crate) use figures::metrics;
pub use figures::{READY, around_subject, memory_subject, start_subject};
pub use latency::Around;
pub use player::{Played, Standing, Started};
pub use session::OnDemand;
pub use summary::{ChainRow, ScenarioSummary, StartCell, StartRow};
