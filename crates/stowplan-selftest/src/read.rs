//! From the results of a selftest's experiments to what their comparisons say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stowplan_judge::{Figures, Judgement, Part as Figure, RunFigures};
use stowplan_results::{
    CallbackRow, InjectedDifference, Results, RunStatus, SELFTEST_SCHEMA, Selftest,
    SelftestComparison, SelftestKind, SelftestSubject,
};
use stowplan_stats::{Delta, Direction, Rule, Scale, Sorted, compare};

use crate::design::{Design, Part, single};
use crate::error::SelftestError;
use crate::judge::{counts, criteria};
use crate::target::Target;

/// The primary metric of questions on latency.
const METRIC: &str = "e2e_paper_mean";

/// What a reader has to know about the comparisons.
const DEPENDENCE: &str = "Every pair of equal deployments has runs of its own. Each experiment with a difference has one \
reference for two comparisons, that with more work and that with more idle time, which so share the reference's runs; \
comparisons of one kind share none.";

/// How far an experiment of a selftest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Nothing of it can go on.
    NotBegun,
    /// It has runs to do.
    Begun {
        /// Its folder.
        result: PathBuf,
        /// Runs that are not finished.
        left: usize,
    },
    /// Every run is finished.
    Done,
}

/// How far an experiment is.
///
/// # Errors
/// When its result cannot be read.
pub fn progress(folder: &Path, part: Part) -> Result<Progress, SelftestError> {
    let Some(result) = Design::result(folder, part) else {
        return Ok(Progress::NotBegun);
    };
    let results = Results::open(&result)?;
    let runs = results.runs.iter();
    let finished = runs.filter(|r| r.status == RunStatus::Finished).count();
    let left = results.experiment.schedule.len().saturating_sub(finished);
    Ok(match left {
        0 => Progress::Done,
        left => Progress::Begun { result, left },
    })
}

/// Reads and judges all experiments in the folder of a selftest.
///
/// # Errors
/// When one of them gives no comparison, was measured elsewhere than the others, or cannot be read.
///
/// # Panics
/// When no difference is fixed: then not all of them have been measured.
pub fn selftest(folder: &Path, design: &Design) -> Result<Selftest, SelftestError> {
    let stack = design.stack()?;
    let target = Target::find(&stack)?;
    let mut comparisons = Vec::new();
    let mut last: Option<Read> = None;
    for part in design.parts() {
        let read = Read::open(folder, part)?;
        if last.as_ref().is_some_and(|last| !last.same_station(&read)) {
            return Err(SelftestError::OtherStation {
                result: read.result,
            });
        }
        comparisons.extend(read.comparisons(design, &target)?);
        last = Some(read);
    }
    let experiment = last
        .expect("a selftest has experiments")
        .judgement
        .figures
        .experiment;
    let injected = design.injected.clone();
    let equal = comparisons.iter().filter(|c| c.kind == SelftestKind::Equal);
    let median_half_width = median(equal.map(SelftestComparison::half_width).collect())?;
    let counts = counts(&comparisons);
    let criteria = criteria(&counts, median_half_width)?;
    Ok(Selftest {
        schema: SELFTEST_SCHEMA.to_owned(),
        stowplan_version: experiment.stowplan_version,
        build_id: experiment.build_id,
        measured_unix_s: experiment.created_unix_s,
        machine: experiment.machine,
        passed: criteria.iter().all(|c| c.passed),
        criteria,
        median_half_width,
        counts,
        injected: injected.expect("the difference is fixed before it is injected"),
        subject: SelftestSubject {
            stack: experiment.stack.name,
            stack_sha256: experiment.stack.sha256,
            place: design.ask.place.clone(),
            partition: single(&stack)?.name,
            chain: target.chain,
            metric: METRIC.to_owned(),
            blocks: design.ask.blocks,
            window_s: design.ask.window_ns as f64 / 1e9,
            seed: design.ask.seed,
        },
        dependence: DEPENDENCE.to_owned(),
        comparisons,
    })
}

/// An experiment that was measured.
pub(crate) struct Read {
    result: PathBuf,
    part: Part,
    pub(crate) judgement: Judgement,
    callbacks: Vec<CallbackRow>,
}

impl Read {
    pub(crate) fn open(folder: &Path, part: Part) -> Result<Self, SelftestError> {
        let result = Design::result(folder, part).ok_or_else(|| SelftestError::NotCompared {
            result: folder.join(part.name()),
            metric: METRIC,
            why: "it was not begun".to_owned(),
        })?;
        let results = Results::open(&result)?;
        Ok(Self {
            part,
            judgement: Judgement::read(&results)?,
            callbacks: results.callbacks()?,
            result,
        })
    }

    /// Whether the machine, its kernel and the node program are those of another.
    fn same_station(&self, other: &Self) -> bool {
        let (a, b) = (
            &self.judgement.figures.experiment,
            &other.judgement.figures.experiment,
        );
        let program = |e: &stowplan_results::Experiment| e.digests.get("stowplan-node").cloned();
        a.machine.is_same_as(&b.machine)
            && a.machine.kernel == b.machine.kernel
            && program(a) == program(b)
    }

    /// Its comparisons, one for each kind.
    pub(crate) fn comparisons(
        &self,
        design: &Design,
        target: &Target,
    ) -> Result<Vec<SelftestComparison>, SelftestError> {
        let candidates = self.part.candidates().iter();
        candidates
            .map(|(kind, variant)| {
                let injected = design.injected.as_ref();
                self.comparison(*kind, variant, injected, target)
            })
            .collect()
    }

    fn comparison(
        &self,
        kind: SelftestKind,
        variant: &str,
        injected: Option<&InjectedDifference>,
        target: &Target,
    ) -> Result<SelftestComparison, SelftestError> {
        let missing = |why: String| SelftestError::NotCompared {
            result: self.result.clone(),
            metric: METRIC,
            why,
        };
        let id = |variant: &str| {
            let mut all = self.judgement.figures.experiment.deployments.iter();
            all.find(|d| d.variant.as_deref() == Some(variant))
                .map(|d| d.id.clone())
                .ok_or_else(|| missing(format!("there is no deployment '{variant}'")))
        };
        let (reference, candidate) = (id("reference")?, id(variant)?);
        let found = self.judgement.comparisons.iter().find(|c| {
            c.metric == METRIC
                && c.subject.as_deref() == Some(target.chain.as_str())
                && c.reference == reference
                && c.candidate == candidate
        });
        let too_few = || missing("fewer than two blocks have a run of both deployments".to_owned());
        let found = found.ok_or_else(too_few)?;
        let (Some(difference), Some(low), Some(high)) = (found.difference, found.low, found.high)
        else {
            return Err(too_few());
        };
        let blocks = Blocks::of(
            &self.judgement.figures,
            &target.chain,
            &reference,
            &candidate,
        );
        let ns = compare(&in_ns(), &blocks.reference, &blocks.candidate)?;
        let (Some(low_ns), Some(high_ns)) = (ns.low, ns.high) else {
            return Err(too_few());
        };
        let injected_ns = match (kind, injected) {
            (SelftestKind::Equal, _) | (_, None) => 0.0,
            (SelftestKind::Idle, Some(injected)) => injected.ns as f64,
            (SelftestKind::Work, Some(_)) => {
                let worker = target.worker.to_string();
                let both = (reference.as_str(), candidate.as_str());
                self.work_ns(&worker, both, &blocks.numbers)
                    .ok_or_else(|| missing(format!("CPU time of {worker} was not recorded")))?
            }
        };
        Ok(SelftestComparison {
            kind,
            result: name(&self.result),
            reference,
            candidate,
            blocks: blocks.numbers.len() as u64,
            difference,
            low,
            high,
            flagged: low > 0.0 || high < 0.0,
            verdict: found.verdict,
            injected_ns,
            difference_ns: ns.estimate,
            low_ns,
            high_ns,
            covered: low_ns <= injected_ns && injected_ns <= high_ns,
        })
    }

    /// What the iterations that were injected took, ns: the mean over the blocks of the difference of the worker's CPU
    /// time per call, as the kernel accounts it to the thread. That of the calibration would not do: a core that has
    /// slept works more slowly for a while, and has lost what it had in its caches.
    fn work_ns(&self, worker: &str, both: (&str, &str), blocks: &[u32]) -> Option<f64> {
        let mut cpu: BTreeMap<(&str, u32), f64> = BTreeMap::new();
        for row in &self.callbacks {
            let node = row.node.as_deref().unwrap_or_default();
            if worker
                .strip_prefix(node)
                .and_then(|rest| rest.strip_prefix('/'))
                == Some(&*row.callback)
            {
                cpu.insert((&row.deployment, row.block), row.cpu_mean_ns?);
            }
        }
        let differences = blocks
            .iter()
            .map(|block| Some(cpu.get(&(both.1, *block))? - cpu.get(&(both.0, *block))?))
            .collect::<Option<Vec<f64>>>()?;
        Some(differences.iter().sum::<f64>() / differences.len() as f64)
    }
}

/// How differences in ns are compared. The injected difference is equal in ns in every block, while its ratio to the
/// latency is greater in blocks whose phases let data wait less: this interval is the one that has to hold it.
fn in_ns() -> Rule {
    Rule {
        metric: METRIC.to_owned(),
        scale: Scale::Difference,
        direction: Direction::LowerIsBetter,
        delta: Delta::default(),
        seed: 0,
        pilot: None,
    }
}

/// Figures of a chain, run by run, in every deployment.
pub(crate) fn in_chain<'a>(
    figures: &'a Figures,
    chain: &'a str,
) -> impl Iterator<Item = &'a RunFigures> {
    let views = figures.latency.iter().filter(move |c| c.chain == chain);
    views.flat_map(|c| &c.runs)
}

/// The metric in the blocks in which both deployments have it.
struct Blocks {
    numbers: Vec<u32>,
    reference: Vec<f64>,
    candidate: Vec<f64>,
}

impl Blocks {
    fn of(figures: &Figures, chain: &str, reference: &str, candidate: &str) -> Self {
        let mean = |deployment: &str, block: u32| {
            let mut views = figures.latency.iter();
            let view = views.find(|c| c.chain == chain && c.deployment == deployment)?;
            let run = view.runs.iter().find(|r| r.block == block)?;
            run.parts.get(&Figure::E2ePaper)?.mean
        };
        let mut blocks = Self {
            numbers: Vec::new(),
            reference: Vec::new(),
            candidate: Vec::new(),
        };
        for block in 1..=figures.experiment.blocks_planned {
            if let (Some(a), Some(b)) = (mean(reference, block), mean(candidate, block)) {
                blocks.numbers.push(block);
                blocks.reference.push(a);
                blocks.candidate.push(b);
            }
        }
        blocks
    }
}

fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The median; an error without values.
pub(crate) fn median(values: Vec<f64>) -> Result<f64, SelftestError> {
    Ok(Sorted::new(values)?.quantile(0.5))
}
