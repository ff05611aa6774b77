//! Writing a trace: packets into byte slices, and the metadata text beside them.
//!
//! A trace folder holds one file `metadata` ([`metadata_text`]) and one file per
//! stream, which is nothing but packets of that stream one after another. All
//! packets of a stream are of class 0; a stream is a thread.

mod context;
mod packet;
mod text;

pub use context::{EVENT_CONTEXT_SIZE, EventContext};
pub use packet::{
    EVENT_OVERHEAD, PACKET_HEADER_SIZE, PacketError, PacketHeader, PacketInfo, PacketWriter,
};
pub use text::{TraceInfo, metadata_text};

pub use crate::metadata::EnvValue;
