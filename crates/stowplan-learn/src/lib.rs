//! From recorded traces and other projects' files to a stack file that Stowplan can run.
//!
//! Everything becomes a [`Draft`] first: the elements of a stack file, each figure either known or
//! assumed with its range and reason, and comments that say where it comes from. [`Draft::to_yaml`]
//! writes it as people would.
//!
//! - [`Learned`]: from the analysis of a trace of `ros2_tracing`, with the [`Facts`] it rests on. [`hold`] holds the
//!   facts of a run of that stack against them.
//! - [`topology`]: node graphs of irobot-ros/ros2-performance.
//! - [`designer`]: systems of autowarefoundation/autoware_system_designer.

pub mod designer;
mod draft;
mod error;
mod facts;
mod fit;
mod launch;
mod names;
mod reproduction;
mod runs;
pub mod topology;
mod trace;
mod write;

pub use draft::{
    Draft, DraftCallback, DraftChain, DraftLaunch, DraftModule, DraftNode, DraftProcess, DraftQos,
    DraftTopic, DraftTrigger, Figure, Imported, LogNormal,
};
pub use error::ImportError;
pub use facts::{CallbackFacts, Facts, TopicFacts};
pub use fit::{Counted, Fit, Fitted, Round};
pub use launch::LaunchTimes;
pub use reproduction::{Came, ReproducedCallback, ReproducedEndpoints, Reproduction, hold};
pub use trace::{LearnError, Learned, Options, learn};
