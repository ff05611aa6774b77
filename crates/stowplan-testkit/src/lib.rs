//! For tests: the built static programs, folders of their own, a fake engine on a fake host, redaction.

pub mod fake;
mod plans;
mod programs;
mod redact;
mod state;

pub use plans::command_plan;
pub use programs::{agent_program, node_program};
pub use redact::redact;
pub use state::private_state;
