//! Real ROS 2 programs recorded through LTTng-UST.
//!
//! A [`Recorder`] has a session daemon of its own with a folder of its own, so that no daemon, session or setting of
//! the user's is touched. Programs that get [`Recorder::environment`] find it. What they really recorded is read from
//! the trace afterwards ([`produced`]) and held against the processes that were seen ([`look`]): LTTng says nothing
//! when a program does not reach its daemon.

mod attach;
mod buffers;
mod daemon;
mod engines;
mod look;
mod produced;
mod recorder;
mod tool;
mod tools;
mod verdict;
mod view;

pub use attach::Container;
pub use buffers::{Buffers, Memory};
pub use engines::init_of;
pub use look::{ObservedProcess, look};
pub use produced::{Produced, TracedProcess, produced};
pub use recorder::{Options, Recorded, Recorder};
pub use tools::Tools;
pub use verdict::{Naming, Verdict, verdict};

pub use tool::{RECORDED, block_signals, unblock_signals};
