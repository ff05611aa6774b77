//! The words of Stowplan: stacks, partitions, places, deployments.
//!
//! Plain types without I/O, clock or serialisation. Files and wire messages have
//! their own types (`stowplan-spec`, `stowplan-wire`) and convert into these.

mod background;
mod background_service;
pub mod dds;
pub mod deployment;
pub mod distribution;
pub mod endpoints;
pub mod executor_cost;
mod frames;
pub mod injection;
pub mod launching;
pub mod metric;
pub mod names;
pub mod partition;
pub mod place;
pub mod place_facts;
pub mod placed;
pub mod stack;
pub mod units;
pub mod variant;
pub mod work_speed;

pub use background::Background;
pub use background_service::background_service;
pub use dds::DdsProfile;
pub use deployment::{Deployment, Isolation, Limits, Resources, SchedulingClass};
pub use distribution::Distribution;
pub use endpoints::Endpoints;
pub use executor_cost::ExecutorCost;
pub use frames::Frames;
pub use injection::{Injection, PhaseSpan};
pub use launching::Launching;
pub use metric::{METRICS, MetricUnit};
pub use names::Name;
pub use partition::{Partition, ServiceAssignment};
pub use place::{LOCAL_HOST, Place, PlaceStep};
pub use place_facts::{CpuGroups, PlaceFacts, ServiceKind};
pub use placed::PlacedProcess;
pub use stack::{
    Callback, CallbackRef, Chain, DdsContent, DdsTopic, Executor, Launch, Library, Node,
    NodeOptions, NodeStartUp, Process, Profile, Qos, Ready, RealMount, RealService, Reliability,
    Serialisation, SilentEndpoints, Stack, Topic, Trigger, Work, is_cdi_name,
};
pub use variant::Variant;
pub use work_speed::{FIRST_LEVEL_BYTES, WorkSpeed};
