//! Processes by their pids: Stowplan's own, and those of engines.

use std::path::Path;

use super::Row;
use super::source::{Buffer, Source, number};

#[derive(Debug)]
pub(super) struct Processes {
    processes: Vec<(libc::clockid_t, Source)>,
    page: u64,
}

impl Processes {
    pub(super) fn new(pids: &[u32]) -> Self {
        let clock_of = |pid: u32| {
            let mut clock = 0;
            let pid = libc::pid_t::try_from(pid).ok()?;
            // SAFETY: writes one clockid_t to a local.
            (unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } == 0).then_some(clock)
        };
        Self {
            processes: pids
                .iter()
                .filter_map(|pid| {
                    let statm =
                        Source::new(&Path::new("/proc").join(pid.to_string()).join("statm"));
                    Some((clock_of(*pid)?, statm))
                })
                .collect(),
            page: rustix::param::page_size() as u64,
        }
    }

    /// CPU and resident memory, summed; a process that is gone counts nothing.
    pub(super) fn read(&mut self, row: &mut Row, buffer: &mut Buffer) {
        let (mut cpu, mut memory) = (0, 0);
        for (clock, statm) in &mut self.processes {
            let mut time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: writes one timespec to a local.
            if unsafe { libc::clock_gettime(*clock, &raw mut time) } == 0 {
                cpu += time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
            }
            memory += statm
                .read(buffer)
                .and_then(|text| {
                    let blank = text.iter().position(|byte| *byte == b' ')?;
                    number(&text[blank + 1..])
                })
                .unwrap_or(0)
                * self.page;
        }
        if !self.processes.is_empty() {
            row.cpu_ns = Some(cpu);
            row.memory = Some(memory);
        }
    }
}
