//! Which threads lose their CPU to others, by the scheduler's context switches: `PERF_RECORD_SWITCH_CPU_WIDE` of
//! perf_event_open(2), which needs no tracefs.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use stowplan_wire::host::{Preemptions, RecordedThread};

use crate::HostError;
use crate::facts::online_cpus;
use crate::process::clock_ns;

/// Record type and flags of `linux/perf_event.h`.
const PERF_RECORD_SWITCH_CPU_WIDE: u32 = 15;
const SWITCH_OUT: u16 = 1 << 13;
/// The thread could go on running (Linux 4.17).
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// `perf_event_header`, and a record with it: the other thread, the own thread and the time.
const HEADER_BYTES: u64 = 8;
const RECORD_BYTES: u64 = HEADER_BYTES + 24;
/// Room in the buffer of a CPU: 20,000 switches a second, of which each leaves two records.
const BYTES_PER_SECOND: u64 = 20_000 * 2 * RECORD_BYTES;
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=64 << 20;

/// Records the context switches of every CPU, from when it is made. The kernel writes them; nothing of ours runs meanwhile.
pub struct SwitchRecorder {
    cpus: Vec<Sampler>,
    /// Size of the buffer of each.
    bytes: u64,
    /// By number on the host: the process, and the number as the process sees it.
    threads: BTreeMap<u32, (u32, u32)>,
}

/// One context switch, of the thread that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Switch {
    tid: u32,
    t_ns: u64,
    way: SwitchKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwitchKind {
    In,
    /// To sleep or to wait.
    Left,
    /// It could have gone on.
    Preempted,
}

impl SwitchRecorder {
    /// Begins to record, with room for about `time`.
    ///
    /// # Errors
    /// When the kernel does not let this process watch all CPUs.
    pub fn start(time: Duration) -> Result<Self, HostError> {
        let wanted = BYTES_PER_SECOND.saturating_mul(time.as_secs() + 1);
        Self::with_room(wanted.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end()))
    }

    /// With a buffer of at least so many bytes for each CPU.
    fn with_room(bytes: u64) -> Result<Self, HostError> {
        // The kernel takes a power of two of pages.
        let bytes = bytes.next_power_of_two();
        let cpus = online_cpus()?.into_iter().map(|cpu| {
            watch(cpu, usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|error| {
                HostError::new(format!("cannot record the context switches of CPU {cpu}"))
                    .because(error)
                    .hint("perf_event_open(2) needs root, or CAP_PERFMON and CAP_IPC_LOCK, or kernel.perf_event_paranoid=-1, and a kernel with CONFIG_PERF_EVENTS")
            })
        });
        Ok(Self {
            cpus: cpus.collect::<Result<_, _>>()?,
            bytes,
            threads: BTreeMap::new(),
        })
    }

    /// Takes note of the threads that these processes of the host have now: [`finish`](Self::finish) tells of them.
    pub fn note_threads(&mut self, pids: &[u32]) {
        let threads = pids.iter().flat_map(|pid| threads(*pid));
        self.threads.extend(threads);
    }

    /// Ends, and tells what happened to the threads that were noted.
    #[must_use]
    pub fn finish(mut self) -> Preemptions {
        let threads = self.threads;
        let (mut switches, mut until_ns) = (Vec::new(), u64::MAX);
        for cpu in &mut self.cpus {
            let told = read(cpu, self.bytes, |tid| threads.contains_key(&tid));
            switches.extend(told.switches);
            until_ns = until_ns.min(told.until_ns);
        }
        switches.sort_by_key(|switch| switch.t_ns);
        let mut spans = spans(&switches, until_ns);
        let threads = threads.into_iter().map(|(tid, (pid, vtid))| {
            let spans = spans.remove(&tid).unwrap_or_default();
            RecordedThread { pid, vtid, spans }
        });
        Preemptions {
            threads: threads.collect(),
            until_ns,
        }
    }
}

/// What one CPU tells.
struct Told {
    switches: Vec<Switch>,
    /// What happened later is not known.
    until_ns: u64,
}

/// Ends the recording of a CPU and reads the switches of those threads that are `wanted`. Nobody has read before, so a buffer that
/// is full took nothing more, and says nothing of it: `PERF_RECORD_LOST` comes with the next record that finds room.
fn read(cpu: &mut Sampler, bytes: u64, wanted: impl Fn(u32) -> bool) -> Told {
    let mut until_ns = clock_ns();
    // What cannot be switched off only goes on filling a buffer that is given back.
    let _ = cpu.disable();
    let (mut switches, mut filled, mut last_ns) = (Vec::new(), 0, 0);
    while let Some(record) = cpu.next_record() {
        filled += HEADER_BYTES + record.len() as u64;
        if record.ty() == PERF_RECORD_SWITCH_CPU_WIDE
            && let Some(switch) = switch(record.misc(), &record.to_contiguous())
        {
            last_ns = switch.t_ns;
            switches.extend(wanted(switch.tid).then_some(switch));
        }
    }
    if is_full(filled, bytes) {
        until_ns = last_ns;
    }
    Told { switches, until_ns }
}

/// Whether a buffer had no room for another record. The kernel never fills its last byte (`CIRC_SPACE`).
const fn is_full(filled: u64, bytes: u64) -> bool {
    filled + RECORD_BYTES >= bytes
}

fn watch(cpu: u32, bytes: usize) -> std::io::Result<Sampler> {
    let mut counter = Builder::new(Software::DUMMY)
        .any_pid()
        .one_cpu(cpu as usize)
        .exclude_kernel(false)
        .exclude_hv(false)
        .context_switch(true)
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        // Nobody waits for the buffer.
        .wakeup_watermark(usize::MAX)
        .build()?
        .sampled(bytes)?;
    counter.enable()?;
    Ok(counter)
}

/// The threads of a process: number on the host, process, and number as the process sees it.
fn threads(pid: u32) -> Vec<(u32, (u32, u32))> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let tids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
    tids.filter_map(|tid| {
        let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        let numbers = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))?;
        let vtid = numbers.split_whitespace().last()?.parse().ok()?;
        Some((tid, (pid, vtid)))
    })
    .collect()
}

/// Of the body of a record: the other thread's process and number, then those of the thread it is about, then the time.
fn switch(misc: u16, body: &[u8]) -> Option<Switch> {
    let way = match (misc & SWITCH_OUT != 0, misc & SWITCH_OUT_PREEMPT != 0) {
        (false, _) => SwitchKind::In,
        (true, false) => SwitchKind::Left,
        (true, true) => SwitchKind::Preempted,
    };
    Some(Switch {
        tid: u32::from_ne_bytes(body.get(12..16)?.try_into().ok()?),
        t_ns: u64::from_ne_bytes(body.get(16..24)?.try_into().ok()?),
        way,
    })
}

/// From each switch out of a thread that could have gone on to its next switch in, by thread.
/// What is known only of some CPUs, after `until_ns`, is left out.
fn spans(switches: &[Switch], until_ns: u64) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let mut out: BTreeMap<u32, u64> = BTreeMap::new();
    let mut spans: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for switch in switches.iter().filter(|switch| switch.t_ns <= until_ns) {
        match switch.way {
            SwitchKind::Preempted => {
                out.insert(switch.tid, switch.t_ns);
            }
            SwitchKind::In | SwitchKind::Left => {
                if let Some(from) = out.remove(&switch.tid) {
                    spans
                        .entry(switch.tid)
                        .or_default()
                        .push((from, switch.t_ns));
                }
            }
        }
    }
    for (tid, from) in out {
        spans.entry(tid).or_default().push((from, until_ns));
    }
    spans
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::process;

    use super::*;

    fn at(tid: u32, t_ns: u64, way: SwitchKind) -> Switch {
        Switch { tid, t_ns, way }
    }

    #[test]
    fn a_span_is_from_losing_the_cpu_to_having_one_again() {
        let switches = [
            at(1, 10, SwitchKind::In),
            at(1, 20, SwitchKind::Preempted),
            at(2, 20, SwitchKind::In),
            at(2, 25, SwitchKind::Left),
            at(1, 26, SwitchKind::In),
            at(1, 30, SwitchKind::Left),
            at(2, 40, SwitchKind::In),
            at(2, 50, SwitchKind::Preempted),
            at(1, 55, SwitchKind::In),
        ];
        let expected = BTreeMap::from([(1, vec![(20, 26)]), (2, vec![(50, 99)])]);
        assert_eq!(spans(&switches, 99), expected);
        // Later than all CPUs tell of, nothing is known.
        let until_ns = 22;
        let expected = BTreeMap::from([(1, vec![(20, until_ns)])]);
        assert_eq!(spans(&switches, until_ns), expected);
        assert_eq!(spans(&[], 99), BTreeMap::new());
    }

    #[test]
    fn records_are_read_as_the_man_page_has_them() {
        let words = |numbers: [u32; 4]| numbers.map(u32::to_ne_bytes).concat();
        let body = [words([7, 8, 5, 6]), 9_u64.to_ne_bytes().to_vec()].concat();
        let read = |misc| switch(misc, &body).unwrap();
        assert_eq!(read(0), at(6, 9, SwitchKind::In));
        assert_eq!(read(SWITCH_OUT), at(6, 9, SwitchKind::Left));
        let both = SWITCH_OUT | SWITCH_OUT_PREEMPT;
        assert_eq!(read(both), at(6, 9, SwitchKind::Preempted));
        assert_eq!(switch(0, &body[..23]), None);
    }
    #[test]
    fn a_full_buffer_ends_what_is_known() {
        assert!(!is_full(4096 - 2 * RECORD_BYTES, 4096));
        assert!(is_full(4096 - RECORD_BYTES, 4096));
        let mut recorder = match SwitchRecorder::with_room(4096) {
            Ok(recorder) => recorder,
            Err(error) => return stowplan_testkit::skip!("{}", crate::chain(&error)),
        };
        let (ping, pong) = UnixStream::pair().unwrap();
        let own = process::id();
        // Each round trip switches at least twice, and a page holds 127 records.
        let other = std::thread::spawn(move || echo(pong));
        converse(ping, 2_000);
        other.join().unwrap();
        let end_ns = clock_ns();
        recorder.note_threads(&[own]);
        let told = recorder.finish();
        assert!(told.until_ns < end_ns, "{} of {end_ns}", told.until_ns);
        assert!(told.threads.iter().any(|thread| thread.pid == own));
    }

    fn echo(mut stream: UnixStream) {
        let mut byte = [0];
        while stream.read(&mut byte).unwrap() > 0 {
            stream.write_all(&byte).unwrap();
        }
    }

    fn converse(mut stream: UnixStream, rounds: usize) {
        let mut byte = [0];
        for _ in 0..rounds {
            stream.write_all(&byte).unwrap();
            stream.read_exact(&mut byte).unwrap();
        }
    }
}
