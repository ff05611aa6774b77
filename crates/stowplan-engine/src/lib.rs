//! What starts services: the traits of engines and deployments, what engines can do, and their error.
//!
//! Engines start, stop and tell where to look. They never measure, and no engine knows another.

mod capabilities;
mod engine;
mod error;

pub use capabilities::{Capabilities, IsolationFeature, LimitSupport, Refusal, Variant};
pub use engine::{Deployment, Engine, Probe, selected};
pub use error::EngineError;
