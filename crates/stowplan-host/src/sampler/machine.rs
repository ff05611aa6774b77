//! The whole machine: /proc/stat, /proc/meminfo, /proc/diskstats.

use std::fs;
use std::path::Path;

use super::Row;
use super::source::{Buffer, Source, field, number, tick_ns};

/// Sector of /proc/diskstats in bytes, whatever the device's own is (Documentation/admin-guide/iostats.rst).
const SECTOR: u64 = 512;

#[derive(Debug)]
pub(super) struct Machine {
    stat: Source,
    meminfo: Source,
    disks: Source,
    /// Whole devices with a block and ` ` on both sides: partitions and loop devices would count twice.
    names: Vec<Vec<u8>>,
    /// The first look that said how long CPUs were idle.
    begin: Option<Idle>,
}

/// How long CPUs have been idle at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Idle {
    t_ns: u64,
    /// Sum over the CPUs.
    idle_ns: u64,
    cpus: u64,
}

impl Idle {
    /// CPU time that was not idle from `begin` on, all CPUs.
    ///
    /// Busy time is not read but what idle time leaves. The kernel adds to user and system time by looking at a
    /// tick what runs: work that timers start runs between ticks, in a fixed phase to them, and is counted
    /// far too low or too high for a whole run. Idle time it takes from the clock whenever a CPU falls asleep
    /// or wakes, as it does the CPU time of cgroups whenever a task comes or goes.
    fn busy_ns(self, begin: Self) -> u64 {
        let passed = self.t_ns.saturating_sub(begin.t_ns) * self.cpus;
        passed.saturating_sub(self.idle_ns.saturating_sub(begin.idle_ns))
    }
}

impl Machine {
    pub(super) fn new() -> Self {
        let names = fs::read_dir("/sys/block")
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| {
                !["loop", "ram", "zram", "dm-", "md"]
                    .iter()
                    .any(|p| name.starts_with(p))
            })
            .map(|name| format!(" {name} ").into_bytes())
            .collect();
        Self {
            stat: Source::new(Path::new("/proc/stat")),
            meminfo: Source::new(Path::new("/proc/meminfo")),
            disks: Source::new(Path::new("/proc/diskstats")),
            names,
            begin: None,
        }
    }

    /// Fills the row, and gives the CPU time that a hypervisor has taken since the machine started, all CPUs, ns.
    pub(super) fn read(&mut self, row: &mut Row, buffer: &mut Buffer) -> Option<u64> {
        let t_ns = row.t_ns;
        let stat = self.stat.read(buffer);
        let stolen = stat.and_then(steal_ticks).map(|ticks| ticks * tick_ns());
        let idle = stat.and_then(idle_ticks);
        row.cpu_ns = idle.map(|(ticks, cpus)| {
            let now = Idle {
                t_ns,
                idle_ns: ticks * tick_ns(),
                cpus,
            };
            now.busy_ns(*self.begin.get_or_insert(now))
        });
        if let Some(text) = self.meminfo.read(buffer) {
            let bytes = |key: &[u8]| field(text, key).map(|kib| kib * 1024);
            row.memory = bytes(b"MemTotal:")
                .zip(bytes(b"MemAvailable:"))
                .map(|(total, available)| total.saturating_sub(available));
            row.anon = bytes(b"AnonPages:");
            row.file = bytes(b"Cached:");
        }
        if let Some(text) = self.disks.read(buffer) {
            let (mut read, mut write) = (0, 0);
            for line in text.split(|byte| *byte == b'\n') {
                for name in &self.names {
                    if let Some(at) = line.windows(name.len()).position(|w| w == name) {
                        let mut fields = line[at + name.len()..]
                            .split(|byte| *byte == b' ')
                            .map(|word| number(word).unwrap_or(0));
                        read += fields.nth(2).unwrap_or(0) * SECTOR;
                        write += fields.nth(3).unwrap_or(0) * SECTOR;
                    }
                }
            }
            row.read = Some(read);
            row.write = Some(write);
        }
        stolen
    }
}

/// Ticks that were not idle, of the first line of /proc/stat: user, nice, system, irq, softirq, steal.
/// Guest time is in user time already.
pub(crate) fn busy_ticks(text: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let mut busy = 0;
    let words = line.strip_prefix(b"cpu ")?.split(|byte| *byte == b' ');
    for (index, word) in words.filter(|word| !word.is_empty()).enumerate() {
        if matches!(index, 0..=2 | 5..=7) {
            busy += number(word)?;
        }
    }
    Some(busy)
}

/// Ticks in which a CPU had nothing to run (idle and iowait), summed, and the number of CPUs, of /proc/stat.
fn idle_ticks(text: &[u8]) -> Option<(u64, u64)> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut words = lines
        .next()?
        .strip_prefix(b"cpu ")?
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
        .skip(3);
    let idle = number(words.next()?)? + number(words.next()?)?;
    let cpus = lines.take_while(|line| line.starts_with(b"cpu")).count();
    (cpus > 0).then_some((idle, cpus as u64))
}

/// Ticks in which a CPU had something to run and the hypervisor ran something else, all CPUs, of /proc/stat.
fn steal_ticks(text: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let words = line.split(|byte| *byte == b' ');
    number(words.filter(|word| !word.is_empty()).nth(8)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_idle_and_iowait_of_all_cpus() {
        let text = b"cpu  1 2 4 1000 2000 8 16 32 0 0\ncpu0 1\ncpu1 1\nintr 5\n";
        assert_eq!(idle_ticks(text), Some((3000, 2)));
        assert_eq!(idle_ticks(b"cpu  1 2 4 1000 2000 8\n"), None, "no CPU");
        assert_eq!(idle_ticks(b"cpu  1 2 4\ncpu0 1\n"), None);
    }

    #[test]
    fn steal_is_the_eighth_number_of_all_cpus() {
        let text = b"cpu  1 2 4 1000 2000 8 16 32 0 0\ncpu0 1 2 4 8 16 32 64 128 0 0\n";
        assert_eq!(steal_ticks(text), Some(32));
        assert_eq!(
            steal_ticks(b"cpu  1 2 4 1000 2000 8 16\n"),
            None,
            "before Linux 2.6.11"
        );
    }

    #[test]
    fn busy_is_what_idle_leaves() {
        let at = |t_ns, idle_ns| Idle {
            t_ns,
            idle_ns,
            cpus: 2,
        };
        let begin = at(1_000, 5_000);
        assert_eq!(begin.busy_ns(begin), 0);
        assert_eq!(at(1_500, 5_300).busy_ns(begin), 700);
        assert_eq!(at(1_500, 6_000).busy_ns(begin), 0);
        // Idle time has steps of a tick, so it can be ahead of the clock.
        assert_eq!(at(1_500, 6_010).busy_ns(begin), 0);
    }

    #[test]
    fn busy_leaves_out_idle_iowait_and_guest() {
        assert_eq!(
            busy_ticks(b"cpu  1 2 4 1000 2000 8 16 32 4000 8000\ncpu0 1\n"),
            Some(63)
        );
    }
}
