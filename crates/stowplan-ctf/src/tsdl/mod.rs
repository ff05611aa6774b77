//! The language of metadata: the Trace Stream Description Language of CTF 1.8.

mod cursor;
mod declare;
pub(crate) mod document;
pub(crate) mod envelope;
mod lexer;
pub(crate) mod types;

/// A value in the `env` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
}

/// A clock of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name, for example `monotonic`.
    pub name: String,
    /// Identifies it across traces: clocks of the same uuid compare.
    pub uuid: Option<[u8; 16]>,
    /// Readings per second.
    pub frequency_hz: u64,
    /// The epoch time at which it read 0, nanoseconds. Event times are readings
    /// plus this; subtract it to have readings again.
    pub offset_ns: i64,
}
