//! Common Trace Format 1.8: metadata, packets, reader and writer.
//!
//! The writer is made for the recorder of a measured process: it encodes events
//! into a byte slice without a system call, an allocation or a lock, and leaves
//! the slice a valid packet after every event, so that what a killed process
//! recorded can still be read.
//!
//! Source of the format: the Common Trace Format specification, version 1.8.3.

pub mod events;
pub mod schema;
pub mod writer;
