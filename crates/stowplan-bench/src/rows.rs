//! Rows of `measurements` from what a benchmark printed.
//!
//! The medium is a part of a figure's subject: figures from a disk and from a page cache are of two subjects, which nothing
//! compares.

use stowplan_results::{Better, MeasurementRow, ScheduledRun};
use stowplan_wire::bench::{Backing, BenchFigure, BenchResult, Direction, Storage};

use crate::benchmarks::Benchmark;
use crate::medium::Medium;

/// The rows of a run.
pub(crate) fn rows(run: &ScheduledRun, result: &BenchResult) -> Vec<MeasurementRow> {
    let figures = result.figures.iter();
    figures.map(|figure| row(run, figure, result)).collect()
}

fn row(run: &ScheduledRun, figure: &BenchFigure, result: &BenchResult) -> MeasurementRow {
    let better = if figure.higher_is_better {
        Better::Higher
    } else {
        Better::Lower
    };
    MeasurementRow {
        subject: subject(figure, result).map(|subject| subject.as_str().into()),
        value: figure.value,
        reason: figure.reason.as_deref().map(Into::into),
        ..MeasurementRow::new(run, &figure.metric, &figure.unit, better, 0.0)
    }
}

/// `volume, fsync, device`: the disk, how it was used, and the medium.
fn subject(figure: &BenchFigure, result: &BenchResult) -> Option<String> {
    let base = base(figure, result);
    let Some(storage) = &result.storage else {
        return base;
    };
    let medium = match (&figure.moved, figure.value) {
        (Some(moved), _) if moved.direction == Direction::Read => {
            Medium::of(moved, backing_of_reads(result, storage))
        }
        (Some(moved), _) => Medium::of(moved, storage.backing),
        (None, Some(_)) => Medium::of_backing(storage.backing),
        (None, None) => Medium::Unknown,
    };
    Some(format!("{}, {medium}", base.unwrap_or_default()))
}

/// The same without the medium.
pub(crate) fn base(figure: &BenchFigure, result: &BenchResult) -> Option<String> {
    let Some(storage) = &result.storage else {
        return figure.subject.clone();
    };
    let parts = [&storage.disk].into_iter().chain(&figure.subject);
    Some(parts.cloned().collect::<Vec<_>>().join(", "))
}

/// What is behind the file that is read. It need not lie where files are written: below an overlay in memory there can be a
/// device, which one of the reads then shows.
fn backing_of_reads(result: &BenchResult, storage: &Storage) -> Backing {
    let moved = result
        .figures
        .iter()
        .filter_map(|figure| figure.moved.as_ref());
    let mut reads = moved.filter(|moved| moved.direction == Direction::Read);
    let of_device = reads.any(|moved| Medium::of(moved, storage.backing) == Medium::Device);
    if of_device {
        Backing::Device
    } else {
        storage.backing
    }
}

/// The parts of such a subject; `None` where it has no medium.
pub(crate) fn parts(subject: &str) -> Option<(&str, Medium)> {
    let (base, medium) = subject.rsplit_once(", ")?;
    Some((base, Medium::of_name(medium)?))
}

/// The row of a benchmark that gave no figure: it stands for all that it would have given.
pub(crate) fn missing(run: &ScheduledRun, benchmark: &Benchmark, why: &str) -> MeasurementRow {
    let disk = benchmark.disk.map(|disk| disk.name().into());
    MeasurementRow {
        subject: disk,
        value: None,
        reason: Some(why.into()),
        ..MeasurementRow::new(run, benchmark.metric, "", Better::Higher, 0.0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use stowplan_results::StartKind;
    use stowplan_wire::bench::{BENCH_SCHEMA, FileAccess, Moved};

    use super::*;

    pub(crate) fn run(number: u32, block: u32, deployment: &str) -> ScheduledRun {
        ScheduledRun {
            run: number,
            block,
            order: 1,
            deployment: deployment.to_owned(),
            start: StartKind::Warm,
            seed: 1,
        }
    }

    /// Reading a file at a rate, from a device or not.
    pub(crate) fn read(value: f64, access: FileAccess, from_device: u64) -> BenchResult {
        BenchResult {
            schema: BENCH_SCHEMA.to_owned(),
            benchmark: "file-sequential".to_owned(),
            figures: vec![BenchFigure {
                metric: "file_seq_read".to_owned(),
                subject: Some(access.word().to_owned()),
                unit: "MB/s".to_owned(),
                higher_is_better: true,
                value: Some(value),
                whole: None,
                reason: None,
                count: 10,
                ns: 1,
                moved: Some(Moved {
                    direction: Direction::Read,
                    access,
                    bytes: 1 << 20,
                    from_device: Some(from_device),
                    to_device: Some(0),
                    resident: Some(0.0),
                }),
            }],
            settings: std::collections::BTreeMap::default(),
            storage: Some(Storage {
                disk: "image".to_owned(),
                backing: Backing::Device,
                file_system: "ext4".to_owned(),
                device: "/dev/vda".to_owned(),
                upper: None,
            }),
        }
    }

    #[test]
    fn the_medium_is_a_part_of_the_subject() {
        let run = run(1, 1, "a");
        for (from_device, expected) in [
            (1 << 20, "image, buffered, device"),
            (0, "image, buffered, page cache"),
        ] {
            let rows = rows(&run, &read(7.0, FileAccess::Buffered, from_device));
            assert_eq!(rows[0].subject.as_deref(), Some(expected));
            assert_eq!(rows[0].value, Some(7.0));
        }
        // Written files are in memory, and the file that is read lies on a device, as another read shows.
        let mut both = read(7.0, FileAccess::Buffered, 0);
        let cold = read(3.0, FileAccess::Cold, 1 << 20).figures;
        both.storage.as_mut().unwrap().backing = Backing::Memory;
        let alone = rows(&run, &both);
        assert_eq!(alone[0].subject.as_deref(), Some("image, buffered, memory"));
        both.figures.extend(cold);
        let beside = rows(&run, &both);
        assert_eq!(
            beside[0].subject.as_deref(),
            Some("image, buffered, page cache")
        );
        assert_eq!(beside[1].subject.as_deref(), Some("image, cold, device"));
        let (base, medium) = parts("image, buffered, page cache").unwrap();
        assert_eq!((base, medium), ("image, buffered", Medium::PageCache));
        assert_eq!(parts("64 MiB"), None);
    }
}
