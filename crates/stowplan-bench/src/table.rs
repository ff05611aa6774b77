//! The table of a result: each figure at each place as a share of the reference, with interval and verdict.
//!
//! Figures of two media never stand in one comparison: a row whose places read from different media says so in the cell.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use stowplan_judge::{Judgement, Measurement};
use stowplan_results::{Better, Comparison};
use stowplan_stats::Verdict;
use stowplan_wire::bench::Storage;

use crate::benchmarks::{SHOWN, SHOWN_OF_TOOLS, Shown};
use crate::cells::{self, PrintedRun};
use crate::floor::Floor;
use crate::medium::Medium;
use crate::ratios::{Ratio, is_ratio, ratios};
use crate::reasons::Reasons;
use crate::rows::parts;

/// A table of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchTable {
    /// Labels of the places, the reference first.
    pub places: Vec<String>,
    /// Whether each is of plain processes.
    pub plain: Vec<bool>,
    /// Its rows: first those that a short table has.
    pub rows: Vec<TableRow>,
    /// Our benchmarks beside the tools.
    pub ratios: Vec<Ratio>,
}

/// A figure at every place.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// Its name for people.
    pub label: String,
    /// Metric.
    pub metric: String,
    /// What it is of, without the medium.
    pub subject: Option<String>,
    /// Unit.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
    /// Whether a short table has it.
    pub shown: bool,
    /// What was measured at each place, in the order of the places.
    pub cells: Vec<Cell>,
    /// What cannot be told apart.
    pub floor: Option<Floor>,
}

/// A figure at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Mean over the blocks.
    pub value: Option<f64>,
    /// Blocks.
    pub n: usize,
    /// Where its bytes came from or went to; none where no file is concerned.
    pub medium: Option<Medium>,
    /// File system and device of its files.
    pub storage: Option<String>,
    /// Bytes that the device moved for each byte of the program, over all blocks; none where no file is concerned or the kernel
    /// does not count.
    pub device_share: Option<f64>,
    /// Share of the reference; none of the reference itself, or where nothing was compared.
    pub share: Option<f64>,
    /// Ends of its 95 % interval; one block has none.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Why there is no value or no comparison.
    pub reason: Option<String>,
}

/// Rows of one name: by medium and deployment.
type ByName<'a> = Vec<(
    (String, Option<String>),
    Vec<(&'a Measurement, Option<Medium>)>,
)>;

impl BenchTable {
    /// The table of a judged result in its folder.
    ///
    /// # Errors
    /// When what the benchmarks printed cannot be read.
    pub fn read(judgement: &Judgement, dir: &Path) -> io::Result<Self> {
        Ok(Self::of(judgement, &cells::read(dir)?))
    }

    fn of(judgement: &Judgement, printed: &[PrintedRun]) -> Self {
        let experiment = &judgement.figures.experiment;
        let columns = experiment
            .deployments
            .iter()
            .filter(|d| d.variant.is_none());
        let columns: Vec<(&str, &str)> = columns.map(|d| (&*d.id, &*d.label)).collect();
        let again = experiment.deployments.iter().find(|d| d.variant.is_some());
        let drawn = Drawn {
            judgement,
            printed,
            columns: &columns,
            again: again.map(|d| &*d.id),
        };
        let names = by_name(&judgement.figures.measurements);
        let names = names.iter().filter(|((metric, _), _)| !is_ratio(metric));
        let names = names.filter(|((metric, subject), media)| {
            media.iter().any(|(m, _)| !m.values.is_empty())
                || !drawn.reasons().has_own_rows(metric, subject.as_deref())
        });
        let mut rows: Vec<TableRow> = names
            .map(|((metric, subject), media)| drawn.row(metric, subject.as_deref(), media))
            .collect();
        rows.sort_by_key(|row| rank(&row.metric, row.subject.as_deref()).unwrap_or(usize::MAX));
        Self {
            plain: columns
                .iter()
                .filter_map(|(id, _)| experiment.deployment(id))
                .map(stowplan_results::DeploymentRecord::is_plain)
                .collect(),
            places: columns
                .iter()
                .map(|(_, label)| (*label).to_owned())
                .collect(),
            rows,
            ratios: ratios(judgement),
        }
    }
}

fn shown() -> impl Iterator<Item = &'static Shown> {
    SHOWN.iter().chain(&SHOWN_OF_TOOLS)
}

/// Place of a row in a short table.
fn rank(metric: &str, subject: Option<&str>) -> Option<usize> {
    shown().position(|(_, m, s)| *m == metric && *s == subject)
}

/// Measurements that differ in their medium only stand together.
fn by_name(all: &[Measurement]) -> ByName<'_> {
    let mut names: ByName<'_> = Vec::new();
    for measurement in all {
        let subject = measurement.subject.as_deref();
        let (base, medium) = match subject.and_then(parts) {
            Some((base, medium)) => (Some(base), Some(medium)),
            None => (subject, None),
        };
        let name = (measurement.metric.clone(), base.map(str::to_owned));
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, media)) => media.push((measurement, medium)),
            None => names.push((name, vec![(measurement, medium)])),
        }
    }
    names
}

struct Drawn<'a> {
    judgement: &'a Judgement,
    printed: &'a [PrintedRun],
    columns: &'a [(&'a str, &'a str)],
    again: Option<&'a str>,
}

impl Drawn<'_> {
    fn row(
        &self,
        metric: &str,
        subject: Option<&str>,
        media: &[(&Measurement, Option<Medium>)],
    ) -> TableRow {
        let (first, _) = media[0];
        let label = rank(metric, subject).and_then(|at| shown().nth(at));
        // One without values can stand for a benchmark that failed everywhere.
        let has_none = media.iter().all(|(m, _)| m.values.is_empty());
        let has_none = has_none && shown().any(|(_, shown, _)| *shown == metric);
        let label = label.map(|row| row.0.to_owned());
        let label = label.or_else(|| has_none.then(|| name(metric, subject)));
        let unit = media
            .iter()
            .map(|(m, _)| &m.unit)
            .find(|unit| !unit.is_empty());
        let reference = self.columns.first().and_then(|(id, _)| most(media, id));
        let cells = self.columns.iter().map(|(id, _)| {
            let own = most(media, id);
            self.cell(id, own, reference, (metric, subject), media)
        });
        TableRow {
            shown: label.is_some(),
            label: label.unwrap_or_else(|| name(metric, subject)),
            metric: metric.to_owned(),
            subject: subject.map(str::to_owned),
            unit: unit.cloned().unwrap_or_default(),
            better: first.better,
            cells: cells.collect(),
            floor: reference.and_then(|(measurement, _)| self.floor(measurement)),
        }
    }

    fn reasons(&self) -> Reasons<'_> {
        Reasons {
            measurements: &self.judgement.figures.measurements,
            printed: self.printed,
        }
    }

    fn floor(&self, measurement: &Measurement) -> Option<Floor> {
        let (reference, again) = (self.columns.first()?.0, self.again?);
        let of = |id: &str| -> BTreeMap<u32, f64> {
            let values = measurement.values.get(id).into_iter().flatten();
            values.copied().collect()
        };
        let again = of(again);
        let pairs = of(reference).into_iter();
        let pairs = pairs.filter_map(|(block, value)| Some((value, *again.get(&block)?)));
        Floor::of(&pairs.collect::<Vec<_>>())
    }

    fn cell(
        &self,
        id: &str,
        own: Option<(&Measurement, Option<Medium>)>,
        reference: Option<(&Measurement, Option<Medium>)>,
        name: (&str, Option<&str>),
        media: &[(&Measurement, Option<Medium>)],
    ) -> Cell {
        let Some((measurement, medium)) = own else {
            let mut missing = media.iter().filter_map(|(m, _)| m.missing.get(id));
            let (metric, subject) = name;
            let missing = missing.next().map(String::as_str);
            let missing = missing.or_else(|| self.reasons().of(metric, subject, id));
            return Cell::empty().because(missing.unwrap_or("not measured"));
        };
        let values = measurement.values.get(id).map_or(&[][..], |values| values);
        let sum: f64 = values.iter().map(|(_, value)| value).sum();
        let cell = Cell {
            value: Some(sum / values.len().max(1) as f64),
            n: values.len(),
            medium,
            storage: self.storage(id, measurement),
            device_share: self.device_share(id, measurement, medium),
            ..Cell::empty()
        };
        if self.columns.first().is_some_and(|(first, _)| *first == id) {
            return cell;
        }
        match reference {
            None => cell.because("the reference has no figure"),
            Some((_, other)) if other != medium => cell.because(&refusal(medium, other)),
            Some(_) => match self.comparison(id, measurement) {
                None => cell.because("no block has both"),
                Some(comparison) => cell.compared(comparison),
            },
        }
    }

    fn comparison(&self, id: &str, measurement: &Measurement) -> Option<&Comparison> {
        let reference = self.columns.first()?.0;
        self.judgement.comparisons.iter().find(|c| {
            (&c.metric, &c.subject) == (&measurement.metric, &measurement.subject)
                && (&*c.reference, &*c.candidate) == (reference, id)
        })
    }

    fn printed(&self, id: &str) -> impl Iterator<Item = &PrintedRun> {
        self.printed.iter().filter(move |run| run.deployment == id)
    }

    /// File system and device of a figure's files.
    fn storage(&self, id: &str, measurement: &Measurement) -> Option<String> {
        let disk = measurement.subject.as_deref()?.split(", ").next()?;
        let runs = self.printed(id).filter(|run| {
            let mut figures = run.result.figures.iter();
            figures.any(|figure| figure.metric == measurement.metric)
        });
        let mut storages = runs.filter_map(|run| run.result.storage.as_ref());
        let storage = storages.find(|storage| storage.disk == disk)?;
        Some(describe(storage))
    }

    fn device_share(
        &self,
        id: &str,
        measurement: &Measurement,
        medium: Option<Medium>,
    ) -> Option<f64> {
        medium?;
        let (base, _) = parts(measurement.subject.as_deref()?)?;
        let (disk, access) = base.split_once(", ")?;
        let of_disk = self.printed(id).filter(|run| {
            let storage = run.result.storage.as_ref();
            storage.is_some_and(|storage| storage.disk == disk)
        });
        let figures = of_disk
            .flat_map(|run| &run.result.figures)
            .filter(|figure| {
                figure.metric == measurement.metric && figure.subject.as_deref() == Some(access)
            });
        let (mut all, mut of_device) = (0, 0);
        for moved in figures.filter_map(|figure| figure.moved.as_ref()) {
            all += moved.bytes;
            of_device += match moved.direction {
                stowplan_wire::bench::Direction::Read => moved.from_device?,
                stowplan_wire::bench::Direction::Write => moved.to_device?,
            };
        }
        (all > 0).then(|| of_device as f64 / all as f64)
    }
}

/// The medium that a place has most figures of.
fn most<'a>(
    media: &[(&'a Measurement, Option<Medium>)],
    id: &str,
) -> Option<(&'a Measurement, Option<Medium>)> {
    let count = |m: &Measurement| m.values.get(id).map_or(0, Vec::len);
    let having = media.iter().filter(|(m, _)| count(m) > 0);
    having.max_by_key(|(m, _)| count(m)).copied()
}

fn describe(storage: &Storage) -> String {
    if storage.device == storage.file_system {
        return storage.file_system.clone();
    }
    format!("{} on {}", storage.file_system, storage.device)
}

/// Why figures of two media are not compared.
fn refusal(own: Option<Medium>, reference: Option<Medium>) -> String {
    let word = |medium: Option<Medium>| medium.map_or("no file".to_owned(), |m| m.to_string());
    format!(
        "not compared: {} here, {} at the reference",
        word(own),
        word(reference)
    )
}

/// Name of a row that no short table has.
fn name(metric: &str, subject: Option<&str>) -> String {
    let metric = metric.replace('_', " ");
    subject.map_or_else(|| metric.clone(), |subject| format!("{metric}, {subject}"))
}

impl Cell {
    const fn empty() -> Self {
        Self {
            value: None,
            n: 0,
            medium: None,
            storage: None,
            device_share: None,
            share: None,
            interval: None,
            verdict: None,
            reason: None,
        }
    }

    fn because(self, reason: &str) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            ..self
        }
    }

    fn compared(self, comparison: &Comparison) -> Self {
        let c = comparison;
        let ends = c.low.zip(c.high);
        Self {
            share: c.difference.map(|difference| 1.0 + difference),
            interval: ends.map(|(low, high)| [1.0 + low, 1.0 + high]),
            verdict: Some(c.verdict),
            reason: Some(c.verdict_reason.clone()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use stowplan_results::{
        DeploymentRecord, Experiment, Results, ResultsWriter, RunData, RunRow, RunStatus,
    };
    use stowplan_wire::bench::{BenchResult, FileAccess};

    use super::*;
    use crate::benchmarks::{Benchmark, Disk};
    use crate::rows;
    use crate::rows::tests::{read, run};

    const SEQUENTIAL: Benchmark = Benchmark {
        kernel: "file-sequential",
        disk: Some(Disk::Image),
        metric: "file_seq_write",
    };

    /// Why a run failed, which does not count.
    const FAILED: &str = "the engine is gone";

    /// A result of six blocks in which each place gave what `of` says of it.
    fn table(
        places: &[&str],
        of: impl Fn(&str, u32) -> BenchResult,
    ) -> (BenchTable, tempfile::TempDir) {
        table_of(places, |place, block| Ok(of(place, block)))
    }

    /// The same where some gave nothing, and said why.
    fn table_of(
        places: &[&str],
        of: impl Fn(&str, u32) -> Result<BenchResult, (Benchmark, &'static str)>,
    ) -> (BenchTable, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut experiment = Experiment::new(crate::SUITE, "t");
        experiment
            .deployments
            .extend(places.iter().map(|place| DeploymentRecord {
                variant: place.ends_with("again").then(|| "again".to_owned()),
                ..DeploymentRecord::named(place)
            }));
        let writer = ResultsWriter::create(folder.path(), &experiment).unwrap();
        let mut number = 0;
        for block in 1..=6 {
            for place in places {
                number += 1;
                let scheduled = run(number, block, place);
                let given = of(place, block);
                let status = match given {
                    Err((_, FAILED)) => RunStatus::Failed,
                    _ => RunStatus::Finished,
                };
                let mut data = RunData::of(RunRow::of_scheduled(&scheduled, status));
                data.measurements = match &given {
                    Ok(result) => rows::rows(&scheduled, result),
                    Err((of, why)) => vec![rows::missing(&scheduled, of, why)],
                };
                writer.write_run(&data).unwrap();
                if let Ok(result) = given {
                    cells::append(writer.dir(), &scheduled, &result).unwrap();
                }
            }
        }
        let dir = writer.dir().to_owned();
        writer.finish().unwrap();
        let judgement = Judgement::read(&Results::open(&dir).unwrap()).unwrap();
        (BenchTable::read(&judgement, &dir).unwrap(), folder)
    }

    /// The trap of a study in which bare metal read 1009 MiB/s from memory and containers 42 MiB/s from a card: a ratio of
    /// 24 that is no overhead.
    #[test]
    fn a_page_cache_is_never_compared_with_a_disk() {
        let (table, _folder) = table(&["bare", "again", "oci"], |place, block| {
            let noise = f64::from(block) * 0.01;
            if place == "oci" {
                read(41.55 + noise, FileAccess::Buffered, 1 << 20)
            } else {
                read(1009.0 + noise, FileAccess::Buffered, 0)
            }
        });
        let [row] = &table.rows[..] else {
            panic!("{:?}", table.rows);
        };
        assert_eq!(table.places, ["bare", "oci"]);
        let [bare, oci] = &row.cells[..] else {
            panic!("{:?}", row.cells);
        };
        assert_eq!((bare.medium, bare.n), (Some(Medium::PageCache), 6));
        assert_eq!((oci.medium, oci.n), (Some(Medium::Device), 6));
        assert_eq!((oci.share, oci.verdict), (None, None));
        assert_eq!(
            oci.reason.as_deref(),
            Some("not compared: device here, page cache at the reference")
        );
        assert_eq!(oci.device_share, Some(1.0));
        assert_eq!(bare.storage.as_deref(), Some("ext4 on /dev/vda"));
    }

    #[test]
    fn one_medium_is_compared_with_its_interval() {
        let (table, _folder) = table(&["bare", "again", "other"], |place, block| {
            let noise = 1.0 + f64::from(block % 3) * 0.001;
            let value = if place == "other" { 90.0 } else { 100.0 };
            read(value * noise, FileAccess::Direct, 1 << 20)
        });
        let row = &table.rows[0];
        assert_eq!(row.subject.as_deref(), Some("image, O_DIRECT"));
        let cell = &row.cells[1];
        let (share, [low, high]) = (cell.share.unwrap(), cell.interval.unwrap());
        assert!((share - 0.9).abs() < 1e-6 && low <= share && share <= high);
        assert_eq!(cell.verdict, Some(Verdict::Worse));
        let floor = row.floor.unwrap();
        assert!(floor.held && floor.share < 1e-6, "{floor:?}");
    }

    #[test]
    fn a_figure_that_a_place_does_not_have_says_why() {
        let (table, _folder) = table(&["bare", "again", "oci"], |place, _| {
            let mut result = read(100.0, FileAccess::Direct, 1 << 20);
            if place == "oci" {
                result.figures[0].value = None;
                result.figures[0].moved = None;
                result.figures[0].reason = Some("no space left".to_owned());
            }
            result
        });
        let cell = &table.rows[0].cells[1];
        assert_eq!((cell.value, cell.n), (None, 0));
        assert_eq!(cell.reason.as_deref(), Some("no space left"));
    }

    #[test]
    fn a_benchmark_that_gave_nothing_says_why_in_the_rows_that_others_have() {
        for why in ["it hangs", FAILED] {
            let (table, _folder) = table_of(&["bare", "again", "oci"], |place, _| match place {
                "oci" => Err((SEQUENTIAL, why)),
                _ => Ok(read(100.0, FileAccess::Direct, 1 << 20)),
            });
            let [row] = &table.rows[..] else {
                panic!("{:?}", table.rows);
            };
            assert_eq!(row.cells[0].value, Some(100.0));
            assert_eq!(row.cells[1].reason.as_deref(), Some(why));
            assert_eq!(row.unit, "MB/s");
        }
        let hangs = |_: &str, _| Err((SEQUENTIAL, "it hangs"));
        let (table, _folder) = table_of(&["bare", "again", "oci"], hangs);
        let [row] = &table.rows[..] else {
            panic!("{:?}", table.rows);
        };
        assert_eq!((&*row.label, row.shown), ("file seq write, image", true));
        let reasons = row.cells.iter().map(|cell| cell.reason.as_deref());
        assert!(reasons.eq([Some("it hangs"); 2]));
    }

    #[test]
    fn which_values_are_better_is_what_those_that_have_some_say() {
        let ddsperf = Benchmark {
            kernel: "ddsperf",
            disk: None,
            metric: "ddsperf_round_trip",
        };
        let (table, _folder) = table_of(&["bare", "again", "oci"], |_, block| {
            if block == 1 {
                return Err((ddsperf, "it hangs"));
            }
            let mut result = read(7.0, FileAccess::Direct, 0);
            result.storage = None;
            result.figures[0].metric = ddsperf.metric.to_owned();
            result.figures[0].subject = None;
            result.figures[0].unit = "ns".to_owned();
            result.figures[0].higher_is_better = false;
            Ok(result)
        });
        let [row] = &table.rows[..] else {
            panic!("{:?}", table.rows);
        };
        assert_eq!((row.better, &*row.unit), (Better::Lower, "ns"));
        assert_eq!(row.cells[1].n, 5);
    }
}
