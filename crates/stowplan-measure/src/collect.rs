//! From trace buffers to a trace: `OUT/SERVICE/PROCESS/{metadata, stream_N}`, one CTF trace a process.
//!
//! Every buffer is read as its process left it, also after a kill: a packet is whole after each event
//! (see `stowplan_ctf::writer`). What was discarded stands in the packets and in the report, never nowhere.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::events;
use stowplan_ctf::writer::{
    EnvValue, PACKET_HEADER_SIZE, PacketHeader, PacketInfo, PacketWriter, TraceInfo, metadata_text,
};
use stowplan_wire::ring::{CLASSES, Identity, Ring, RingError, THREADS};

/// Size of a packet without events: its header, in whole words.
const EMPTY_BYTES: usize = PACKET_HEADER_SIZE.next_multiple_of(8);

/// A trace buffer of a finished process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFile {
    /// The file `PROCESS.ring`.
    pub path: PathBuf,
    /// Service that the process belongs to.
    pub service: String,
    /// Name of the process in the plan.
    pub process: String,
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectReport {
    /// Per buffer, in the given order.
    pub processes: Vec<CollectedProcess>,
}

impl CollectReport {
    /// Events discarded in all processes.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.processes
            .iter()
            .flat_map(|p| p.discarded.values())
            .sum()
    }
}

/// The trace of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedProcess {
    /// Service that it belongs to.
    pub service: String,
    /// Name in the plan.
    pub process: String,
    /// Folder of its trace; `None` if no process has taken the buffer into use.
    pub folder: Option<PathBuf>,
    /// Events in the trace, by name.
    pub recorded: BTreeMap<String, u64>,
    /// Events that found no room, by name.
    pub discarded: BTreeMap<String, u64>,
    /// Threads that recorded.
    pub threads: usize,
    /// Packets in use.
    pub packets: usize,
    /// Packets in the buffer.
    pub packets_of: usize,
    /// Whether the process recorded its last event in good order.
    pub closed: bool,
}

/// Why buffers cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file cannot be read or written.
    #[error("cannot {what} '{path}'")]
    File {
        /// `read`, `make` or `write`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not a trace buffer.
    #[error("cannot collect '{path}'")]
    Ring {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RingError,
    },
}

fn file_error(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> CollectError {
    let path = path.to_owned();
    move |source| CollectError::File { what, path, source }
}

/// The clock that all traces of one call share, and those that another tracer has put beside them: readers compare
/// times of traces only if their clocks are the same one, and every offset that is measured has an error of its own.
#[derive(Debug, Clone)]
struct Clock {
    uuid: [u8; 16],
    offset_ns: i64,
    host: String,
}

/// Writes a trace below `out_dir` for each buffer. The buffers must be of one host: its clock is that of
/// a trace that is there already, else that of the first buffer.
///
/// # Errors
/// When a file cannot be read or written, or is no trace buffer.
pub fn collect(rings: &[RingFile], out_dir: &Path) -> Result<CollectReport, CollectError> {
    let beside = offsets(out_dir);
    let mut clock = None;
    let processes = rings
        .iter()
        .map(|ring| collect_one(ring, out_dir, &beside, &mut clock))
        .collect::<Result<_, _>>()?;
    Ok(CollectReport { processes })
}

/// Offsets of the clocks of the traces in a folder, by identity.
fn offsets(folder: &Path) -> BTreeMap<[u8; 16], i64> {
    // None that can be read is none whose clock can be shared.
    let traces = TraceFolder::open_readable(folder, &mut Vec::new());
    let traces = traces.iter().flat_map(TraceFolder::traces);
    let clocks = traces.flat_map(|trace| &trace.metadata().clocks);
    clocks
        .filter_map(|clock| Some((clock.uuid?, clock.offset_ns)))
        .collect()
}

fn collect_one(
    file: &RingFile,
    out_dir: &Path,
    beside: &BTreeMap<[u8; 16], i64>,
    clock: &mut Option<Clock>,
) -> Result<CollectedProcess, CollectError> {
    let bytes = fs::read(&file.path).map_err(file_error("read", &file.path))?;
    let mut collected = CollectedProcess {
        service: file.service.clone(),
        process: file.process.clone(),
        folder: None,
        recorded: BTreeMap::new(),
        discarded: BTreeMap::new(),
        threads: 0,
        packets: 0,
        packets_of: 0,
        closed: false,
    };
    let ring = match Ring::parse(&bytes) {
        Err(RingError::Unused) => return Ok(collected),
        other => other.map_err(|source| CollectError::Ring {
            path: file.path.clone(),
            source,
        })?,
    };
    let identity = ring.identity();
    let clock = clock.get_or_insert_with(|| Clock {
        uuid: identity.boot_id,
        offset_ns: beside
            .get(&identity.boot_id)
            .copied()
            .unwrap_or(identity.clock_offset_ns),
        host: fs::read_to_string("/proc/sys/kernel/hostname")
            .map(|name| name.trim().to_owned())
            .unwrap_or_default(),
    });
    let folder = out_dir.join(&file.service).join(&file.process);
    fs::create_dir_all(&folder).map_err(file_error("make", &folder))?;
    let metadata = folder.join("metadata");
    fs::write(&metadata, metadata_text(&trace_info(file, identity, clock)))
        .map_err(file_error("write", &metadata))?;
    let mut streams = Streams::new(&folder, identity);
    ring.packets()
        .try_for_each(|packet| streams.append(packet))?;
    let threads = ring.threads();
    for thread in &threads {
        let lost = thread.discarded.iter().sum();
        streams.lost(thread.slot, lost, thread.lost_until_ns)?;
        add(&mut collected.recorded, &thread.recorded);
        add(&mut collected.discarded, &thread.discarded);
    }
    // Threads without a slot share a stream that no thread has.
    let orphans = ring.orphans();
    streams.lost(THREADS as u64, orphans.iter().sum(), identity.attached_ns)?;
    add(&mut collected.discarded, &orphans);
    collected.threads = threads.len();
    (collected.packets, collected.packets_of) = ring.fill();
    collected.closed = ring.closed();
    collected.folder = Some(folder);
    Ok(collected)
}

fn add(sums: &mut BTreeMap<String, u64>, counts: &[u64; CLASSES]) {
    for class in events::classes() {
        let count = counts[usize::from(class.id)];
        if count > 0 {
            *sums.entry(class.name.to_owned()).or_default() += count;
        }
    }
}

fn trace_info(file: &RingFile, identity: &Identity, clock: &Clock) -> TraceInfo {
    let text = |name: &str, value: &str| (name.to_owned(), EnvValue::Text(value.to_owned()));
    let env = vec![
        text("service", &file.service),
        text("process", &file.process),
        ("vpid".to_owned(), EnvValue::Int(identity.vpid.into())),
    ];
    TraceInfo {
        uuid: identity.uuid,
        clock_uuid: clock.uuid,
        clock_offset_ns: clock.offset_ns,
        hostname: clock.host.clone(),
        tracer_version: (0, 1),
        env,
    }
}

/// A stream file that is being written.
struct Stream {
    file: File,
    length: u64,
    packets: u64,
    end_ns: u64,
}

/// The stream files of a trace, by stream.
struct Streams<'a> {
    folder: &'a Path,
    identity: &'a Identity,
    open: BTreeMap<u64, Stream>,
}

impl<'a> Streams<'a> {
    fn new(folder: &'a Path, identity: &'a Identity) -> Self {
        Self {
            folder,
            identity,
            open: BTreeMap::new(),
        }
    }

    fn append(&mut self, packet: &[u8]) -> Result<(), CollectError> {
        // Handed out, but its thread was killed before it began the packet: it has no event.
        let Some(info) = PacketInfo::read(packet) else {
            return Ok(());
        };
        let path = self.folder.join(format!("stream_{}", info.stream_instance));
        let stream = match self.open.entry(info.stream_instance) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Stream {
                file: File::create(&path).map_err(file_error("write", &path))?,
                length: 0,
                packets: 0,
                end_ns: 0,
            }),
        };
        // The unused end of a packet stays a hole in the file.
        let content = usize::try_from(info.content_bytes).unwrap_or(packet.len());
        let written = stream.file.write_all_at(&packet[..content], stream.length);
        written.map_err(file_error("write", &path))?;
        stream.length += packet.len() as u64;
        stream.packets = info.sequence + 1;
        stream.end_ns = info.timestamp_end_ns;
        let sized = stream.file.set_len(stream.length);
        sized.map_err(file_error("write", &path))
    }

    /// Says how many events a stream lost until `until_ns`: in an empty packet at its end, because
    /// packets count what was lost before them, and events are lost only once no packet is left. Readers
    /// take the count of the first packet as the unknown beginning, so a stream of none gets two.
    fn lost(&mut self, stream: u64, lost: u64, until_ns: u64) -> Result<(), CollectError> {
        if lost == 0 {
            return Ok(());
        }
        if !self.open.contains_key(&stream) {
            let begin_ns = self.identity.attached_ns;
            self.append_empty(stream, 0, 0, begin_ns, begin_ns)?;
        }
        let (sequence, begin_ns) = self
            .open
            .get(&stream)
            .map_or((0, 0), |open| (open.packets, open.end_ns));
        self.append_empty(stream, sequence, lost, begin_ns, until_ns)
    }

    fn append_empty(
        &mut self,
        stream_instance: u64,
        sequence: u64,
        discarded: u64,
        begin_ns: u64,
        end_ns: u64,
    ) -> Result<(), CollectError> {
        let header = PacketHeader {
            uuid: self.identity.uuid,
            stream_instance,
            sequence,
            cpu: 0,
            timestamp_begin_ns: begin_ns,
            discarded,
        };
        // The writer wants eight-byte alignment, and a packet has whole words.
        let mut words = [0_u64; EMPTY_BYTES / 8];
        // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
        let packet = unsafe { words.align_to_mut::<u8>().1 };
        if let Ok(writer) = PacketWriter::begin(packet, &header) {
            writer.finish(end_ns);
        }
        self.append(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_trace_that_is_there_already_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(offsets(folder.path()), BTreeMap::new());
        assert_eq!(offsets(&folder.path().join("absent")), BTreeMap::new());
        let trace = folder.path().join("_lttng/ust/uid/0/64-bit");
        fs::create_dir_all(&trace).unwrap();
        let info = TraceInfo {
            uuid: [1; 16],
            clock_uuid: [7; 16],
            clock_offset_ns: 1_795_166_614_731_197_351,
            hostname: "vehicle".to_owned(),
            tracer_version: (2, 13),
            env: Vec::new(),
        };
        fs::write(trace.join("metadata"), metadata_text(&info)).unwrap();
        let expected = BTreeMap::from([([7; 16], 1_795_166_614_731_197_351)]);
        assert_eq!(offsets(folder.path()), expected);
    }
}
