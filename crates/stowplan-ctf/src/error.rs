//! What can be wrong with a trace, and where.

use std::io;
use std::path::PathBuf;

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CtfError {
    /// No trace stands where one was looked for.
    #[error("no trace in {}: no file named metadata in it or below", path.display())]
    NoTrace {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A folder has stream files and no metadata, without which they mean nothing.
    #[error("cannot read {}: no file named metadata beside its {} stream files", path.display(), files)]
    NoMetadata {
        /// The folder.
        path: PathBuf,
        /// How many files of it begin as a packet does.
        files: usize,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The metadata text is wrong.
    #[error("{file}:{source}")]
    Metadata {
        /// The metadata file.
        file: String,
        /// Place and cause.
        source: MetadataError,
    },
    /// A stream file is wrong.
    #[error("{file}: at byte {offset}: {fault}")]
    Stream {
        /// The stream file.
        file: String,
        /// The packet, event or field where reading stopped.
        offset: u64,
        /// What is wrong there.
        fault: Fault,
    },
}

/// A place in the metadata text and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct MetadataError {
    /// Line, from 1. In metadata that is stored as packets, of the text without them.
    pub line: u32,
    /// Column, from 1, in bytes.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl MetadataError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            line: place.line,
            column: place.column,
            message: message.into(),
        }
    }
}

/// A place in a text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Self = Self { line: 1, column: 1 };
}

/// What is wrong in a stream file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A field reaches past the end of what the packet contains.
    #[error("the content of the packet ends within a field")]
    Truncated,
    /// A packet does not begin with the magic number.
    #[error(
        "{found:#010x} stands where a packet begins with {:#010x}",
        0xC1FC_1FC1u32
    )]
    Magic {
        /// What stands there.
        found: u64,
    },
    /// A packet belongs to another trace.
    #[error("the packet's uuid is not that of the metadata")]
    Uuid,
    /// The metadata does not declare the packet's stream class.
    #[error("stream class {id} is not in the metadata")]
    UnknownStream {
        /// The number in the packet header.
        id: u64,
    },
    /// A stream file holds packets of several streams.
    #[error("a packet of another stream in the same file")]
    MixedStreams,
    /// The metadata does not declare the event's class.
    #[error("event class {id} is not in the metadata")]
    UnknownEvent {
        /// The number in the event header.
        id: u64,
    },
    /// The packet's size is none that a packet can have.
    #[error("packet of {bits} bits: not a whole number of bytes, or too small for its header")]
    PacketSize {
        /// The size it claims.
        bits: u64,
    },
    /// The file ends within the packet.
    #[error("packet of {bits} bits, but the file ends {missing} bytes before")]
    PacketCut {
        /// The size it claims.
        bits: u64,
        /// Bytes that the file lacks.
        missing: u64,
    },
    /// The content is larger than the packet or smaller than its header.
    #[error("packet of {packet_bits} bits with content of {content_bits} bits")]
    ContentSize {
        /// Size of the packet.
        packet_bits: u64,
        /// Size of its content.
        content_bits: u64,
    },
    /// An array is longer than the packet can hold.
    #[error("array of {length} elements does not fit the packet")]
    ArrayLength {
        /// The length it claims.
        length: u64,
    },
    /// The tag of a variant selects nothing.
    #[error("tag {value} selects no option of the variant")]
    NoOption {
        /// Value of the tag.
        value: i128,
    },
    /// An event takes no bits: there would be no end of them.
    #[error("an event without header, context and fields")]
    Empty,
    /// Time goes back within a stream.
    #[error("time goes back from {before_ns} to {after_ns} ns")]
    TimeBack {
        /// Time of the item before, nanoseconds since the epoch.
        before_ns: i64,
        /// Time of this event.
        after_ns: i64,
    },
}

impl Fault {
    /// Whether text stands where a packet should begin.
    #[must_use]
    pub fn is_text(&self) -> bool {
        let Self::Magic { found } = self else {
            return false;
        };
        let bytes = found.to_le_bytes();
        let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        bytes[4..] == [0; 4] && bytes[..4].iter().all(text)
    }
}
