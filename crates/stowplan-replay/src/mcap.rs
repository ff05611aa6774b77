//! MCAP (<https://mcap.dev/spec>) from front to back: what of its records says when messages were recorded, and their sizes.

use std::borrow::Cow;
use std::io::Read;

/// What an MCAP file begins and ends with.
pub(crate) const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// Operation codes of the records that are read.
pub(crate) mod op {
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
    pub(crate) const DATA_END: u8 = 0x0f;
}

/// Why a file cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McapError {
    /// It ends within a record.
    #[error("byte {at}: a record goes beyond the end")]
    Cut {
        /// Where the record begins, in the file or in its chunk.
        at: usize,
    },
    /// A record is not what it should be.
    #[error("byte {at}: {what}")]
    Broken {
        /// Where the record begins, in the file or in its chunk.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A compression that is not known.
    #[error("chunks are compressed with '{0}'")]
    Compression(String),
    /// A chunk cannot be decompressed.
    #[error("a chunk cannot be decompressed")]
    Decompress(#[source] std::io::Error),
}

/// A record that matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Number and topic of a channel, for the messages that follow.
    Channel(u16, &'a str),
    /// A message of a channel.
    Message {
        /// The channel.
        channel: u16,
        /// When it was recorded, ns since 1970.
        log_ns: u64,
        /// Size of its content.
        bytes: u64,
    },
}

/// The fields of a record, one after the other.
struct Fields<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], McapError> {
        let what = "a record is shorter than its fields";
        let split = self.rest.split_at_checked(count);
        let (field, rest) = split.ok_or(McapError::Broken { at: self.at, what })?;
        self.rest = rest;
        Ok(field)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], McapError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn u16(&mut self) -> Result<u16, McapError> {
        self.number().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, McapError> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, McapError> {
        self.number().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a str, McapError> {
        let length = self.u32()?;
        let bytes = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        let what = "a text is not UTF-8";
        std::str::from_utf8(bytes).map_err(|_| McapError::Broken { at: self.at, what })
    }
}

/// Gives every channel and message of a file, which begins with [`MAGIC`], in its order.
///
/// # Errors
/// When it cannot be read to the end of its data, or `each` fails.
pub(crate) fn read<E: From<McapError>>(
    file: &[u8],
    each: &mut impl FnMut(Record<'_>) -> Result<(), E>,
) -> Result<(), E> {
    records(file, MAGIC.len(), &mut |op, fields| match op {
        op::CHUNK => {
            let chunk = chunk(fields)?;
            records(&chunk, 0, &mut |op, fields| record(op, fields, each))?;
            Ok(())
        }
        op => record(op, fields, each),
    })
}

/// The records of a file or chunk from `at` on, to its end or that of the file's data.
fn records<E: From<McapError>>(
    bytes: &[u8],
    mut at: usize,
    each: &mut impl FnMut(u8, &mut Fields<'_>) -> Result<(), E>,
) -> Result<(), E> {
    while at < bytes.len() {
        let cut = McapError::Cut { at };
        let rest = &bytes[at..];
        let Some((&[op], rest)) = rest.split_first_chunk::<1>() else {
            return Err(cut.into());
        };
        let Some((length, rest)) = rest.split_first_chunk::<8>() else {
            return Err(cut.into());
        };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((content, _)) = rest.split_at_checked(length) else {
            return Err(cut.into());
        };
        if op == op::DATA_END {
            break;
        }
        each(op, &mut Fields { rest: content, at })?;
        at += 1 + 8 + length;
    }
    Ok(())
}

fn record<E: From<McapError>>(
    op: u8,
    fields: &mut Fields<'_>,
    each: &mut impl FnMut(Record<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match op {
        op::CHANNEL => {
            let number = fields.u16()?;
            let _schema = fields.u16()?;
            each(Record::Channel(number, fields.text()?))
        }
        op::MESSAGE => {
            let channel = fields.u16()?;
            let _sequence = fields.u32()?;
            let log_ns = fields.u64()?;
            let _published = fields.u64()?;
            let bytes = fields.rest.len() as u64;
            each(Record::Message {
                channel,
                log_ns,
                bytes,
            })
        }
        _ => Ok(()),
    }
}

/// The records of a chunk without its compression.
fn chunk<'a>(fields: &mut Fields<'a>) -> Result<Cow<'a, [u8]>, McapError> {
    let _times = (fields.u64()?, fields.u64()?);
    let size = fields.u64()?;
    let _crc = fields.u32()?;
    let compression = fields.text()?;
    let length = fields.u64()?;
    let data = fields.take(usize::try_from(length).unwrap_or(usize::MAX))?;
    let mut bytes = Vec::new();
    // Not more than the chunk says it has, whatever the file makes of it.
    let read = match compression {
        "" => return Ok(data.into()),
        "zstd" => {
            zstd::Decoder::new(data).and_then(|decoder| decoder.take(size).read_to_end(&mut bytes))
        }
        "lz4" => lz4_flex::frame::FrameDecoder::new(data)
            .take(size)
            .read_to_end(&mut bytes),
        other => return Err(McapError::Compression(other.to_owned())),
    };
    read.map_err(McapError::Decompress)?;
    if bytes.len() as u64 != size {
        let what = "a chunk has fewer bytes than it says";
        return Err(McapError::Broken {
            at: fields.at,
            what,
        });
    }
    Ok(bytes.into())
}
