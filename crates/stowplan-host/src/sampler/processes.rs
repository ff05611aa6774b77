//! Processes by their pids: Stowplan's own, those of engines, and those of services.

use std::path::Path;

use super::Row;
use super::source::{Buffer, Source, number, tick_ns};

/// What is read of one process, without a lock that one of its threads could wait for: its CPU clock and `statm`, which
/// are counters, and not its map of memory.
#[derive(Debug)]
pub(super) struct Process {
    clock: libc::clockid_t,
    statm: Source,
}

impl Process {
    /// `None` where there is no such process.
    pub(super) fn new(pid: u32) -> Option<Self> {
        let mut clock = 0;
        let id = libc::pid_t::try_from(pid).ok()?;
        // SAFETY: writes one clockid_t to a local.
        let found = unsafe { libc::clock_getcpuclockid(id, &raw mut clock) } == 0;
        let statm = Path::new("/proc").join(pid.to_string()).join("statm");
        found.then(|| Self {
            clock,
            statm: Source::new(&statm),
        })
    }

    /// CPU time of all its threads, ns, also of those that have ended; `None` where it is gone.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: writes one timespec to a local.
        let read = unsafe { libc::clock_gettime(self.clock, &raw mut time) } == 0;
        read.then(|| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
    }

    /// Resident memory, bytes: the second number of proc_pid_statm(5).
    pub(super) fn resident_bytes(&mut self, buffer: &mut Buffer) -> Option<u64> {
        let text = self.statm.read(buffer)?;
        let blank = text.iter().position(|byte| *byte == b' ')?;
        Some(number(&text[blank + 1..])? * rustix::param::page_size() as u64)
    }
}

/// What the children of a process used that it has waited for, and theirs: programs that are there too shortly to be
/// sampled, such as a container runtime.
#[derive(Debug)]
struct Children(Source);

impl Children {
    fn new(pid: u32) -> Self {
        let stat = Path::new("/proc").join(pid.to_string()).join("stat");
        Self(Source::new(&stat))
    }

    /// Their CPU time in whole ticks, ns: `cutime` and `cstime` of proc_pid_stat(5).
    fn cpu_ns(&mut self, buffer: &mut Buffer) -> Option<u64> {
        let text = self.0.read(buffer)?;
        // A program's name can have blanks and brackets in it.
        let named = text.iter().rposition(|byte| *byte == b')')?;
        // What comes after the name begins with the third field.
        let mut fields = text.get(named + 2..)?.split(|byte| *byte == b' ').skip(13);
        let ticks = number(fields.next()?)? + number(fields.next()?)?;
        Some(ticks * tick_ns())
    }
}

/// Several processes as one, with the children that they have waited for.
#[derive(Debug, Default)]
pub(super) struct Processes(Vec<(u32, Process, Children)>);

impl Processes {
    /// Takes in one that it does not have.
    pub(super) fn add(&mut self, pid: u32) {
        if self.0.iter().all(|(known, ..)| *known != pid) {
            let process = Process::new(pid).map(|process| (pid, process, Children::new(pid)));
            self.0.extend(process);
        }
    }

    /// CPU and resident memory, summed; a process that is gone counts nothing, and is among the children of the one that
    /// waited for it.
    pub(super) fn read(&mut self, row: &mut Row, buffer: &mut Buffer) {
        let (mut cpu, mut memory) = (0, 0);
        for (_, process, children) in &mut self.0 {
            cpu += process.cpu_ns().unwrap_or(0);
            cpu += children.cpu_ns(buffer).unwrap_or(0);
            memory += process.resident_bytes(buffer).unwrap_or(0);
        }
        if !self.0.is_empty() {
            row.cpu_ns = Some(cpu);
            row.memory = Some(memory);
        }
    }
}
