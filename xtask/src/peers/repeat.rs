//! A recording of LTTng several times in a row, as one long recording: the same streams, which go on.
//!
//! What is a time lies in the packet's own time, of the trace's clock or of that of the messages: such numbers are moved.
//! By a multiple of 2³² ns, so that the short times of events, which have 27 or 32 bits, stay as they are.

use std::fs;
use std::path::Path;

use super::error::PeersError;

/// Begin of a packet: CTF's magic number.
const MAGIC: [u8; 4] = 0xC1FC_1FC1_u32.to_le_bytes();
/// Offsets in a packet of LTTng's user space tracer: times of begin and end, bits of the packet, its number, lost events.
const BEGIN: usize = 32;
const END: usize = 40;
const SIZE: usize = 56;
const NUMBER: usize = 64;
const LOST: usize = 72;
/// What a time is moved by is a multiple of this, nanoseconds.
const STEP_NS: u64 = 1 << 32;
/// How long before a packet a message of it may have been published, nanoseconds.
const EARLIER_NS: u64 = 1_000_000_000;

/// Writes the traces in a folder and below to `into`, `times` in a row, each at least `least_ns` later than the one before.
pub fn repeat(trace: &Path, times: u16, least_ns: u64, into: &Path) -> Result<(), PeersError> {
    if into.exists() {
        fs::remove_dir_all(into).map_err(PeersError::io("remove an earlier repetition"))?;
    }
    folder(trace, into, times, least_ns.next_multiple_of(STEP_NS))
}

fn folder(from: &Path, to: &Path, times: u16, shift_ns: u64) -> Result<(), PeersError> {
    let what = || format!("copy {} to {}", from.display(), to.display());
    let io = |source| PeersError::io(what())(source);
    fs::create_dir_all(to).map_err(io)?;
    let metadata = from.join("metadata");
    let offset = if metadata.is_file() {
        clock_offset(&fs::read(&metadata).map_err(io)?)
    } else {
        None
    };
    for entry in fs::read_dir(from).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            // The index of packets is of the recording as it was, and nobody needs it.
            if name != "index" {
                folder(&path, &to.join(name), times, shift_ns)?;
            }
            continue;
        }
        let bytes = fs::read(&path).map_err(io)?;
        let written = match offset {
            Some(offset) if bytes.starts_with(&MAGIC) && path != metadata => {
                stream(&bytes, times, shift_ns, offset).ok_or_else(|| {
                    let file = path.display().to_string();
                    PeersError::output("this is no stream of LTTng's user space tracer", &file)
                })?
            }
            _ => bytes,
        };
        fs::write(to.join(name), written).map_err(io)?;
    }
    Ok(())
}

/// The first clock's time at the epoch's begin, if it counts nanoseconds.
fn clock_offset(metadata: &[u8]) -> Option<u64> {
    const BEFORE: &str = "offset = ";
    // A packet of metadata has bytes around its text that are none.
    let text = String::from_utf8_lossy(metadata);
    let rest = &text[text.find(BEFORE)? + BEFORE.len()..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    text.contains("freq = 1000000000;")
        .then(|| digits.parse().ok())?
}

/// The packets of a stream `times` in a row. `None` where they are not as LTTng writes them.
fn stream(bytes: &[u8], times: u16, shift_ns: u64, offset: u64) -> Option<Vec<u8>> {
    let packets = packets(bytes)?;
    let lost = packets.last().map_or(0, |last| number(last, LOST));
    let mut all = Vec::with_capacity(bytes.len() * usize::from(times));
    for copy in 0..u64::from(times) {
        for packet in &packets {
            let begin = all.len();
            all.extend_from_slice(packet);
            let written = &mut all[begin..];
            delay(written, copy * shift_ns, offset);
            let count = number(packet, NUMBER) + copy * packets.len() as u64;
            put(written, NUMBER, count);
            put(written, LOST, number(packet, LOST) + copy * lost);
        }
    }
    Some(all)
}

fn packets(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let header = rest.get(..LOST + 8)?;
        let size = usize::try_from(number(header, SIZE) / 8).ok()?;
        let is_one = header.starts_with(&MAGIC) && size >= header.len();
        let (packet, after) = rest.split_at_checked(size).filter(|_| is_one)?;
        packets.push(packet);
        rest = after;
    }
    Some(packets)
}

/// Moves what lies in the time of the packet, by its clock and by that of the messages.
fn delay(packet: &mut [u8], by_ns: u64, offset: u64) {
    let (begin, end) = (number(packet, BEGIN), number(packet, END));
    let messages = (begin + offset).saturating_sub(EARLIER_NS)..=end + offset + EARLIER_NS;
    let mut at = BEGIN;
    while at + 8 <= packet.len() {
        let value = number(packet, at);
        if (begin..=end).contains(&value) || messages.contains(&value) {
            put(packet, at, value + by_ns);
            at += 8;
        } else {
            at += 1;
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSET: u64 = 1_795_166_614_731_197_351;

    /// A packet of 104 bytes with a time of the clock, one of a message and a pointer.
    fn packet(begin: u64, count: u64, lost: u64) -> Vec<u8> {
        let mut packet = vec![0; 104];
        packet[..4].copy_from_slice(&MAGIC);
        put(&mut packet, BEGIN, begin);
        put(&mut packet, END, begin + 1000);
        put(&mut packet, SIZE, 104 * 8);
        put(&mut packet, NUMBER, count);
        put(&mut packet, LOST, lost);
        put(&mut packet, 80, begin + 5);
        put(&mut packet, 88, begin + 5 + OFFSET);
        put(&mut packet, 96, 0x7fff_1234_5678);
        packet
    }

    #[test]
    fn a_stream_goes_on_with_later_times_and_its_counters() {
        let once = [packet(7_000, 0, 0), packet(9_000, 1, 3)].concat();
        let twice = stream(&once, 2, STEP_NS, OFFSET).unwrap();
        let (first, second) = twice.split_at(once.len());
        assert_eq!(first, once);
        let later = [packet(7_000, 2, 3), packet(9_000, 3, 6)];
        for (found, mut right) in packets(second).unwrap().into_iter().zip(later) {
            for at in [BEGIN, END, 80, 88] {
                let moved = number(&right, at) + STEP_NS;
                put(&mut right, at, moved);
            }
            assert_eq!(found, right);
        }
        assert_eq!(stream(&once[..150], 2, STEP_NS, OFFSET), None);
    }

    #[test]
    fn a_trace_is_repeated_in_its_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, into) = (folder.path().join("trace"), folder.path().join("repeated"));
        fs::create_dir_all(trace.join("ust/index")).unwrap();
        let metadata = format!("clock {{ freq = 1000000000; offset = {OFFSET}; }};");
        assert_eq!(clock_offset(metadata.as_bytes()), Some(OFFSET));
        fs::write(trace.join("ust/metadata"), &metadata).unwrap();
        fs::write(trace.join("ust/channel_0"), packet(7_000, 0, 0)).unwrap();
        repeat(&trace, 3, 7, &into).unwrap();
        repeat(&trace, 3, 7, &into).unwrap();
        assert_eq!(
            fs::read_to_string(into.join("ust/metadata")).unwrap(),
            metadata
        );
        assert_eq!(fs::read(into.join("ust/channel_0")).unwrap().len(), 3 * 104);
        assert!(!into.join("ust/index").exists());
    }
}
