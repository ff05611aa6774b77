//! One packet in a byte slice, valid after every event.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::context::{EVENT_CONTEXT_SIZE, EventContext};
use crate::packet::MAGIC;
use crate::schema::Record;

const UUID_AT: usize = 4;
const STREAM_ID_AT: usize = 20;
const INSTANCE_AT: usize = 24;
const BEGIN_AT: usize = 32;
const END_AT: usize = 40;
const CONTENT_AT: usize = 48;
const SIZE_AT: usize = 56;
const SEQUENCE_AT: usize = 64;
const DISCARDED_AT: usize = 72;
const CPU_AT: usize = 80;

/// Bytes before the first event of a packet.
pub const PACKET_HEADER_SIZE: usize = 84;

const EVENT_HEADER_SIZE: usize = 2 + 8;

/// Bytes that every event takes beside its fields.
pub const EVENT_OVERHEAD: usize = EVENT_HEADER_SIZE + EVENT_CONTEXT_SIZE;

/// What a packet says of itself when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// The trace that it belongs to ([`TraceInfo::uuid`](super::TraceInfo::uuid)).
    pub uuid: [u8; 16],
    /// The stream: a number of the thread that is unique in the trace.
    pub stream_instance: u64,
    /// Number of the packet in its stream, from 0 without gaps.
    pub sequence: u64,
    /// CPU on which the packet was begun.
    pub cpu: u32,
    /// CLOCK_MONOTONIC when the packet was begun, nanoseconds.
    pub timestamp_begin_ns: u64,
    /// Events of the stream discarded before this packet.
    pub discarded: u64,
}

/// Why a slice cannot be a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It is not large enough for a header.
    #[error("packet of {size} bytes is shorter than its header of {PACKET_HEADER_SIZE} bytes")]
    TooShort {
        /// Bytes of the slice.
        size: usize,
    },
    /// It does not begin at a multiple of eight bytes.
    #[error("packet begins at address {address:#x}, which is not a multiple of 8")]
    Misaligned {
        /// Where it begins.
        address: usize,
    },
}

/// Writes events into one packet.
///
/// The slice is a valid packet from [`PacketWriter::begin`] on and after every
/// call, without [`PacketWriter::finish`]: an event counts from the moment when
/// the content size, stored last, includes it. A process can be killed between
/// any two instructions; who reads the slice after its death sees all stores
/// before that instruction, and sees a whole number of events.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    packet: &'a mut [u8],
    at: usize,
    last_ns: u64,
}

impl<'a> PacketWriter<'a> {
    /// Begins an empty packet that fills `packet`, whose content does not matter.
    ///
    /// # Errors
    /// If the slice is too short for a header or not aligned to eight bytes.
    pub fn begin(packet: &'a mut [u8], header: &PacketHeader) -> Result<Self, PacketError> {
        if packet.len() < PACKET_HEADER_SIZE {
            return Err(PacketError::TooShort { size: packet.len() });
        }
        let address = packet.as_ptr().addr();
        if !address.is_multiple_of(8) {
            return Err(PacketError::Misaligned { address });
        }
        let mut writer = Self {
            at: PACKET_HEADER_SIZE,
            last_ns: header.timestamp_begin_ns,
            packet,
        };
        let bits = writer.packet.len() as u64 * 8;
        writer.packet[UUID_AT..STREAM_ID_AT].copy_from_slice(&header.uuid);
        writer.packet[STREAM_ID_AT..INSTANCE_AT].fill(0);
        writer.put(INSTANCE_AT, header.stream_instance);
        writer.put(BEGIN_AT, header.timestamp_begin_ns);
        writer.put(END_AT, header.timestamp_begin_ns);
        writer.put(CONTENT_AT, PACKET_HEADER_SIZE as u64 * 8);
        writer.put(SIZE_AT, bits);
        writer.put(SEQUENCE_AT, header.sequence);
        writer.put(DISCARDED_AT, header.discarded);
        writer.packet[CPU_AT..PACKET_HEADER_SIZE].copy_from_slice(&header.cpu.to_le_bytes());
        writer.commit_magic();
        Ok(writer)
    }

    /// Appends an event; `false` if it does not fit, and nothing has changed then.
    ///
    /// `timestamp_ns` is CLOCK_MONOTONIC. Time does not go back within a stream:
    /// an earlier time than that of the event before is stored as that.
    #[inline]
    #[must_use = "an event that does not fit goes into another packet or is discarded"]
    pub fn event<R: Record>(
        &mut self,
        timestamp_ns: u64,
        context: &EventContext,
        record: &R,
    ) -> bool {
        let size = EVENT_OVERHEAD + record.size();
        let Some(out) = self.packet[self.at..].get_mut(..size) else {
            return false;
        };
        let timestamp_ns = timestamp_ns.max(self.last_ns);
        out[..2].copy_from_slice(&R::CLASS.id.to_le_bytes());
        out[2..EVENT_HEADER_SIZE].copy_from_slice(&timestamp_ns.to_le_bytes());
        out[EVENT_HEADER_SIZE..EVENT_OVERHEAD].copy_from_slice(context.bytes());
        record.encode(&mut out[EVENT_OVERHEAD..]);
        self.at += size;
        self.last_ns = timestamp_ns;
        // The end time first: it may be later than the last event, never earlier.
        self.put(END_AT, timestamp_ns);
        self.commit_content();
        true
    }

    /// Notes that an event of this stream was discarded at `timestamp_ns`, after
    /// what this packet contains.
    pub fn discard(&mut self, timestamp_ns: u64) {
        self.last_ns = timestamp_ns.max(self.last_ns);
        self.put(END_AT, self.last_ns);
        self.put(DISCARDED_AT, self.discarded() + 1);
    }

    /// Events of the stream discarded up to the end of this packet.
    pub fn discarded(&self) -> u64 {
        read_u64(self.packet, DISCARDED_AT)
    }

    /// Bytes that the packet has left for events.
    pub fn remaining(&self) -> usize {
        self.packet.len() - self.at
    }

    /// Ends the packet at `timestamp_ns`: what the stream had to say until then is
    /// in it. Without this call the packet ends with its last event.
    pub fn finish(mut self, timestamp_ns: u64) {
        let end = timestamp_ns.max(self.last_ns);
        self.put(END_AT, end);
    }

    #[inline(always)]
    fn put(&mut self, at: usize, value: u64) {
        self.packet[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Makes everything stored so far count.
    #[inline(always)]
    fn commit_content(&mut self) {
        let bits = (self.at as u64 * 8).to_le();
        let content: *mut u8 = &raw mut self.packet[CONTENT_AT];
        // SAFETY: the slice is aligned to 8 (checked in `begin`) and CONTENT_AT is a multiple of 8
        // with eight bytes before PACKET_HEADER_SIZE; the exclusive borrow excludes other access.
        let content = unsafe { AtomicU64::from_ptr(content.cast()) };
        content.store(bits, Ordering::Release);
    }

    /// Makes the header count: readers skip what does not begin with the magic number.
    fn commit_magic(&mut self) {
        let magic: *mut u8 = self.packet.as_mut_ptr();
        // SAFETY: the slice is aligned to 8 and longer than four bytes (both checked in `begin`);
        // the exclusive borrow excludes other access.
        let magic = unsafe { AtomicU32::from_ptr(magic.cast()) };
        magic.store(MAGIC.to_le(), Ordering::Release);
    }
}

/// What a collector needs to know of a packet to put it into the file of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketInfo {
    /// The stream it belongs to.
    pub stream_instance: u64,
    /// Its number in the stream.
    pub sequence: u64,
    /// First instant, CLOCK_MONOTONIC nanoseconds.
    pub timestamp_begin_ns: u64,
    /// Last instant, CLOCK_MONOTONIC nanoseconds.
    pub timestamp_end_ns: u64,
    /// Bytes in use, header included.
    pub content_bytes: u64,
    /// Events of the stream discarded up to its end.
    pub discarded: u64,
}

impl PacketInfo {
    /// Reads the header that a [`PacketWriter`] left at the front of `packet`;
    /// `None` if none was begun there or the slice is not the whole packet.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if packet.len() < PACKET_HEADER_SIZE || packet[..4] != MAGIC.to_le_bytes() {
            return None;
        }
        let content_bytes = read_u64(packet, CONTENT_AT) / 8;
        let whole = read_u64(packet, SIZE_AT) == packet.len() as u64 * 8
            && content_bytes >= PACKET_HEADER_SIZE as u64
            && content_bytes <= packet.len() as u64;
        whole.then(|| Self {
            stream_instance: read_u64(packet, INSTANCE_AT),
            sequence: read_u64(packet, SEQUENCE_AT),
            timestamp_begin_ns: read_u64(packet, BEGIN_AT),
            timestamp_end_ns: read_u64(packet, END_AT),
            content_bytes,
            discarded: read_u64(packet, DISCARDED_AT),
        })
    }
}

fn read_u64(packet: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&packet[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::ros2::{CallbackEnd, CallbackStart};
    use crate::schema::Handle;

    const HEADER: PacketHeader = PacketHeader {
        uuid: [7; 16],
        stream_instance: 5,
        sequence: 2,
        cpu: 1,
        timestamp_begin_ns: 1_000,
        discarded: 3,
    };

    #[repr(align(8))]
    struct Aligned([u8; 192]);

    #[test]
    fn a_packet_is_whole_after_every_event() {
        let mut bytes = Aligned([0xaa; 192]);
        let context = EventContext::new(1, 1, "x");
        let start = CallbackStart {
            callback: Handle(9),
            is_intra_process: 0,
        };
        let mut writer = PacketWriter::begin(&mut bytes.0, &HEADER).unwrap();
        assert!(writer.event(1_500, &context, &start));
        assert_eq!(writer.remaining(), 192 - 84 - 35 - 12);
        assert!(writer.event(
            1_400,
            &context,
            &CallbackEnd {
                callback: Handle(9)
            }
        ));
        assert!(!writer.event(1_600, &context, &start));
        writer.discard(1_600);
        let _ = writer;
        let info = PacketInfo::read(&bytes.0).unwrap();
        assert_eq!(
            info,
            PacketInfo {
                stream_instance: 5,
                sequence: 2,
                timestamp_begin_ns: 1_000,
                timestamp_end_ns: 1_600,
                content_bytes: 84 + 47 + 43,
                discarded: 4,
            }
        );
        // The second event asked for an earlier time than the first had.
        assert_eq!(read_u64(&bytes.0, 84 + 47 + 2), 1_500);
    }

    #[test]
    fn slices_that_cannot_be_packets_are_refused() {
        let mut bytes = Aligned([0; 192]);
        assert_eq!(
            PacketWriter::begin(&mut bytes.0[..80], &HEADER).unwrap_err(),
            PacketError::TooShort { size: 80 }
        );
        assert!(matches!(
            PacketWriter::begin(&mut bytes.0[1..], &HEADER).unwrap_err(),
            PacketError::Misaligned { .. }
        ));
        assert_eq!(PacketInfo::read(&bytes.0), None);
    }
}
