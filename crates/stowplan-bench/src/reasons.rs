//! Why a benchmark gave nothing at a place, told in every row that has a figure of it elsewhere.

use stowplan_judge::Measurement;

use crate::benchmarks::{Benchmark, Disk};
use crate::cells::PrintedRun;
use crate::rows::base;

/// What is known of a result.
#[derive(Clone, Copy)]
pub(crate) struct Reasons<'a> {
    pub(crate) measurements: &'a [Measurement],
    pub(crate) printed: &'a [PrintedRun],
}

impl<'a> Reasons<'a> {
    /// Why there is no figure of a row at a place.
    pub(crate) fn of(self, metric: &str, subject: Option<&str>, id: &str) -> Option<&'a str> {
        let disk = disk(subject);
        let mut runs = self.printed.iter().filter(|run| is_on(run, disk));
        let run = runs.find(|run| run.result.figures.iter().any(|f| f.metric == metric))?;
        let stands_for_it = Benchmark::metric_of(&run.result.benchmark)?;
        let mut all = self.measurements.iter();
        all.find_map(|m| {
            let of = m.subject.as_deref();
            let is_it = m.metric == stands_for_it && (disk.is_none() || of == disk);
            is_it.then(|| m.missing.get(id))?
        })
        .map(String::as_str)
    }

    /// Whether a row without values stands for a benchmark that has rows of its own.
    pub(crate) fn has_own_rows(self, metric: &str, subject: Option<&str>) -> bool {
        let disk = disk(subject);
        let of_it = self.printed.iter().filter(|run| {
            is_on(run, disk) && Benchmark::metric_of(&run.result.benchmark) == Some(metric)
        });
        let mut figures = of_it.flat_map(|run| run.result.figures.iter().map(|f| (f, &run.result)));
        let mut has_some = false;
        let is_one = figures.any(|(figure, result)| {
            has_some = true;
            figure.metric == metric && base(figure, result).as_deref() == subject
        });
        has_some && !is_one
    }
}

/// The disk in a subject.
fn disk(subject: Option<&str>) -> Option<&str> {
    let first = subject?.split(", ").next()?;
    Disk::ALL
        .iter()
        .any(|disk| disk.name() == first)
        .then_some(first)
}

/// Whether a run was on this disk, or has no files.
fn is_on(run: &PrintedRun, disk: Option<&str>) -> bool {
    let storage = run.result.storage.as_ref();
    disk.is_none() || storage.is_none_or(|storage| Some(&*storage.disk) == disk)
}
