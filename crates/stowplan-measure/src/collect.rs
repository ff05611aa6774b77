//! From trace buffers to CTF: one trace folder per process, one stream file per thread.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use stowplan_ctf::events;
use stowplan_ctf::writer::{
    EnvValue, PacketHeader, PacketInfo, PacketWriter, TraceInfo, metadata_text,
};
use stowplan_wire::ring::{CLASSES, PACKET_BYTES, Ring, RingError, THREADS};

/// Where the buffer of a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFile {
    /// The file.
    pub path: PathBuf,
    /// Service of the process.
    pub service: String,
    /// Process.
    pub process: String,
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectReport {
    /// Events recorded, by event name, over all processes.
    pub recorded: BTreeMap<String, u64>,
    /// Events discarded, by event name.
    pub discarded: BTreeMap<String, u64>,
    /// Processes (`SERVICE/PROCESS`) that never took their buffer into use.
    pub unused: Vec<String>,
    /// Processes that did not end recording in good order.
    pub not_closed: Vec<String>,
}

/// Why traces cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file or folder fails.
    #[error("cannot {verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A buffer is broken.
    #[error("trace buffer {}", path.display())]
    Ring {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RingError,
    },
}

fn io_error(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CollectError {
    let path = path.to_owned();
    move |source| CollectError::Io { verb, path, source }
}

/// Writes the buffers as CTF traces `OUT/SERVICE/PROCESS/{metadata, stream-N}`.
///
/// The processes must have ended: a buffer is read as it stands, also after its process was killed.
///
/// # Errors
/// When a buffer is broken or a file cannot be written.
pub fn collect(rings: &[RingFile], out: &Path) -> Result<CollectReport, CollectError> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut report = CollectReport::default();
    fs::create_dir_all(out).map_err(io_error("make", out))?;
    for file in rings {
        let opened = File::open(&file.path).map_err(io_error("open", &file.path))?;
        // SAFETY: the file lies in the run's own folder and nobody writes to it any more: its process has
        // ended. A file that shrank would raise SIGBUS; the agent alone could do that.
        let bytes = unsafe { Mmap::map(&opened) }.map_err(io_error("map", &file.path))?;
        let name = format!("{}/{}", file.service, file.process);
        match Ring::parse(&bytes) {
            Err(RingError::Unused) => report.unused.push(name),
            Err(source) => {
                return Err(CollectError::Ring {
                    path: file.path.clone(),
                    source,
                });
            }
            Ok(ring) => {
                write_trace(
                    &ring,
                    host.trim(),
                    &out.join(&file.service).join(&file.process),
                )?;
                count(&ring, &mut report);
                if !ring.closed() {
                    report.not_closed.push(name);
                }
            }
        }
    }
    Ok(report)
}

fn write_trace(ring: &Ring<'_>, host: &str, folder: &Path) -> Result<(), CollectError> {
    let identity = ring.identity();
    fs::create_dir_all(folder).map_err(io_error("make", folder))?;
    let text = |name: &str, value: &str| (name.to_owned(), EnvValue::Text(value.to_owned()));
    let metadata = metadata_text(&TraceInfo {
        uuid: identity.uuid,
        clock_uuid: identity.boot_id,
        clock_offset_ns: identity.clock_offset_ns,
        hostname: host.to_owned(),
        tracer_version: (1, 0),
        env: vec![
            text("service", &identity.service),
            text("process", &identity.process),
            ("vpid".to_owned(), EnvValue::Int(i64::from(identity.vpid))),
        ],
    });
    let path = folder.join("metadata");
    fs::write(&path, metadata).map_err(io_error("write", &path))?;
    let mut streams: BTreeMap<u64, Stream> = BTreeMap::new();
    for packet in ring.packets() {
        // A packet that was handed out and never begun has no events.
        let Some(info) = PacketInfo::read(packet) else {
            continue;
        };
        let stream = match streams.entry(info.stream_instance) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Stream::create(folder, info.stream_instance)?)
            }
        };
        stream.push(packet)?;
        stream.discarded = info.discarded;
        stream.sequence = info.sequence + 1;
        stream.end_ns = info.timestamp_end_ns;
    }
    let lost_elsewhere = lost_by_stream(ring);
    for (slot, lost) in lost_elsewhere {
        let told = streams.get(&slot).map_or(0, |stream| stream.discarded);
        if lost > told {
            let stream = match streams.entry(slot) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(Stream::create(folder, slot)?)
                }
            };
            stream.tell_lost(ring, slot, lost)?;
        }
    }
    streams.into_values().try_for_each(Stream::finish)
}

/// Events discarded by slot; those of threads without a slot go into a stream of their own.
fn lost_by_stream(ring: &Ring<'_>) -> Vec<(u64, u64)> {
    let orphans = (THREADS as u64, ring.orphans().iter().sum());
    ring.threads()
        .iter()
        .map(|thread| (thread.slot, thread.discarded.iter().sum()))
        .chain([orphans])
        .filter(|(_, lost)| *lost > 0)
        .collect()
}

struct Stream {
    file: BufWriter<File>,
    path: PathBuf,
    discarded: u64,
    sequence: u64,
    end_ns: u64,
}

impl Stream {
    fn create(folder: &Path, slot: u64) -> Result<Self, CollectError> {
        let path = folder.join(format!("stream-{slot}"));
        let file = File::create(&path).map_err(io_error("make", &path))?;
        Ok(Self {
            file: BufWriter::new(file),
            path,
            discarded: 0,
            sequence: 0,
            end_ns: 0,
        })
    }

    fn push(&mut self, packet: &[u8]) -> Result<(), CollectError> {
        self.file
            .write_all(packet)
            .map_err(io_error("write", &self.path))
    }

    /// An empty packet whose counter says that events were lost, for losses that no packet tells of.
    fn tell_lost(&mut self, ring: &Ring<'_>, slot: u64, lost: u64) -> Result<(), CollectError> {
        let mut words = vec![0_u64; PACKET_BYTES / 8];
        let bytes = as_bytes_mut(&mut words);
        let begin = self.end_ns.max(ring.identity().attached_ns);
        let header = PacketHeader {
            uuid: ring.identity().uuid,
            stream_instance: slot,
            sequence: self.sequence,
            cpu: 0,
            timestamp_begin_ns: begin,
            discarded: lost,
        };
        if let Ok(packet) = PacketWriter::begin(bytes, &header) {
            packet.finish(begin);
        }
        let packet: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.push(&packet)
    }

    fn finish(mut self) -> Result<(), CollectError> {
        self.file.flush().map_err(io_error("write", &self.path))
    }
}

/// The bytes of words: packets have to be aligned to eight.
fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of a u64 is a valid u8, u8 needs no alignment, and the length in bytes is that of the
    // same allocation.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(words)) }
}

fn count(ring: &Ring<'_>, report: &mut CollectReport) {
    let mut add = |to: fn(&mut CollectReport) -> &mut BTreeMap<String, u64>,
                   counts: &[u64; CLASSES]| {
        for class in events::classes() {
            let n = counts.get(usize::from(class.id)).copied().unwrap_or(0);
            if n > 0 {
                *to(report).entry(class.name.to_owned()).or_default() += n;
            }
        }
    };
    for thread in ring.threads() {
        add(|r| &mut r.recorded, &thread.recorded);
        add(|r| &mut r.discarded, &thread.discarded);
    }
    add(|r| &mut r.discarded, &ring.orphans());
}
