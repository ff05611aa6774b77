//! The files of one cgroup.

use std::path::Path;

use stowplan_wire::host::SampleSubject;

use super::Row;
use super::source::{self, Buffer, Source, field, sum_after};

/// The files of one cgroup.
#[derive(Debug)]
pub(super) struct GroupFiles {
    v2: bool,
    cpu: Source,
    memory: Source,
    memory_stat: Source,
    io: Source,
    throttle: Source,
}

impl GroupFiles {
    pub(super) fn new(subject: &SampleSubject) -> Self {
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
            throttle: file("cpu", "cpu.stat", "cpu.stat"),
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
        row.throttled = self
            .throttle
            .read(buffer)
            .and_then(|text| field(text, b"nr_throttled "));
    }
}
