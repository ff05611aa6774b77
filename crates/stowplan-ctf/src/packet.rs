//! The beginning of a packet: which stream, how large, which span of time.

use crate::error::Fault;
use crate::plan::{Frame, IntAt, Plan, walk};

/// First four bytes of every packet (CTF 1.8.3, 5.1).
pub(crate) const MAGIC: u32 = 0xC1FC_1FC1;

/// What a packet says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Index of the stream class.
    pub stream: usize,
    pub instance: Option<u64>,
    /// Readings of the clock.
    pub begin: Option<u64>,
    pub end: Option<u64>,
    pub sequence: Option<u64>,
    pub discarded: Option<u64>,
    pub cpu: Option<u32>,
    /// Where the first event may begin, bits.
    pub events_at: u64,
    /// Size of the content, bits, header included.
    pub content_bits: u64,
    /// Size of the packet, bytes.
    pub bytes: usize,
}

/// Reads the packet at the front of `file`; `bases` is scratch.
///
/// A fault comes with its place, in bits from the front.
pub(crate) fn read(
    plan: &Plan,
    uuid: Option<&[u8; 16]>,
    file: &[u8],
    bases: &mut Vec<u64>,
) -> Result<Packet, (u64, Fault)> {
    let frame = Frame {
        data: file,
        end: file.len() as u64 * 8,
    };
    let mut at = 0;
    let header = &plan.packet_header;
    bases.clear();
    bases.resize(header.bases, crate::plan::UNSET);
    walk(&header.runs, frame, &mut at, bases).map_err(|fault| (at, fault))?;
    let get = |field: Option<IntAt>, bases: &[u64]| field.and_then(|field| field.raw(file, bases));
    if let Some(found) = get(header.magic, bases)
        && found != u64::from(MAGIC)
    {
        return Err((0, Fault::Magic { found }));
    }
    if let (Some(uuid), Some((base, offset))) = (uuid, header.uuid) {
        let found = crate::plan::position(bases, base, offset)
            .and_then(|at| usize::try_from(at / 8).ok())
            .and_then(|at| file.get(at..)?.first_chunk::<16>());
        if found != Some(uuid) {
            return Err((0, Fault::Uuid));
        }
    }
    let instance = get(header.instance, bases);
    let id = get(header.stream_id, bases).unwrap_or(0);
    let stream = plan
        .streams
        .iter()
        .position(|stream| stream.id == id)
        .ok_or((0, Fault::UnknownStream { id }))?;

    let context = &plan.streams[stream].context;
    bases.clear();
    bases.resize(context.bases, crate::plan::UNSET);
    walk(&context.runs, frame, &mut at, bases).map_err(|fault| (at, fault))?;
    let (content_bits, bytes) = sizes(
        file.len(),
        at,
        get(context.packet_bits, bases),
        get(context.content_bits, bases),
    )
    .map_err(|fault| (0, fault))?;
    Ok(Packet {
        stream,
        instance,
        begin: get(context.begin, bases),
        end: get(context.end, bases),
        sequence: get(context.sequence, bases),
        discarded: get(context.discarded, bases),
        cpu: get(context.cpu, bases).and_then(|cpu| u32::try_from(cpu).ok()),
        events_at: at,
        content_bits,
        bytes,
    })
}

/// Content in bits and packet in bytes. Without sizes a packet fills its file
/// (CTF 1.8.3, 5.2).
fn sizes(
    file: usize,
    header_bits: u64,
    packet_bits: Option<u64>,
    content_bits: Option<u64>,
) -> Result<(u64, usize), Fault> {
    let file_bits = file as u64 * 8;
    let packet_bits = packet_bits.or(content_bits).unwrap_or(file_bits);
    let content_bits = content_bits.unwrap_or(packet_bits);
    let whole = packet_bits.checked_next_multiple_of(8);
    let Some(bits) = whole.filter(|bits| *bits == packet_bits && *bits >= header_bits.max(8))
    else {
        return Err(Fault::PacketSize { bits: packet_bits });
    };
    if bits > file_bits {
        return Err(Fault::PacketCut {
            bits,
            missing: (bits - file_bits) / 8,
        });
    }
    if content_bits > packet_bits || content_bits < header_bits {
        return Err(Fault::ContentSize {
            packet_bits,
            content_bits,
        });
    }
    let bytes = usize::try_from(bits / 8).map_err(|_| Fault::PacketSize { bits: packet_bits })?;
    Ok((content_bits, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert_eq!(sizes(100, 80, None, None), Ok((800, 100)));
        assert_eq!(sizes(100, 80, Some(400), Some(100)), Ok((100, 50)));
        assert_eq!(
            sizes(100, 80, Some(808), None),
            Err(Fault::PacketCut {
                bits: 808,
                missing: 1
            })
        );
        for bits in [0, 8, 401, u64::MAX] {
            assert_eq!(
                sizes(100, 80, Some(bits), None),
                Err(Fault::PacketSize { bits })
            );
        }
        for content in [79, 401] {
            assert!(matches!(
                sizes(100, 80, Some(400), Some(content)),
                Err(Fault::ContentSize { .. })
            ));
        }
    }
}
