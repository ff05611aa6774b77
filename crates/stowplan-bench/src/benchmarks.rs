//! The benchmarks, and which of their figures a table shows first.

use crate::tools::Tool;

/// Where the files of a benchmark are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// What a service's image lies on: an overlay in most containers, the file system of the images for plain processes.
    Image,
    /// A folder of the host that the service sees.
    Volume,
    /// A file system in memory.
    Tmpfs,
}

impl Disk {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Image, Self::Volume, Self::Tmpfs];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Volume => "volume",
            Self::Tmpfs => "tmpfs",
        }
    }
}

/// A benchmark of the node program or a tool, on one of the disks if it has files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Benchmark {
    /// Its name for `stowplan-node bench`, or that of the tool.
    pub kernel: &'static str,
    /// Where its files are.
    pub disk: Option<Disk>,
    /// The metric that stands for it where it gave none.
    pub metric: &'static str,
}

/// Benchmarks without files.
const PLAIN: [(&str, &str); 9] = [
    ("whetstone", "whetstone"),
    ("dhrystone", "dhrystone"),
    ("cpu", "cpu_primes"),
    ("memory", "memory_write"),
    ("ramspeed", "ram_int_write"),
    ("threads", "threads"),
    ("mutex", "mutex"),
    ("tcp", "tcp_send"),
    ("dds", "dds_round_trip"),
];

/// Benchmarks with files.
const OF_FILES: [(&str, &str); 3] = [
    ("file-sequential", "file_seq_write"),
    ("file-random", "file_rnd_write"),
    ("files", "file_create"),
];

/// Metrics that verdicts are corrected over together: those that have one figure.
pub(crate) const PRIMARY: [&str; 8] = [
    "whetstone",
    "dhrystone",
    "cpu_primes",
    "memory_write",
    "memory_read",
    "threads",
    "mutex",
    "tcp_send",
];

/// Names that a user can ask for.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let built_in = PLAIN.iter().chain(&OF_FILES).map(|(name, _)| *name);
    built_in.chain(names_of_tools()).collect()
}

/// Those of them that are tools of the toolbox.
pub fn names_of_tools() -> impl Iterator<Item = &'static str> {
    Tool::all().map(|tool| tool.name)
}

impl Benchmark {
    /// Those of these names, in the order of the suite; all that are built in where no name is given.
    #[must_use]
    pub fn of_names(names: &[String]) -> Vec<Self> {
        let of = |disk: Option<Disk>| {
            move |(kernel, metric): &(&'static str, &'static str)| Self {
                kernel,
                disk,
                metric,
            }
        };
        let files = Disk::ALL
            .iter()
            .flat_map(|disk| OF_FILES.iter().map(of(Some(*disk))));
        let all = PLAIN.iter().map(of(None)).chain(files);
        let tools = Tool::all().map(|tool| Self {
            kernel: tool.name,
            disk: tool.has_files.then_some(Disk::Volume),
            metric: tool.metric(),
        });
        all.chain(tools.filter(|_| !names.is_empty()))
            .filter(|one| names.is_empty() || names.iter().any(|name| name == one.kernel))
            .collect()
    }

    /// The metric that stands for a kernel or a tool where it gave none.
    pub(crate) fn metric_of(name: &str) -> Option<&'static str> {
        let all = Self::of_names(&[name.to_owned()]);
        all.first().map(|one| one.metric)
    }

    /// The tool that it is, if it is one.
    pub(crate) fn tool(&self) -> Option<&'static Tool> {
        Tool::of_name(self.kernel)
    }

    /// Its name for people.
    #[must_use]
    pub fn label(&self) -> String {
        self.disk.map_or_else(
            || self.kernel.to_owned(),
            |disk| format!("{} on {}", self.kernel, disk.name()),
        )
    }
}

/// A row that a table shows first: its label, metric, and what its subject is without the medium.
pub(crate) type Shown = (&'static str, &'static str, Option<&'static str>);

/// Rows of tools.
pub(crate) const SHOWN_OF_TOOLS: [Shown; 13] = [
    ("sysbench cpu", "sysbench_cpu", None),
    ("sysbench memory", "sysbench_memory", None),
    ("sysbench threads", "sysbench_threads", None),
    ("sysbench mutex", "sysbench_mutex", None),
    ("iperf3", "iperf3_send", None),
    ("iperf3 -R", "iperf3_receive", None),
    ("ddsperf 1 KiB", "ddsperf_round_trip", None),
    ("dbench", "dbench", Some("volume, buffered")),
    ("bonnie++, write", "bonnie_write", Some("volume, buffered")),
    ("bonnie++, create files", "bonnie_create", Some("volume")),
    (
        "sysbench fileio",
        "sysbench_file_write",
        Some("volume, buffered"),
    ),
    (
        "sysbench fileio, fsync",
        "sysbench_file_write_fsync",
        Some("volume, fsync"),
    ),
    ("Kernel compile", "kernel_compile", None),
];

/// Those rows, as tables III to VI of wen2023 and table IV of betz2024 have them.
pub(crate) const SHOWN: [Shown; 28] = [
    ("Whetstone", "whetstone", None),
    ("Dhrystone", "dhrystone", None),
    ("CPU, primes", "cpu_primes", None),
    ("Memory 1 KiB, write", "memory_write", None),
    ("Memory 1 KiB, read", "memory_read", None),
    ("RAM, integer writing", "ram_int_write", Some("64 MiB")),
    ("RAM, integer reading", "ram_int_read", Some("64 MiB")),
    ("RAM, float writing", "ram_float_write", Some("64 MiB")),
    ("RAM, float reading", "ram_float_read", Some("64 MiB")),
    ("Threads", "threads", None),
    ("Mutex", "mutex", None),
    ("TCP send", "tcp_send", None),
    ("TCP receive", "tcp_receive", None),
    ("DDS 1 KiB", "dds_round_trip", Some("1 KiB")),
    ("DDS 64 KiB", "dds_round_trip", Some("64 KiB")),
    ("DDS 1 MiB", "dds_round_trip", Some("1 MiB")),
    (
        "Image, write + fsync",
        "file_seq_write",
        Some("image, fsync"),
    ),
    ("Image, read cold", "file_seq_read", Some("image, cold")),
    ("Image, create files", "file_create", Some("image")),
    ("Image, delete files", "file_delete", Some("image")),
    (
        "Volume, write + fsync",
        "file_seq_write",
        Some("volume, fsync"),
    ),
    ("Volume, read cold", "file_seq_read", Some("volume, cold")),
    (
        "Volume, random write",
        "file_rnd_write",
        Some("volume, O_DIRECT"),
    ),
    (
        "Volume, random read",
        "file_rnd_read",
        Some("volume, O_DIRECT"),
    ),
    ("Volume, create files", "file_create", Some("volume")),
    ("Volume, delete files", "file_delete", Some("volume")),
    ("Tmpfs, write", "file_seq_write", Some("tmpfs, buffered")),
    ("Tmpfs, create files", "file_create", Some("tmpfs")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_with_files_is_there_for_every_disk() {
        let all = Benchmark::of_names(&[]);
        assert_eq!(all.len(), PLAIN.len() + 3 * OF_FILES.len());
        let some = Benchmark::of_names(&["files".to_owned(), "cpu".to_owned()]);
        let labels: Vec<String> = some.iter().map(Benchmark::label).collect();
        assert_eq!(
            labels,
            ["cpu", "files on image", "files on volume", "files on tmpfs"]
        );
    }

    #[test]
    fn the_table_fits_forty_lines_with_its_head_and_its_legend() {
        assert!(SHOWN.len() + 10 <= 40);
    }
}
