//! What a host can be asked, and the local machine: cgroups, facts, sampling, run folders, ledger.

mod calibrate;
pub mod cgroup;
pub mod cold;
mod device;
pub mod digest;
pub mod domain;
mod error;
pub mod facts;
mod host;
mod kernel_file;
pub mod ledger;
mod local;
mod log;
mod memory;
mod mount_table;
pub mod network;
mod object;
pub mod open_files;
pub mod preemption;
mod preemption_mode;
pub mod process;
pub mod quiet;
mod readable;
pub mod rundir;
pub mod sampler;
pub mod scheduling;
mod users;

pub use calibrate::calibrate;
pub use device::Device;
pub use error::HostError;
pub use host::Host;
pub use local::LocalHost;
pub use log::tail;
pub use readable::wait_readable;
pub use stowplan_wire::causes::chain;
pub use users::Ids;
