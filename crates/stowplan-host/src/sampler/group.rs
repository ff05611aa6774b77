//! The files of one cgroup.

use std::path::Path;

use stowplan_wire::host::SampleSubject;

use super::Row;
use super::source::{self, Buffer, Source, field, sum_after};
use crate::cgroup::quotas_above;

/// The files of one cgroup.
#[derive(Debug)]
pub(super) struct GroupFiles {
    v2: bool,
    cpu: Source,
    memory: Source,
    memory_stat: Source,
    io: Source,
    throttle: Option<Throttle>,
}

/// Periods in which a quota stopped a group. Where one above it has a quota, too, as a pod has beside its container, the
/// kernel counts at the one that is first without time, or at both in one period: the level with the most has the figure.
#[derive(Debug)]
struct Throttle {
    own: Level,
    above: Vec<Level>,
}

/// A group, and what it had counted at the first sample: levels are compared, so each counts from its own beginning.
#[derive(Debug)]
struct Level {
    stat: Source,
    before: Option<u64>,
}

impl Level {
    fn periods(&mut self, buffer: &mut Buffer) -> Option<u64> {
        let now = field(self.stat.read(buffer)?, b"nr_throttled ")?;
        Some(now.saturating_sub(*self.before.get_or_insert(now)))
    }
}

impl Throttle {
    /// `new` is a group that was made for what is sampled, and counts from its beginning.
    fn of(group: &Path, v2: bool, new: bool) -> Self {
        let level = |group: &Path, before| Level {
            stat: Source::new(&group.join("cpu.stat")),
            before,
        };
        let above = quotas_above(group, v2);
        Self {
            own: level(group, new.then_some(0)),
            above: above.map(|group| level(group, None)).collect(),
        }
    }

    /// `None` where the group itself does not say.
    fn periods(&mut self, buffer: &mut Buffer) -> Option<u64> {
        let own = self.own.periods(buffer)?;
        let above = self.above.iter_mut();
        let above = above.filter_map(|level| level.periods(buffer));
        Some(above.fold(own, u64::max))
    }
}

impl GroupFiles {
    /// `new` is a group that was made when sampling had begun.
    pub(super) fn new(subject: &SampleSubject, new: bool) -> Self {
        let v2 = subject.cgroups.contains_key("unified");
        let file = |controller: &str, v1_name: &str, v2_name: &str| {
            let (key, name) = if v2 {
                ("unified", v2_name)
            } else {
                (controller, v1_name)
            };
            subject
                .cgroups
                .get(key)
                .map_or_else(Source::none, |folder| {
                    Source::new(&Path::new(folder).join(name))
                })
        };
        Self {
            v2,
            cpu: file("cpuacct", "cpuacct.usage", "cpu.stat"),
            memory: file("memory", "memory.usage_in_bytes", "memory.current"),
            memory_stat: file("memory", "memory.stat", "memory.stat"),
            io: file(
                "blkio",
                "blkio.throttle.io_service_bytes_recursive",
                "io.stat",
            ),
            throttle: subject
                .cgroups
                .get(if v2 { "unified" } else { "cpu" })
                .map(|group| Throttle::of(Path::new(group), v2, new)),
        }
    }

    pub(super) fn read(&mut self, row: &mut Row, buffer: &mut Buffer) {
        if let Some(text) = self.cpu.read(buffer) {
            row.cpu_ns = if self.v2 {
                field(text, b"usage_usec ").map(|us| us * 1000)
            } else {
                source::number(text)
            };
        }
        row.memory = self.memory.read(buffer).and_then(source::number);
        if let Some(text) = self.memory_stat.read(buffer) {
            let (anon, file): (&[u8], &[u8]) = if self.v2 {
                (b"anon ", b"file ")
            } else {
                (b"total_rss ", b"total_cache ")
            };
            row.anon = field(text, anon);
            row.file = field(text, file);
        }
        if let Some(text) = self.io.read(buffer) {
            let (read, write): (&[u8], &[u8]) = if self.v2 {
                (b"rbytes=", b"wbytes=")
            } else {
                (b" Read ", b" Write ")
            };
            row.read = Some(sum_after(text, read));
            row.write = Some(sum_after(text, write));
        }
        let throttle = self.throttle.as_mut();
        row.throttled = throttle.and_then(|throttle| throttle.periods(buffer));
    }
}
