//! Experiments: schedule, blocks, clean-up, resume.

mod ablation;
mod analyse;
mod cdi;
mod dds;
mod deployments;
mod engines;
mod error;
mod execute;
mod expected;
mod fingerprint;
mod isolation;
mod live;
mod observe;
mod prepare;
mod real;
mod record;
pub mod request;
mod ring;
mod run_row;
pub mod schedule;
mod sensitivity;
mod size;
mod speed;
pub mod variants;
mod wire;

pub use engines::{MakeEngine, Outside};
pub use error::ExperimentError;
pub use execute::{Accept, Executed, Programs, Session, begin, resume};
pub use expected::{Expected, expected};
pub use observe::{Observer, Step};
pub use prepare::{Planned, Prepared, prepare};
pub use request::{Ask, Question, Request, Starts};
pub use size::{Fixed, Sizing};
pub use speed::work_speed;
