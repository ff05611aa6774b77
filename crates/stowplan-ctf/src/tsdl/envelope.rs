//! Metadata that is stored as packets (CTF 1.8.3, 7.1), as LTTng does.

use std::borrow::Cow;

use crate::error::{MetadataError, Place};

const MAGIC: [u8; 4] = 0x75D1_1D57u32.to_be_bytes();
const HEADER: usize = 37;

/// The text in a metadata file, whether it stands there plainly or in packets.
pub(crate) fn text(file: &[u8]) -> Result<Cow<'_, str>, MetadataError> {
    let bytes = match file.first_chunk::<4>() {
        Some(first) if *first == MAGIC => Cow::Owned(unpack(file, true)?),
        Some(first) if first.iter().rev().eq(&MAGIC) => Cow::Owned(unpack(file, false)?),
        _ => Cow::Borrowed(file),
    };
    Ok(match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

fn unpack(file: &[u8], big_endian: bool) -> Result<Vec<u8>, MetadataError> {
    let mut text = Vec::with_capacity(file.len());
    let mut at = 0;
    while at < file.len() {
        let packet = &file[at..];
        let broken = |what: &str| fault(format!("metadata packet at byte {at}: {what}"));
        if packet.len() < HEADER {
            return Err(broken("the file ends within its header"));
        }
        let word = |offset: usize| {
            let bytes = [0, 1, 2, 3].map(|index| packet[offset + index]);
            if big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        if word(0).to_be_bytes() != MAGIC {
            return Err(broken("wrong magic number"));
        }
        let (content, size) = (word(24) as usize / 8, word(28) as usize / 8);
        if packet[32] != 0 || packet[33] != 0 {
            return Err(broken("compressed or encrypted metadata cannot be read"));
        }
        if content < HEADER || content > size || size > packet.len() {
            return Err(broken("its sizes do not fit the file"));
        }
        text.extend_from_slice(&packet[HEADER..content]);
        at += size;
    }
    Ok(text)
}

fn fault(message: String) -> MetadataError {
    MetadataError::new(Place::START, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &[u8], big_endian: bool) -> Vec<u8> {
        let word = |value: usize| {
            let value = u32::try_from(value).unwrap();
            if big_endian {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let mut out = word(0x75D1_1D57).to_vec();
        out.extend([9; 16]);
        out.extend(word(0));
        out.extend(word((HEADER + text.len()) * 8));
        out.extend(word(64 * 8));
        out.extend([0, 0, 0, 1, 8]);
        out.extend(text);
        out.resize(64, 0);
        out
    }

    #[test]
    fn packets_of_both_byte_orders_are_joined() {
        for big_endian in [false, true] {
            let mut file = packet(b"trace ", big_endian);
            file.extend(packet(b"{};", big_endian));
            assert_eq!(text(&file).unwrap(), "trace {};");
            file.truncate(100);
            assert_eq!(
                text(&file).unwrap_err().message,
                "metadata packet at byte 64: the file ends within its header"
            );
        }
    }
}
