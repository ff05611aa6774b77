//! Reading traces: events of any number of streams and traces, merged by time.
//!
//! Nothing is copied and nothing grows with the length of a trace: an [`Event`]
//! borrows the file's bytes, and reads a field when it is asked for.

mod ahead;
mod batch;
mod clock;
mod event;
mod header;
mod join;
mod lanes;
mod map;
mod merge;
mod split;
mod stream;
mod summary;

pub use ahead::Merged;
pub use batch::Decoded;
pub use event::{Event, FieldKey, Integers};
pub use join::{Overlap, Shared};
pub use map::EventMap;
pub use merge::{Events, StreamInfo, TraceInput};
pub use stream::{Item, Lost, LostKind};
pub use summary::Summary;
