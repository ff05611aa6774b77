//! Judges saved results: figures of their rows, comparisons of deployments and of results, and the verdicts on them.
//!
//! Rows go in and data comes out. How it looks is for the views to say.
#![forbid(unsafe_code)]

mod ablation;
mod across_results;
mod averages;
mod blocks;
mod callbacks;
mod common;
mod compare;
pub mod conclusion;
mod controls;
mod counted;
mod edges;
pub mod equality;
mod error;
mod figures;
pub mod format;
mod instrument;
pub mod isolation;
mod judgement;
mod latency;
mod losses;
mod marked;
mod means;
mod measurements;
pub mod memory;
mod metrics;
mod modules;
mod names;
mod phases;
pub mod places;
mod regressions;
mod remeasured;
mod sensitivity;
mod settings;
mod size;
mod slower;
mod spread;
mod startup;
mod throttling;
mod track;
mod usage;
mod warnings;
mod work;

pub use across_results::across;
pub use callbacks::{CallTimes, CallbackTimes};
pub use common::can_compare;
pub use compare::is_at_one_partition;
pub use controls::{effect, engine_of, lacking_controls};
pub use edges::{DeploymentEdges, TravelledEdge};
pub use error::JudgeError;
pub use figures::Figures;
pub use judgement::{Judgement, pair};
pub use latency::{ChainLatency, Part, PartFigures, RunFigures};
pub use losses::DeploymentLosses;
pub use means::Mean;
pub use measurements::Measurement;
pub use memory::{DeploymentMemory, RunMemory, SharedMemory};
pub use modules::module;
pub use names::{deployment_of, difference_name, verdict_counts};
pub use phases::TimerPhases;
pub use regressions::{is_regression, regressions};
pub use remeasured::again;
pub use settings::differing_settings;
pub use size::Size;
pub use spread::UsageSpread;
pub use startup::{DeploymentStartup, Instant, ModuleTimes, RunStartup, ServiceTimes, Spread};
pub use throttling::Throttled;
pub use usage::{
    DeploymentUsage, ENGINE, MACHINE, RunUsage, SERVICES, STOWPLAN, Series, engine_program,
};
pub use work::WorkRatio;
