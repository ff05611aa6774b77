//! The whole machine: /proc/stat, /proc/meminfo, /proc/diskstats.

use std::fs;
use std::path::Path;

use super::Row;
use super::source::{Buffer, Source, field, number};

/// Sector of /proc/diskstats in bytes, whatever the device's own is (Documentation/admin-guide/iostats.rst).
const SECTOR: u64 = 512;

#[derive(Debug)]
pub(super) struct Machine {
    stat: Source,
    meminfo: Source,
    disks: Source,
    /// Whole devices with a block and ` ` on both sides: partitions and loop devices would count twice.
    names: Vec<Vec<u8>>,
    tick_ns: u64,
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
            tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second(),
        }
    }

    pub(super) fn read(&mut self, row: &mut Row, buffer: &mut Buffer) {
        row.cpu_ns = self
            .stat
            .read(buffer)
            .and_then(busy_ticks)
            .map(|ticks| ticks * self.tick_ns);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_leaves_out_idle_iowait_and_guest() {
        assert_eq!(
            busy_ticks(b"cpu  1 2 4 1000 2000 8 16 32 4000 8000\ncpu0 1\n"),
            Some(63)
        );
    }
}
