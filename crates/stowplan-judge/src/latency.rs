//! Latencies of chains: pooled to describe, one figure per run to compare.

use std::collections::BTreeMap;

use stowplan_results::{Label, LatencyRow, OutputRow, Results, RunRow};
use stowplan_stats::{DEFAULT_POINTS, Moments, Sketch, Sorted, Summary};

use crate::averages::over_blocks;
use crate::counted::Counted;
use crate::error::JudgeError;

/// A figure of a chain instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Start of callback 0 → last publication (the papers' end-to-end latency).
    E2ePaper,
    /// Callback end → start of the timer callback that uses the data.
    Idle,
    /// Publication → start of the callback that takes the message.
    Communication,
    /// Callback start → publication.
    Computation,
    /// Sensor's release → last publication.
    E2eFull,
    /// First part of communication: until the sample is handed to the transport.
    Send,
    /// Second part: until it is in the reader's cache.
    Transport,
    /// Third part: until the executor starts the callback.
    Wait,
    /// Release → first output based on this input or on a later one.
    Reaction,
    /// Age of the oldest origin in an output, at its publication; of every output.
    DataAge,
    /// Age of the same data when the next output replaces it.
    AgeUntilNext,
    /// Mean over the outputs of an input (the papers' figure per input).
    MeanOverOutputs,
}

impl Part {
    /// All of them; the first four are those of the papers' table.
    pub const ALL: [Self; 12] = [
        Self::E2ePaper,
        Self::Idle,
        Self::Communication,
        Self::Computation,
        Self::E2eFull,
        Self::Send,
        Self::Transport,
        Self::Wait,
        Self::Reaction,
        Self::DataAge,
        Self::AgeUntilNext,
        Self::MeanOverOutputs,
    ];

    /// Name in metrics and in the page's data.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::E2ePaper => "e2e_paper",
            Self::Idle => "idle",
            Self::Communication => "communication",
            Self::Computation => "computation",
            Self::E2eFull => "e2e_full",
            Self::Send => "send",
            Self::Transport => "transport",
            Self::Wait => "wait",
            Self::Reaction => "reaction",
            Self::DataAge => "data_age",
            Self::AgeUntilNext => "age_until_next",
            Self::MeanOverOutputs => "mean_over_outputs",
        }
    }

    /// Name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::E2ePaper => "E2E",
            Self::Idle => "Idle",
            Self::Communication => "Communication",
            Self::Computation => "Computation",
            Self::E2eFull => "E2E from release",
            Self::Send => "Send",
            Self::Transport => "Transport",
            Self::Wait => "Wait",
            Self::Reaction => "Reaction",
            Self::DataAge => "Data age",
            Self::AgeUntilNext => "Data age until the next output",
            Self::MeanOverOutputs => "Mean over outputs",
        }
    }

    /// Of an input; `None` for what is of an output.
    fn of(self, row: &LatencyRow) -> Option<i64> {
        match self {
            Self::E2ePaper => row.e2e_paper_ns,
            Self::Idle => row.idle_ns,
            Self::Communication => row.communication_ns,
            Self::Computation => row.computation_ns,
            Self::E2eFull => row.e2e_full_ns,
            Self::Send => row.send_ns,
            Self::Transport => row.transport_ns,
            Self::Wait => row.wait_ns,
            Self::Reaction => row.reaction_ns,
            Self::DataAge | Self::AgeUntilNext => None,
            Self::MeanOverOutputs => row.mean_over_outputs_ns,
        }
    }
}

/// A chain in one deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainLatency {
    /// Chain.
    pub chain: String,
    /// Id of the deployment.
    pub deployment: String,
    /// Inputs that count, over all finished runs.
    pub inputs: u64,
    /// Those of them that a newer message replaced.
    pub overwritten: u64,
    /// Those of them on which no output rests, for whatever reason.
    pub without_output: u64,
    /// Those after which no output came while events were recorded: their reaction is longer than any that is known.
    pub unanswered: u64,
    /// Those that missed the chain's deadline; `None` where it has none.
    pub late: Option<u64>,
    /// Inputs left out, because released too late in the window or otherwise not valid.
    pub left_out: u64,
    /// Figures that the samples carry.
    pub parts: Vec<PartFigures>,
    /// One entry per run.
    pub runs: Vec<RunFigures>,
}

impl ChainLatency {
    /// One part, where there are samples of it.
    #[must_use]
    pub fn part(&self, part: Part) -> Option<&PartFigures> {
        self.parts.iter().find(|figures| figures.part == part)
    }

    /// Mean of a part over the blocks, ns, as comparisons have it: each block counts once, whatever number of instances it
    /// has.
    #[must_use]
    pub fn mean_of_blocks(&self, part: Part) -> Option<f64> {
        let runs = self.runs.iter();
        let means = runs.filter_map(|run| Some((run.block, run.parts.get(&part)?.mean?)));
        over_blocks(means)
    }
}

/// One part of a chain's latency, pooled over the runs of a deployment: description only.
#[derive(Debug, Clone, PartialEq)]
pub struct PartFigures {
    /// Which.
    pub part: Part,
    /// In ns.
    pub summary: Summary,
    /// In ns.
    pub sketch: Sketch,
}

/// What one run contributes to comparisons.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    /// Run.
    pub run: u32,
    /// Block.
    pub block: u32,
    /// Per part, in ns.
    pub parts: BTreeMap<Part, Summary>,
    /// Standard deviation of the time between neighbouring outputs, ns; `None` with fewer than three outputs.
    pub jitter_ns: Option<f64>,
    /// Inputs that count.
    pub inputs: u64,
    /// Those of them on which no output rests, for whatever reason.
    pub without_output: u64,
    /// Those after which no output came while events were recorded.
    pub unanswered: u64,
    /// Those that missed the chain's deadline: its reaction took longer, or never came. `None` where the chain has no deadline.
    pub late: Option<u64>,
}

#[derive(Default)]
struct Samples {
    parts: BTreeMap<Part, Vec<f64>>,
    /// Between neighbouring outputs, ns.
    intervals: Moments,
    inputs: u64,
    overwritten: u64,
    without_output: u64,
    unanswered: u64,
    /// Of the chain.
    deadline_ns: Option<u64>,
    past_deadline: u64,
    left_out: u64,
}

impl Samples {
    fn add(&mut self, row: &LatencyRow) {
        if !row.valid {
            self.left_out += 1;
            return;
        }
        self.inputs += 1;
        self.overwritten += u64::from(row.overwritten);
        self.without_output += u64::from(row.output_ns.is_none());
        self.unanswered += u64::from(row.reaction_ns.is_none());
        let reaction = row.reaction_ns.and_then(|ns| u64::try_from(ns).ok());
        let is_late = |deadline| reaction.is_none_or(|ns| ns > deadline);
        self.past_deadline += u64::from(self.deadline_ns.is_some_and(is_late));
        for part in Part::ALL {
            if let Some(ns) = part.of(row) {
                self.sample(part, ns);
            }
        }
    }

    /// Inputs that missed the deadline, where there is one.
    fn late(&self) -> Option<u64> {
        self.deadline_ns.map(|_| self.past_deadline)
    }

    fn add_output(&mut self, row: &OutputRow) {
        let age = row.data_age_ns;
        self.sample(Part::DataAge, age);
        if let Some(until_next) = row.age_until_next_ns {
            self.sample(Part::AgeUntilNext, until_next);
            self.intervals.push((until_next - age) as f64);
        }
    }

    fn sample(&mut self, part: Part, ns: i64) {
        self.parts.entry(part).or_default().push(ns as f64);
    }
}

/// Reads the inputs and outputs of the runs that count.
pub(crate) fn read(results: &Results, counted: &Counted) -> Result<Vec<ChainLatency>, JudgeError> {
    let mut samples: BTreeMap<(Label, Label), BTreeMap<u32, Samples>> = BTreeMap::new();
    let deadlines = &results.experiment.stack.deadlines_ns;
    results.scan(|row: LatencyRow| {
        if counted.latency(row.run).is_some() {
            let chains = samples.entry((row.chain.clone(), row.deployment.clone()));
            let runs = chains.or_default();
            let deadline_ns = deadlines.get(&*row.chain).copied();
            let new = || Samples {
                deadline_ns,
                ..Samples::default()
            };
            runs.entry(row.run).or_insert_with(new).add(&row);
        }
    })?;
    results.scan(|row: OutputRow| {
        let chain = samples.get_mut(&(row.chain.clone(), row.deployment.clone()));
        if let Some(run) = chain.and_then(|runs| runs.get_mut(&row.run)) {
            run.add_output(&row);
        }
    })?;
    let mut chains = Vec::new();
    for ((chain, deployment), runs) in samples {
        chains.push(one_chain(&chain, &deployment, runs, counted)?);
    }
    chains.sort_by_key(|c| (counted.chain_rank(&c.chain), counted.rank(&c.deployment)));
    Ok(chains)
}

fn one_chain(
    chain: &str,
    deployment: &str,
    samples: BTreeMap<u32, Samples>,
    counted: &Counted,
) -> Result<ChainLatency, JudgeError> {
    let what = |part: Part| format!("{} of {chain} in {deployment}", part.label());
    let mut runs = Vec::new();
    for (number, samples) in &samples {
        let Some(run) = counted.latency(*number) else {
            continue;
        };
        runs.push(one_run(run, samples, &what)?);
    }
    let mut pooled: BTreeMap<Part, Vec<f64>> = BTreeMap::new();
    let sum = |of: fn(&Samples) -> u64| samples.values().map(of).sum();
    let (inputs, overwritten) = (sum(|s| s.inputs), sum(|s| s.overwritten));
    let (without_output, left_out) = (sum(|s| s.without_output), sum(|s| s.left_out));
    let unanswered = sum(|s| s.unanswered);
    let late = samples.values().map(Samples::late).sum();
    for run in samples.into_values() {
        for (part, values) in run.parts {
            pooled.entry(part).or_default().extend(values);
        }
    }
    let mut parts = Vec::new();
    for (part, values) in pooled {
        let sorted = Sorted::new(values).map_err(JudgeError::stats(what(part)))?;
        let sketch = Sketch::new(&sorted, DEFAULT_POINTS);
        parts.push(PartFigures {
            part,
            summary: Summary::of_sorted(&sorted),
            sketch: sketch.map_err(JudgeError::stats(what(part)))?,
        });
    }
    Ok(ChainLatency {
        chain: chain.to_owned(),
        deployment: deployment.to_owned(),
        inputs,
        overwritten,
        without_output,
        unanswered,
        late,
        left_out,
        parts,
        runs,
    })
}

fn one_run(
    run: &RunRow,
    samples: &Samples,
    what: &dyn Fn(Part) -> String,
) -> Result<RunFigures, JudgeError> {
    let mut parts = BTreeMap::new();
    for (part, values) in &samples.parts {
        let summary = Summary::of(values.clone()).map_err(JudgeError::stats(what(*part)))?;
        parts.insert(*part, summary);
    }
    Ok(RunFigures {
        run: run.run,
        block: run.block,
        parts,
        jitter_ns: samples.intervals.std().ok(),
        inputs: samples.inputs,
        without_output: samples.without_output,
        unanswered: samples.unanswered,
        late: samples.late(),
    })
}
