//! Checks, partition presets, edges and utilisation.
//!
//! Pure functions on the model: nothing here reads a file or a clock.

mod apart;
pub mod check;
mod components;
mod dot;
mod duration;
mod edges;
mod error;
mod limits;
pub mod nearest;
mod partition;
mod places;
mod plan;
mod planned;
mod rates;
mod split;
mod table;

pub use check::{Finding, Subject, check};
pub use dot::dot;
pub use edges::{Crossing, Edge, EdgeClass, Flow};
pub use error::PlanError;
pub use partition::partition;
pub use places::{KnownEngines, KnownVariant, PlaceError};
pub use plan::{plan, scale_work};
pub use planned::{
    Duration, MachineFacts, NOT_SCALED, Plan, PlanOptions, SCALED_CAVEAT, Scaling, Schedule,
    ServicePlan, TopicRate,
};
pub use split::{ProcessPart, ServiceSplit, split};
pub use table::{Choice, Preset, Table, TableService};
