//! CPU and memory over time, per deployment and subject.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use stowplan_results::{Results, UsageRow};
use stowplan_stats::Sorted;

use crate::counted::Counted;
use crate::error::JudgeError;
use crate::modules::{self, module};
use crate::spread::{Spreads, UsageSpread, spreads};
use crate::track::{Track, Tracks};

/// The sum over all services, beside the subjects of the table.
pub const SERVICES: &str = "services";
/// The row of the whole machine.
pub const MACHINE: &str = "machine";
/// The row of the engine's own processes, where it has some that no service's accounting has.
pub const ENGINE: &str = "engine";
/// What the row of the engine is called before the run had services; its programs come after a colon here as there.
const IDLE: &str = "engine idle";
/// What rows of programs that are none of these begin with: two rows, just before and after the window.
const OTHER: &str = "other: ";
/// The row of Stowplan itself.
pub const STOWPLAN: &str = "stowplan";

/// Points of a series over time, at most.
const BINS: usize = 240;

/// Usage of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentUsage {
    /// Id of the deployment.
    pub deployment: String,
    /// Per run: what was used in the window.
    pub runs: Vec<RunUsage>,
    /// Over time, medians over the runs: `services`, `machine`, `engine`, `stowplan`, each module, then each service.
    pub series: Vec<Series>,
}

impl DeploymentUsage {
    /// Mean over the runs of CPUs that a subject used in the window.
    #[must_use]
    pub fn cpus(&self, subject: &str) -> Option<f64> {
        mean(
            self.runs
                .iter()
                .filter_map(|r| r.cpus.get(subject).copied()),
        )
    }

    /// CPUs of the machine that neither services nor the engine nor Stowplan used.
    #[must_use]
    pub fn rest_cpus(&self) -> Option<f64> {
        let known = self.cpus(SERVICES)? + self.cpus(STOWPLAN)?;
        Some(self.cpus(MACHINE)? - known - self.cpus(ENGINE).unwrap_or(0.0))
    }

    /// Programs that used most of that, most first: mean over all runs of their CPUs, where a run that did not name
    /// one counts zero.
    #[must_use]
    pub fn others(&self) -> Vec<(&str, f64)> {
        let mut programs: BTreeMap<&str, f64> = BTreeMap::new();
        for (program, cpus) in self.runs.iter().flat_map(|run| &run.others) {
            *programs.entry(program).or_default() += cpus / self.runs.len() as f64;
        }
        let mut programs: Vec<(&str, f64)> = programs.into_iter().collect();
        programs.sort_by(|a, b| b.1.total_cmp(&a.1));
        programs
    }

    /// Mean over the runs of the highest memory of a subject in the window, bytes.
    #[must_use]
    pub fn memory(&self, subject: &str) -> Option<f64> {
        mean(
            self.runs
                .iter()
                .filter_map(|r| r.memory.get(subject).copied()),
        )
    }

    /// How the CPUs of a subject varied in the window, mean over the runs.
    #[must_use]
    pub fn cpu_spread(&self, subject: &str) -> Option<UsageSpread> {
        let runs = self.runs.iter();
        UsageSpread::mean_of(runs.filter_map(|run| run.cpu_spread.get(subject)))
    }

    /// How its memory did.
    #[must_use]
    pub fn memory_spread(&self, subject: &str) -> Option<UsageSpread> {
        let runs = self.runs.iter();
        UsageSpread::mean_of(runs.filter_map(|run| run.memory_spread.get(subject)))
    }

    /// Mean over the runs of CPUs that the engine, or a program of it, used before the run had services.
    #[must_use]
    pub fn idle_cpus(&self, subject: &str) -> Option<f64> {
        mean(
            self.runs
                .iter()
                .filter_map(|r| r.idle_cpus.get(subject).copied()),
        )
    }

    /// Mean over the runs of the highest memory that it had then, bytes.
    #[must_use]
    pub fn idle_memory(&self, subject: &str) -> Option<f64> {
        mean(
            self.runs
                .iter()
                .filter_map(|r| r.idle_memory.get(subject).copied()),
        )
    }
}

/// Usage in the window of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunUsage {
    /// Run.
    pub run: u32,
    /// Block.
    pub block: u32,
    /// CPUs per subject: CPU time over time. Of a module it is its processes', `module: NAME`.
    pub cpus: BTreeMap<String, f64>,
    /// Highest memory per subject, bytes. For `services` the highest sum.
    pub memory: BTreeMap<String, f64>,
    /// CPUs of the engine and of its programs before the run had services.
    pub idle_cpus: BTreeMap<String, f64>,
    /// Their highest memory then, bytes.
    pub idle_memory: BTreeMap<String, f64>,
    /// CPUs of the programs that used most of what is neither the services', the engine's nor Stowplan's.
    pub others: BTreeMap<String, f64>,
    /// How the CPUs of a subject varied from sample to sample of the window.
    pub cpu_spread: Spreads,
    /// How its memory did.
    pub memory_spread: Spreads,
}

/// A subject over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Subject.
    pub subject: String,
    /// Middle of the first bin, s since arm.
    pub from_s: f64,
    /// Width of a bin, s.
    pub step_s: f64,
    /// CPUs, median over the runs.
    pub cpus: Vec<Option<f64>>,
    /// Memory in bytes, median over the runs.
    pub memory: Vec<Option<f64>>,
}

/// Reads the usage table of the runs that count.
pub(crate) fn read(
    results: &Results,
    counted: &Counted,
) -> Result<Vec<DeploymentUsage>, JudgeError> {
    let mut by: BTreeMap<usize, BTreeMap<u32, Tracks>> = BTreeMap::new();
    let mut idle: BTreeMap<u32, Tracks> = BTreeMap::new();
    let mut others: BTreeMap<u32, Tracks> = BTreeMap::new();
    results.scan(|row: UsageRow| {
        if counted.latency(row.run).is_some() {
            let subject: &str = &row.subject;
            let (runs, subject) = if let Some(program) = subject.strip_prefix(IDLE) {
                (&mut idle, format!("{ENGINE}{program}"))
            } else if let Some(program) = subject.strip_prefix(OTHER) {
                (&mut others, program.to_owned())
            } else {
                let runs = by.entry(counted.rank(&row.deployment)).or_default();
                (runs, subject.to_owned())
            };
            let tracks = runs.entry(row.run).or_default();
            let track = tracks.entry(subject).or_default();
            track.push((row.t_ns, row.cpu_ns, row.memory_bytes));
        }
    })?;
    modules::add(results, counted, &mut by)?;
    sort(&mut idle);
    sort(&mut others);
    let views = by.into_iter().map(|(rank, mut runs)| {
        sort(&mut runs);
        let window = |run: u32| {
            let run = counted.latency(run);
            let block = run.map_or(0, |r| r.block);
            (block, run.and_then(|r| r.window_ns))
        };
        DeploymentUsage {
            deployment: counted.id(rank).to_owned(),
            runs: runs
                .iter()
                .map(|(run, tracks)| RunUsage {
                    others: others
                        .get(run)
                        .map_or_else(BTreeMap::new, |tracks| used(tracks, i64::MIN..=i64::MAX).0),
                    ..of_run(*run, window(*run), tracks, idle.get(run))
                })
                .collect(),
            series: over_time(&runs),
        }
    });
    Ok(views.collect())
}

fn sort(runs: &mut BTreeMap<u32, Tracks>) {
    for track in runs.values_mut().flat_map(BTreeMap::values_mut) {
        track.sort_unstable();
    }
}

/// The program of the engine that a row is of; `None` for other rows.
#[must_use]
pub fn engine_program(subject: &str) -> Option<&str> {
    subject.strip_prefix(ENGINE)?.strip_prefix(": ")
}

fn is_service(subject: &str) -> bool {
    let apart = engine_program(subject).is_some() || module(subject).is_some();
    ![MACHINE, ENGINE, STOWPLAN].contains(&subject) && !apart
}

/// Usage per subject.
type BySubject = BTreeMap<String, f64>;

/// CPUs and highest memory of each subject within these instants.
fn used(tracks: &Tracks, within: RangeInclusive<i64>) -> (BySubject, BySubject) {
    let (mut cpus, mut memory) = (BySubject::new(), BySubject::new());
    for (subject, track) in tracks {
        let inside = || track.iter().filter(|(t, ..)| within.contains(t));
        let known = |(t, cpu, _): &(i64, Option<u64>, Option<u64>)| Some((*t, (*cpu)?));
        let first = inside().find_map(known);
        let last = inside().rev().find_map(known);
        if let (Some((t0, cpu0)), Some((t1, cpu1))) = (first, last)
            && t1 > t0
        {
            let share = cpu1.saturating_sub(cpu0) as f64 / (t1 - t0) as f64;
            cpus.insert(subject.clone(), share);
        }
        if let Some(highest) = inside().filter_map(|(_, _, memory)| *memory).max() {
            memory.insert(subject.clone(), highest as f64);
        }
    }
    (cpus, memory)
}

/// CPUs of each subject from the sample before t0 to the last, over one and the same time: what a subject used that came
/// after t0 counts from its beginning. `None` where nothing was sampled before t0.
fn used_by_start(tracks: &Tracks) -> Option<BySubject> {
    let machine = tracks.get(MACHINE)?;
    let (from, to) = (before_t0(machine)?.0, machine.last()?.0);
    let share = |track: &Track| {
        let last = track.iter().rev().find_map(|(_, cpu, _)| *cpu)?;
        let first = before_t0(track).and_then(|sample| sample.1).unwrap_or(0);
        Some(last.saturating_sub(first) as f64 / (to - from) as f64)
    };
    let shares = tracks
        .iter()
        .filter_map(|(subject, track)| Some((subject.clone(), share(track)?)));
    (to > from).then(|| shares.collect())
}

/// The last sample before t0.
fn before_t0(track: &Track) -> Option<&(i64, Option<u64>, Option<u64>)> {
    track.iter().take_while(|(t, ..)| *t <= 0).last()
}

/// `end` is that of the window, `None` where a start alone was measured.
fn of_run(
    run: u32,
    (block, end): (u32, Option<i64>),
    tracks: &Tracks,
    idle: Option<&Tracks>,
) -> RunUsage {
    let is_start_alone = end.is_none();
    let end = end.unwrap_or(i64::MAX);
    let (mut cpus, memory) = used(tracks, 0..=end);
    let (cpu_spread, memory_spread) = spreads(tracks, &(0..=end));
    if is_start_alone && let Some(by_start) = used_by_start(tracks) {
        cpus = by_start;
    }
    let idle = idle.map(|tracks| used(tracks, i64::MIN..=0));
    let (idle_cpus, idle_memory) = idle.unwrap_or_default();
    let mut usage = RunUsage {
        run,
        block,
        cpus,
        memory,
        idle_cpus,
        idle_memory,
        others: BTreeMap::new(),
        cpu_spread,
        memory_spread,
    };
    let services = || tracks.iter().filter(|(subject, _)| is_service(subject));
    let count = services().count();
    let sum = |of: &BTreeMap<String, f64>| {
        let known: Vec<f64> = services().filter_map(|(s, _)| of.get(s)).copied().collect();
        // A sum of some of the services would look like a lower figure.
        (count > 0 && known.len() == count).then(|| known.iter().sum())
    };
    let cpus: Option<f64> = sum(&usage.cpus);
    usage.cpus.extend(cpus.map(|c| (SERVICES.to_owned(), c)));
    let highest = services()
        .flat_map(|(_, track)| track.iter().map(|(t, ..)| *t))
        .filter(|t| (0..=end).contains(t))
        .filter_map(|t| services().map(|(_, track)| memory_at(track, t)).sum())
        .max_by(f64::total_cmp);
    usage
        .memory
        .extend(highest.map(|m| (SERVICES.to_owned(), m)));
    usage
}

/// The last memory known at `t`.
fn memory_at(track: &Track, t: i64) -> Option<f64> {
    let next = track.partition_point(|sample| sample.0 <= t);
    track[..next]
        .iter()
        .rev()
        .find_map(|s| s.2)
        .map(|m| m as f64)
}

/// CPU time at `t`, between the samples around it; `None` outside.
fn cpu_at(track: &[(i64, u64)], t: i64) -> Option<f64> {
    let next = track.partition_point(|sample| sample.0 <= t);
    let (t0, cpu0) = *track.get(next.checked_sub(1)?)?;
    if t0 == t {
        return Some(cpu0 as f64);
    }
    let (t1, cpu1) = *track.get(next)?;
    let share = (t - t0) as f64 / (t1 - t0) as f64;
    Some(cpu0 as f64 * (1.0 - share) + cpu1 as f64 * share)
}

struct Grid {
    from: i64,
    step: i64,
    bins: usize,
}

impl Grid {
    fn over(runs: &BTreeMap<u32, Tracks>) -> Option<Self> {
        let tracks = || runs.values().flat_map(BTreeMap::values);
        let from = tracks().filter_map(|t| Some(t.first()?.0)).min()?;
        let to = tracks().filter_map(|t| Some(t.last()?.0)).max()?;
        let samples = tracks().map(Vec::len).max()?;
        let bins = samples.saturating_sub(1).clamp(1, BINS);
        let step = (to - from) / i64::try_from(bins).ok()?;
        (step > 0).then_some(Self { from, step, bins })
    }

    fn edge(&self, bin: usize) -> i64 {
        self.from + self.step * i64::try_from(bin).unwrap_or(i64::MAX)
    }

    fn cpus(&self, track: &Track) -> Vec<Option<f64>> {
        let known: Vec<(i64, u64)> = track
            .iter()
            .filter_map(|(t, cpu, _)| Some((*t, (*cpu)?)))
            .collect();
        let edges: Vec<Option<f64>> = (0..=self.bins)
            .map(|bin| cpu_at(&known, self.edge(bin)))
            .collect();
        edges
            .windows(2)
            .map(|pair| Some((pair[1]? - pair[0]?) / self.step as f64))
            .collect()
    }

    fn memory(&self, track: &Track) -> Vec<Option<f64>> {
        (0..self.bins)
            .map(|bin| {
                let end = self.edge(bin + 1);
                // Past its last sample a subject has ended.
                let lives = track.last().is_some_and(|s| s.0 >= self.edge(bin));
                lives.then(|| memory_at(track, end)).flatten()
            })
            .collect()
    }
}

fn over_time(runs: &BTreeMap<u32, Tracks>) -> Vec<Series> {
    let Some(grid) = Grid::over(runs) else {
        return Vec::new();
    };
    // Per subject, per bin: the runs' values.
    let mut cpus: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    let mut memory: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for tracks in runs.values() {
        let mut sums = (vec![Some(0.0); grid.bins], vec![Some(0.0); grid.bins]);
        for (subject, track) in tracks {
            let values = (grid.cpus(track), grid.memory(track));
            if is_service(subject) {
                add(&mut sums.0, &values.0);
                add(&mut sums.1, &values.1);
            }
            keep(&mut cpus, subject, &values.0);
            keep(&mut memory, subject, &values.1);
        }
        if tracks.keys().any(|subject| is_service(subject)) {
            keep(&mut cpus, SERVICES, &sums.0);
            keep(&mut memory, SERVICES, &sums.1);
        }
    }
    let mut series: Vec<Series> = cpus
        .into_iter()
        .map(|(subject, bins)| Series {
            from_s: (grid.from + grid.step / 2) as f64 / 1e9,
            step_s: grid.step as f64 / 1e9,
            cpus: bins.into_iter().map(median).collect(),
            memory: memory
                .remove(&subject)
                .unwrap_or_default()
                .into_iter()
                .map(median)
                .collect(),
            subject,
        })
        .collect();
    let order = |subject: &str| match subject {
        SERVICES => 0,
        MACHINE => 1,
        ENGINE => 2,
        program if engine_program(program).is_some() => 3,
        STOWPLAN => 4,
        of_module if module(of_module).is_some() => 5,
        _ => 6,
    };
    series.sort_by(|a, b| (order(&a.subject), &a.subject).cmp(&(order(&b.subject), &b.subject)));
    series
}

fn add(sums: &mut [Option<f64>], values: &[Option<f64>]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.zip(*value).map(|(a, b)| a + b);
    }
}

fn keep(into: &mut BTreeMap<String, Vec<Vec<f64>>>, subject: &str, values: &[Option<f64>]) {
    let bins = into
        .entry(subject.to_owned())
        .or_insert_with(|| vec![Vec::new(); values.len()]);
    for (bin, value) in bins.iter_mut().zip(values) {
        bin.extend(*value);
    }
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sorted::new(values).ok().map(|sorted| sorted.quantile(0.5))
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two services of half a CPU and a quarter, sampled every second at odd instants.
    fn tracks() -> Tracks {
        let track = |share: u64, shift: i64| -> Track {
            (0..=10_i64)
                .map(|i| {
                    let t = i * 1_000_000_000 + shift;
                    let cpu = u64::try_from(t).unwrap() / 100 * share;
                    (t, Some(cpu), Some(1_000 * share))
                })
                .collect()
        };
        BTreeMap::from([
            ("a".to_owned(), track(50, 0)),
            ("b".to_owned(), track(25, 7_000)),
            (MACHINE.to_owned(), track(90, 0)),
        ])
    }

    #[test]
    fn cpu_is_time_over_time_and_services_are_summed() {
        let usage = of_run(1, (1, Some(8_000_000_000)), &tracks(), None);
        assert!((usage.cpus["a"] - 0.5).abs() < 1e-9);
        assert!((usage.cpus[SERVICES] - 0.75).abs() < 1e-9);
        assert!((usage.memory[SERVICES] - 75_000.0).abs() < 1e-9);
        assert!((usage.memory[MACHINE] - 90_000.0).abs() < 1e-9);
    }

    #[test]
    fn all_that_a_start_used_is_over_one_and_the_same_time() {
        let at = |t_ms: i64, cpu_ms: u64| (t_ms * 1_000_000, Some(cpu_ms * 1_000_000), Some(1));
        let tracks = Tracks::from([
            (
                MACHINE.to_owned(),
                vec![at(-1, 0), at(200, 150), at(999, 1_500)],
            ),
            // It was seen first when half of what it used was used, and ended before the last sample.
            ("a".to_owned(), vec![at(600, 400), at(800, 800)]),
            (STOWPLAN.to_owned(), vec![at(-1, 50), at(999, 150)]),
        ]);
        let run = of_run(1, (1, None), &tracks, None);
        assert!((run.cpus[MACHINE] - 1.5).abs() < 1e-9);
        assert!((run.cpus[SERVICES] - 0.8).abs() < 1e-9);
        assert!((run.cpus[STOWPLAN] - 0.1).abs() < 1e-9);
    }

    #[test]
    fn the_engine_is_no_service_and_no_rest() {
        let mut tracks = tracks();
        let engine = tracks["a"].clone();
        tracks.insert(ENGINE.to_owned(), engine.clone());
        tracks.insert("engine: shim".to_owned(), engine);
        let idle = tracks["b"].iter().map(|(t, ..)| (*t, Some(0), None));
        let idle = idle.collect();
        tracks.insert(STOWPLAN.to_owned(), idle);
        let run = of_run(1, (1, Some(8_000_000_000)), &tracks, None);
        assert!((run.cpus[SERVICES] - 0.75).abs() < 1e-9);
        let usage = DeploymentUsage {
            deployment: String::new(),
            runs: vec![run],
            series: Vec::new(),
        };
        // 0.9 of the machine, 0.75 of services, half a CPU of the engine: what is measured twice is below nothing.
        assert!((usage.rest_cpus().unwrap() + 0.35).abs() < 1e-9);
    }

    #[test]
    fn others_are_named_by_what_they_used_in_all_runs() {
        let run = |others: &[(&str, f64)]| RunUsage {
            others: others
                .iter()
                .map(|(p, cpus)| ((*p).to_owned(), *cpus))
                .collect(),
            ..RunUsage::default()
        };
        let usage = DeploymentUsage {
            deployment: String::new(),
            runs: vec![
                run(&[("editor", 0.25), ("linker", 0.5)]),
                run(&[("editor", 0.75)]),
            ],
            series: Vec::new(),
        };
        assert_eq!(usage.others(), [("editor", 0.5), ("linker", 0.25)]);
    }

    #[test]
    fn what_the_engine_used_before_is_told_apart_from_the_window() {
        let idle = |t: i64, cpu| (t * 1_000_000_000, Some(cpu), Some(500));
        let idle = vec![idle(-9, 0), idle(-8, 20_000_000)];
        let idle = Tracks::from([(ENGINE.to_owned(), idle)]);
        let mut tracks = tracks();
        tracks.insert(ENGINE.to_owned(), tracks["a"].clone());
        let usage = DeploymentUsage {
            deployment: String::new(),
            runs: vec![of_run(1, (1, Some(8_000_000_000)), &tracks, Some(&idle))],
            series: Vec::new(),
        };
        assert!((usage.idle_cpus(ENGINE).unwrap() - 0.02).abs() < 1e-9);
        assert!((usage.cpus(ENGINE).unwrap() - 0.5).abs() < 1e-9);
        assert!((usage.idle_memory(ENGINE).unwrap() - 500.0).abs() < 1e-9);
        assert_eq!(usage.idle_cpus("engine: shim"), None);
    }

    #[test]
    fn a_service_without_figures_leaves_the_sum_unknown() {
        let mut tracks = tracks();
        for sample in tracks.get_mut("b").unwrap() {
            (sample.1, sample.2) = (None, None);
        }
        let usage = of_run(1, (1, Some(8_000_000_000)), &tracks, None);
        assert_eq!(usage.cpus.get(SERVICES), None);
        assert_eq!(usage.memory.get(SERVICES), None);
    }

    #[test]
    fn series_are_cpus_per_bin() {
        let series = over_time(&BTreeMap::from([(1, tracks()), (2, tracks())]));
        let subjects: Vec<&str> = series.iter().map(|s| &*s.subject).collect();
        assert_eq!(subjects, [SERVICES, MACHINE, "a", "b"]);
        // The sum is not known in the first bin, where b has no sample yet.
        assert_eq!(series[0].cpus[0], None);
        assert!((series[0].cpus[4].unwrap() - 0.75).abs() < 1e-6);
        assert!((series[2].cpus[0].unwrap() - 0.5).abs() < 1e-6);
        assert!((series[3].memory[5].unwrap() - 25_000.0).abs() < 1e-9);
    }
}
