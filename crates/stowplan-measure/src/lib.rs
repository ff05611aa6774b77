//! One run: start, arm, disarm, collect.

pub mod collect;
pub mod dds;
mod error;
mod idle;
pub mod lower;
pub mod phases;
mod preempted;
pub mod progress;
mod real;
mod replay;
pub mod rows;
mod session;
mod traced;

pub use error::RunError;
pub use preempted::Preempted;
pub use real::{RealProgress, RealServices};
pub use replay::ReplayedInput;
pub use session::{HostPlan, Measured, MeasuredHost, SessionPlan, measure};
pub use traced::Recording;
