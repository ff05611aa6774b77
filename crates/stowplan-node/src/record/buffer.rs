//! The trace buffer of the process, mapped.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::time::{ClockId, clock_gettime};
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter};
use stowplan_wire::ring::{self, HEADER_BYTES, Identity, LIVE_AT, Live, PACKET_BYTES, RingError};

/// Where a process records.
#[derive(Debug)]
pub struct Buffer {
    live: &'static Live,
    /// First packet; dangling where there is none.
    packets: *mut u8,
    count: u32,
    uuid: [u8; 16],
    vpid: i32,
    process: String,
}

// SAFETY: every packet is handed out once (`take_packet`), the rest is atomic or constant.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Why a trace buffer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BufferError {
    /// It cannot be opened or mapped.
    #[error("cannot map trace buffer '{path}'")]
    Map {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content is not fit for use.
    #[error("cannot use trace buffer '{path}'")]
    Layout {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RingError,
    },
    /// The kernel gave no random number.
    #[error("cannot draw the identity of the trace")]
    Random(#[source] std::io::Error),
}

impl Buffer {
    /// Takes `PROCESS.ring` into use. Where the file is missing, every event is counted as discarded.
    ///
    /// # Errors
    /// When the file is there but cannot be used.
    pub fn open(path: &Path, service: &str, process: &str) -> Result<Self, BufferError> {
        let identity = identity(service, process)?;
        let vpid = identity.vpid.cast_signed();
        let uuid = identity.uuid;
        let file = match OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)
        {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    live: Box::leak(Box::default()),
                    packets: std::ptr::NonNull::dangling().as_ptr(),
                    count: 0,
                    uuid,
                    vpid,
                    process: process.to_owned(),
                });
            }
            other => other.map_err(|source| map_error(path, source))?,
        };
        let size = file
            .metadata()
            .map_err(|source| map_error(path, source))?
            .len();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        // SAFETY: a new mapping at an address of the kernel's choice; the agent keeps the file at its
        // size until the process has ended. `POPULATE` so that no store faults later.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                &file,
                0,
            )
        }
        .map_err(|error| map_error(path, error.into()))?
        .cast::<u8>();
        // SAFETY: the whole mapping, and nothing else refers to it yet.
        let bytes = unsafe { std::slice::from_raw_parts_mut(base, size) };
        ring::write_identity(bytes, &identity).map_err(|source| BufferError::Layout {
            path: path.to_owned(),
            source,
        })?;
        // SAFETY: `write_identity` has checked that the header fits; `LIVE_AT` is a multiple of the
        // page size, so `Live` is aligned; all its fields are atomic, and zeros are valid.
        let live = unsafe { &*base.add(LIVE_AT).cast::<Live>() };
        Ok(Self {
            live,
            // SAFETY: within the mapping, as above.
            packets: unsafe { base.add(HEADER_BYTES) },
            count: ring::packets_in(size),
            uuid,
            vpid,
            process: process.to_owned(),
        })
    }

    /// The counters.
    pub(super) fn live(&self) -> &'static Live {
        self.live
    }

    /// Context of the events of a thread.
    pub(super) fn context(&self, vtid: i32) -> EventContext {
        EventContext::new(self.vpid, vtid, &self.process)
    }

    /// Begins the next free packet; `None` when there is none left.
    pub(super) fn take_packet(
        &self,
        slot: u32,
        sequence: u64,
        time_ns: u64,
    ) -> Option<PacketWriter<'static>> {
        if self.live.next_packet.load(Ordering::Relaxed) >= self.count {
            return None;
        }
        let index = self.live.next_packet.fetch_add(1, Ordering::AcqRel);
        if index >= self.count {
            return None;
        }
        // SAFETY: `index` is below the number of packets in the mapping, and the addition above
        // gives it to one caller only.
        let packet = unsafe {
            std::slice::from_raw_parts_mut(
                self.packets.add(index as usize * PACKET_BYTES),
                PACKET_BYTES,
            )
        };
        let header = PacketHeader {
            uuid: self.uuid,
            stream_instance: u64::from(slot),
            sequence,
            cpu: u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0),
            timestamp_begin_ns: time_ns,
            discarded: 0,
        };
        PacketWriter::begin(packet, &header).ok()
    }
}

fn map_error(path: &Path, source: std::io::Error) -> BufferError {
    BufferError::Map {
        path: path.to_owned(),
        source,
    }
}

fn identity(service: &str, process: &str) -> Result<Identity, BufferError> {
    let mut uuid = [0; 16];
    rustix::rand::getrandom(&mut uuid, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| BufferError::Random(error.into()))?;
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .and_then(|text| sixteen(&text))
        .unwrap_or_default();
    Ok(Identity {
        uuid,
        boot_id,
        clock_offset_ns: clock_offset(),
        attached_ns: super::now(),
        vpid: std::process::id(),
        service: service.to_owned(),
        process: process.to_owned(),
    })
}

/// CLOCK_REALTIME - CLOCK_MONOTONIC, from the closest of a few pairs of readings.
fn clock_offset() -> i64 {
    let realtime = || {
        let time = clock_gettime(ClockId::Realtime);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    (0..5)
        .map(|_| {
            let (before, real, after) = (super::now(), realtime(), super::now());
            let middle = before + (after - before) / 2;
            (after - before, real - middle.cast_signed())
        })
        .min()
        .map_or(0, |(_, offset)| offset)
}

/// A UUID as text to bytes.
fn sixteen(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then(|| number.to_be_bytes())
}
