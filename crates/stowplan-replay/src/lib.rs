//! What a stack's sources replay: when the messages of a bag were recorded, and how large they were.
//!
//! A bag is an MCAP file, or a folder with MCAP files as `ros2 bag record -s mcap` makes it. Contents of messages are not kept.

mod bag;
mod error;
mod sources;

pub use bag::{Bag, RecordedMessage};
pub use error::ReplayError;
pub use sources::{Replayed, ReplayedSource};
