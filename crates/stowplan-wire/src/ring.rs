//! Layout of `PROCESS.ring`, the trace buffer of one process.
//!
//! The agent creates the file on tmpfs with [`file_bytes`] bytes of zeros and makes every page
//! resident. The process maps it, writes the identity ([`write_identity`]) and from then on takes
//! packets by one atomic addition each. Whoever collects reads the file with [`Ring::parse`], also
//! after the process was killed between any two instructions.
//!
//! ```text
//! 0               identity: fixed once the magic number is there
//! LIVE_AT         Live: counters that change while recording
//! HEADER_BYTES    packet 0, packet 1, … of PACKET_BYTES each
//! ```
//!
//! All numbers are little-endian; programs and collector run on the same machine.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First eight bytes of a buffer that a process has taken into use.
pub const MAGIC: u64 = u64::from_le_bytes(*b"stowring");

/// Version of the layout.
pub const VERSION: u32 = 1;

/// Size of a packet in bytes. A thread holds one at a time.
pub const PACKET_BYTES: usize = 64 * 1024;

/// Threads of a process that can record. Events of further threads are counted as discarded.
pub const THREADS: usize = 128;

/// Event classes that can be counted; class numbers are below.
pub const CLASSES: usize = 64;

/// Longest service or process name in bytes.
pub const NAME_BYTES: usize = 64;

/// Where [`Live`] begins.
pub const LIVE_AT: usize = 4096;

/// Where the first packet begins.
pub const HEADER_BYTES: usize = (LIVE_AT + size_of::<Live>()).next_multiple_of(4096);

const VERSION_AT: usize = 8;
const PACKET_BYTES_AT: usize = 12;
const PACKETS_AT: usize = 16;
const VPID_AT: usize = 20;
const OFFSET_AT: usize = 24;
const ATTACHED_AT: usize = 32;
const UUID_AT: usize = 40;
const BOOT_AT: usize = 56;
const SERVICE_AT: usize = 72;
const PROCESS_AT: usize = SERVICE_AT + NAME_BYTES;

/// Events of one thread by class. Only that thread writes them.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ThreadCounters {
    /// Thread id in the PID namespace of the process; 0 while the slot is free.
    pub vtid: AtomicU32,
    /// When the last event was discarded, CLOCK_MONOTONIC nanoseconds; 0 if none was.
    pub lost_until_ns: AtomicU64,
    /// Events stored in packets.
    pub recorded: [AtomicU64; CLASSES],
    /// Events that found no room.
    pub discarded: [AtomicU64; CLASSES],
}

/// The part of the header that changes while a process records.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Live {
    /// Packets handed out; may pass the number of packets.
    pub next_packet: AtomicU32,
    /// Thread slots handed out; may pass [`THREADS`].
    pub next_thread: AtomicU32,
    /// 1 when the process has recorded its last event in good order.
    pub closed: AtomicU32,
    /// Events of threads without a slot, by class.
    pub orphans: [AtomicU64; CLASSES],
    /// Counters by thread slot.
    pub threads: [ThreadCounters; THREADS],
}

impl Live {
    /// Counters that stand at zero, for a process without a buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            next_packet: AtomicU32::new(0),
            next_thread: AtomicU32::new(0),
            closed: AtomicU32::new(0),
            orphans: [const { AtomicU64::new(0) }; CLASSES],
            threads: [const {
                ThreadCounters {
                    vtid: AtomicU32::new(0),
                    lost_until_ns: AtomicU64::new(0),
                    recorded: [const { AtomicU64::new(0) }; CLASSES],
                    discarded: [const { AtomicU64::new(0) }; CLASSES],
                }
            }; THREADS],
        }
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

/// Who records, and on which clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Identifies the trace of this process; stands in every packet.
    pub uuid: [u8; 16],
    /// Boot id of the kernel: processes with the same one share CLOCK_MONOTONIC. Zero where it cannot be read.
    pub boot_id: [u8; 16],
    /// CLOCK_REALTIME - CLOCK_MONOTONIC, nanoseconds.
    pub clock_offset_ns: i64,
    /// CLOCK_MONOTONIC when the process took the buffer into use, nanoseconds.
    pub attached_ns: u64,
    /// Process id in its PID namespace.
    pub vpid: u32,
    /// Service name.
    pub service: String,
    /// Process name.
    pub process: String,
}

/// Why bytes are not a trace buffer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// There is no room for the header.
    #[error("trace buffer of {size} bytes is shorter than its header of {HEADER_BYTES} bytes")]
    TooShort {
        /// Size of the file.
        size: usize,
    },
    /// No process has written to it.
    #[error("no process has taken the trace buffer into use")]
    Unused,
    /// Another program wrote it.
    #[error("not a trace buffer: begins with {found:#018x}")]
    Foreign {
        /// The first eight bytes.
        found: u64,
    },
    /// Another build wrote it.
    #[error("trace buffer has layout {found}, this program reads layout {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The header contradicts the file.
    #[error(
        "trace buffer says {packets} packets of {packet_bytes} bytes, its file has {size} bytes"
    )]
    Size {
        /// Packets that it claims.
        packets: u32,
        /// Packet size that it claims.
        packet_bytes: u32,
        /// Size of the file.
        size: usize,
    },
    /// A name is not text.
    #[error("trace buffer has a {what} name that is not UTF-8")]
    Name {
        /// `service` or `process`.
        what: &'static str,
    },
    /// A name does not fit.
    #[error("the name '{name}' is longer than {NAME_BYTES} bytes")]
    LongName {
        /// The name.
        name: String,
    },
}

/// Size of a buffer file for about `buffer_bytes` of packets, at least one packet.
#[must_use]
pub fn file_bytes(buffer_bytes: u64) -> u64 {
    let packets = buffer_bytes.div_ceil(PACKET_BYTES as u64).max(1);
    HEADER_BYTES as u64 + packets * PACKET_BYTES as u64
}

/// Packets that fit a file of this size.
#[must_use]
pub fn packets_in(file_bytes: usize) -> u32 {
    let packets = file_bytes.saturating_sub(HEADER_BYTES) / PACKET_BYTES;
    u32::try_from(packets).unwrap_or(u32::MAX)
}

/// Takes a buffer of zeros into use: writes who records, the magic number last.
///
/// # Errors
/// When the slice is shorter than a header or a name is too long.
pub fn write_identity(file: &mut [u8], identity: &Identity) -> Result<(), RingError> {
    let size = file.len();
    if size < HEADER_BYTES {
        return Err(RingError::TooShort { size });
    }
    for name in [&identity.service, &identity.process] {
        if name.len() > NAME_BYTES {
            return Err(RingError::LongName { name: name.clone() });
        }
    }
    let packet_bytes = PACKET_BYTES as u32;
    put(file, VERSION_AT, &VERSION.to_le_bytes());
    put(file, PACKET_BYTES_AT, &packet_bytes.to_le_bytes());
    put(file, PACKETS_AT, &packets_in(size).to_le_bytes());
    put(file, VPID_AT, &identity.vpid.to_le_bytes());
    put(file, OFFSET_AT, &identity.clock_offset_ns.to_le_bytes());
    put(file, ATTACHED_AT, &identity.attached_ns.to_le_bytes());
    put(file, UUID_AT, &identity.uuid);
    put(file, BOOT_AT, &identity.boot_id);
    put(file, SERVICE_AT, identity.service.as_bytes());
    put(file, PROCESS_AT, identity.process.as_bytes());
    put(file, 0, &MAGIC.to_le_bytes());
    Ok(())
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A buffer that a process has used.
#[derive(Debug, Clone)]
pub struct Ring<'a> {
    file: &'a [u8],
    identity: Identity,
    packets: usize,
}

/// What one thread counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Slot of the thread; packets carry it as their stream.
    pub slot: u64,
    /// Thread id as the process sees it.
    pub vtid: u32,
    /// When the last event was discarded, CLOCK_MONOTONIC nanoseconds; 0 if none was.
    pub lost_until_ns: u64,
    /// Events stored, by class number.
    pub recorded: [u64; CLASSES],
    /// Events discarded, by class number.
    pub discarded: [u64; CLASSES],
}

impl<'a> Ring<'a> {
    /// Reads a buffer file.
    ///
    /// # Errors
    /// When no process has used it, or it is not a whole buffer of this layout.
    pub fn parse(file: &'a [u8]) -> Result<Self, RingError> {
        let size = file.len();
        if size < HEADER_BYTES {
            return Err(RingError::TooShort { size });
        }
        match u64_at(file, 0) {
            MAGIC => {}
            0 => return Err(RingError::Unused),
            found => return Err(RingError::Foreign { found }),
        }
        let found = u32_at(file, VERSION_AT);
        if found != VERSION {
            return Err(RingError::Version { found });
        }
        let (packet_bytes, packets) = (u32_at(file, PACKET_BYTES_AT), u32_at(file, PACKETS_AT));
        if packet_bytes as usize != PACKET_BYTES || packets > packets_in(size) {
            return Err(RingError::Size {
                packets,
                packet_bytes,
                size,
            });
        }
        let identity = Identity {
            uuid: sixteen_at(file, UUID_AT),
            boot_id: sixteen_at(file, BOOT_AT),
            clock_offset_ns: u64_at(file, OFFSET_AT).cast_signed(),
            attached_ns: u64_at(file, ATTACHED_AT),
            vpid: u32_at(file, VPID_AT),
            service: name_at(file, SERVICE_AT, "service")?,
            process: name_at(file, PROCESS_AT, "process")?,
        };
        Ok(Self {
            file,
            identity,
            packets: packets as usize,
        })
    }

    /// Who recorded.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether the process recorded its last event in good order.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.live_u32(offset_of!(Live, closed)) == 1
    }

    /// The packets that were handed out, in that order; one may never have been begun.
    pub fn packets(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let used = self.live_u32(offset_of!(Live, next_packet)) as usize;
        let file = self.file;
        (0..used.min(self.packets)).map(move |index| {
            let at = HEADER_BYTES + index * PACKET_BYTES;
            &file[at..at + PACKET_BYTES]
        })
    }

    /// Packets handed out and packets in the buffer.
    #[must_use]
    pub fn fill(&self) -> (usize, usize) {
        let used = self.live_u32(offset_of!(Live, next_packet)) as usize;
        (used.min(self.packets), self.packets)
    }

    /// Counters of the threads that recorded.
    #[must_use]
    pub fn threads(&self) -> Vec<ThreadCounts> {
        let used = self.live_u32(offset_of!(Live, next_thread)) as usize;
        (0..used.min(THREADS))
            .map(|slot| {
                let at = offset_of!(Live, threads) + slot * size_of::<ThreadCounters>();
                ThreadCounts {
                    slot: slot as u64,
                    vtid: self.live_u32(at + offset_of!(ThreadCounters, vtid)),
                    lost_until_ns: u64_at(
                        self.file,
                        LIVE_AT + at + offset_of!(ThreadCounters, lost_until_ns),
                    ),
                    recorded: self.live_counts(at + offset_of!(ThreadCounters, recorded)),
                    discarded: self.live_counts(at + offset_of!(ThreadCounters, discarded)),
                }
            })
            .collect()
    }

    /// Discarded events of threads that had no slot, by class.
    #[must_use]
    pub fn orphans(&self) -> [u64; CLASSES] {
        self.live_counts(offset_of!(Live, orphans))
    }

    fn live_u32(&self, at: usize) -> u32 {
        u32_at(self.file, LIVE_AT + at)
    }

    fn live_counts(&self, at: usize) -> [u64; CLASSES] {
        std::array::from_fn(|class| u64_at(self.file, LIVE_AT + at + 8 * class))
    }
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&file[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&file[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn sixteen_at(file: &[u8], at: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&file[at..at + 16]);
    bytes
}

fn name_at(file: &[u8], at: usize, what: &'static str) -> Result<String, RingError> {
    let bytes = &file[at..at + NAME_BYTES];
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(NAME_BYTES);
    std::str::from_utf8(&bytes[..end])
        .map(str::to_owned)
        .map_err(|_| RingError::Name { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            uuid: [3; 16],
            boot_id: [4; 16],
            clock_offset_ns: -5,
            attached_ns: 6,
            vpid: 7,
            service: "sensing".into(),
            process: "lidar".into(),
        }
    }

    #[test]
    fn identity_comes_back() {
        let size = usize::try_from(file_bytes(100_000)).unwrap();
        let mut file = vec![0; size];
        assert_eq!(Ring::parse(&file).unwrap_err(), RingError::Unused);
        write_identity(&mut file, &identity()).unwrap();
        let ring = Ring::parse(&file).unwrap();
        assert_eq!(ring.identity(), &identity());
        assert_eq!(ring.fill(), (0, 2));
        assert!(!ring.closed());
        assert!(ring.threads().is_empty());
    }

    #[test]
    fn counters_are_where_the_recorder_puts_them() {
        let mut file = vec![0; usize::try_from(file_bytes(1)).unwrap()];
        write_identity(&mut file, &identity()).unwrap();
        let at = LIVE_AT + offset_of!(Live, next_thread);
        put(&mut file, at, &1_u32.to_le_bytes());
        let at =
            LIVE_AT + offset_of!(Live, threads) + offset_of!(ThreadCounters, discarded) + 8 * 22;
        put(&mut file, at, &9_u64.to_le_bytes());
        let ring = Ring::parse(&file).unwrap();
        assert_eq!(ring.threads()[0].discarded[22], 9);
        assert_eq!(ring.threads()[0].recorded.iter().sum::<u64>(), 0);
    }

    #[test]
    fn broken_buffers_are_errors() {
        let mut file = vec![0; usize::try_from(file_bytes(1)).unwrap()];
        assert!(matches!(
            Ring::parse(&file[..10]).unwrap_err(),
            RingError::TooShort { size: 10 }
        ));
        write_identity(&mut file, &identity()).unwrap();
        assert!(matches!(
            Ring::parse(&file[..HEADER_BYTES]).unwrap_err(),
            RingError::Size { packets: 1, .. }
        ));
        file[VERSION_AT] = 9;
        assert_eq!(
            Ring::parse(&file).unwrap_err(),
            RingError::Version { found: 9 }
        );
        file[0] = 1;
        assert!(matches!(
            Ring::parse(&file).unwrap_err(),
            RingError::Foreign { .. }
        ));
        let name = "x".repeat(65);
        let long = Identity {
            process: name.clone(),
            ..identity()
        };
        assert_eq!(
            write_identity(&mut file, &long).unwrap_err(),
            RingError::LongName { name }
        );
    }
}
