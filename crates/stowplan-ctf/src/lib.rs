//! Common Trace Format: metadata, packets, reader and writer.
//!
//! The writer is made for the recorder of a measured process: it encodes events
//! into a byte slice without a system call, an allocation or a lock, and leaves
//! the slice a valid packet after every event, so that what a killed process
//! recorded can still be read.
//!
//! The reader goes through all streams of all traces below a folder in order of
//! time ([`dir::TraceFolder`]), or through byte slices ([`reader::Events`]). It
//! copies nothing, and its memory does not grow with the length of a trace.
//! Broken input is an error with file and byte, or line and column.
//!
//! The reader reads versions 1.8 and 2, the writer writes 1.8.
//!
//! Sources of the format: the Common Trace Format specification, version 1.8.3, and CTF2-SPEC-2.0.

mod bits;
mod ctf2;
pub mod dir;
mod error;
pub mod events;
pub mod metadata;
mod packet;
mod plan;
pub mod reader;
mod release;
pub mod schema;
mod tsdl;
pub mod writer;

pub use error::{CtfError, Fault, MetadataError};
pub use plan::{EventClassInfo, FieldInfo, FieldRef};
