//! What the integration tests share.

mod info;
mod lines;

pub use info::info;
pub use lines::*;
pub use stowplan_testkit::kept_trace;
