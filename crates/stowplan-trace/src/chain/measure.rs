//! Outputs, inputs, reaction and data age of a chain.

use super::fate::{self, Fate, StopCause};
use super::find;
use super::follow::{self, BreakReason, Level};
use super::parts::{self, Parts, Step};
use super::spec::Chain;
use crate::analysis::Analysis;
use crate::holes::Holes;
use crate::ids::{CallbackId, InstanceId, ProcessId, TopicId};
use crate::record::Confidence;
use crate::window::Window;

/// What reaction, data age and the window are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The sensor's release of each input.
    Release,
    /// The start of the first callback, because the trace does not have the
    /// release of every input.
    Start,
}

/// One output of a chain and the way to its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainInstance {
    /// Index of its input in [`ChainResult::inputs`].
    pub input: usize,
    /// Callback by callback.
    pub steps: Vec<Step>,
    /// Sums of the steps.
    pub parts: Parts,
    /// When the output was published, or the last callback ended if it never publishes.
    pub output_ns: i64,
    /// Start of the first callback → output, as betz2024.
    pub e2e_ns: i64,
    /// The sensor's release → output; `None` where the trace has no release.
    pub e2e_full_ns: Option<i64>,
    /// Age of the data at the output, nanoseconds since [`ChainResult::reference`].
    pub age_ns: i64,
    /// Age of the same data when the next output replaces it; `None` for the last output, and where events
    /// between the two may have been discarded.
    pub age_until_next_ns: Option<i64>,
    /// The least sure of its links.
    pub confidence: Confidence,
}

/// One input of a chain: an instance of its first callback.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainInput {
    /// The instance.
    pub instance: InstanceId,
    /// Start of the callback.
    pub start_ns: i64,
    /// The sensor's release; `None` where the trace does not have it.
    pub release_ns: Option<i64>,
    /// What became of it.
    pub fate: Fate,
    /// Number of outputs that rest on it.
    pub outputs: u32,
    /// Until the first output that rests on it or on a later input, nanoseconds
    /// since [`ChainResult::reference`]; `None` if there is none in the trace.
    pub reaction_ns: Option<i64>,
    /// Mean of the end-to-end latencies of its outputs, as betz2024, nanoseconds.
    pub mean_e2e_ns: Option<f64>,
    /// Whether events that matter to it may have been discarded.
    pub touched_by_discard: bool,
}

/// An output that does not count: events are missing on its way, or times on it are of clocks
/// that do not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Instance of the last callback.
    pub output: InstanceId,
    /// Why.
    pub reason: String,
}

/// An output whose way back ends before the first callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// Instance of the last callback.
    pub output: InstanceId,
    /// Number of the callback whose data's origin is not known, from 0.
    pub at: usize,
    /// Why.
    pub reason: BreakReason,
}

/// All instances of a chain in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainResult {
    /// The chain.
    pub chain: Chain,
    /// The window that was asked for; it holds the reference instants of all inputs.
    pub window: Window,
    /// What times are counted from.
    pub reference: Reference,
    /// Longest reaction seen: inputs this close to the window's end are left out.
    pub longest_reaction_ns: Option<i64>,
    /// Reference instants of the inputs that are left out by that.
    pub left_out_ns: Vec<i64>,
    /// Inputs in order.
    pub inputs: Vec<ChainInput>,
    /// One per output that rests on one of the inputs, by output time.
    pub instances: Vec<ChainInstance>,
    /// Outputs that do not count.
    pub invalid: Vec<Invalid>,
    /// Outputs in the window that cannot be followed to an input.
    pub broken: Vec<Broken>,
    /// Longest reaction of the inputs.
    pub max_reaction_ns: Option<i64>,
    /// Longest age of the data at an output.
    pub max_age_at_output_ns: Option<i64>,
    /// Longest age of the data in effect at any time between outputs.
    pub max_age_ns: Option<i64>,
}

impl Analysis {
    /// From the publication that begins the flow of messages to the output, nanoseconds: that of the message on which the first
    /// callback ran; where no message starts that, its own publication on the chain. CARET and Trace Compass count from it.
    /// `None` where the message has no link.
    #[must_use]
    pub fn since_publication_ns(&self, instance: &ChainInstance) -> Option<i64> {
        let first = instance.steps.first()?;
        let published_ns = match self.records.instances[first.instance].take {
            Some(take) => {
                let link = self.records.takes[take].link?;
                self.records.publications[link.publication].time_ns
            }
            None => first.start_ns + first.computation_ns,
        };
        Some(instance.output_ns - published_ns)
    }
}

/// Inputs that an output rests on none of, by where they ended and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedInputs {
    /// Number of the last callback that they reached, from 0.
    pub after: usize,
    /// Why they went no further.
    pub cause: StopCause,
    /// How many.
    pub inputs: u64,
}

impl ChainResult {
    /// Inputs on which no output rests, the most first.
    #[must_use]
    pub fn stopped(&self) -> Vec<StoppedInputs> {
        let mut all: Vec<StoppedInputs> = Vec::new();
        for input in &self.inputs {
            let Fate::Stopped { after, cause } = input.fate else {
                continue;
            };
            let known = all
                .iter_mut()
                .find(|s| (s.after, s.cause) == (after, cause));
            match known {
                Some(stopped) => stopped.inputs += 1,
                None => all.push(StoppedInputs {
                    after,
                    cause,
                    inputs: 1,
                }),
            }
        }
        all.sort_by_key(|stopped| (std::cmp::Reverse(stopped.inputs), stopped.after));
        all
    }

    /// Share of the inputs that gave at least one output; `None` without inputs.
    #[must_use]
    pub fn consumed_share(&self) -> Option<f64> {
        let used = self.inputs.iter().filter(|i| i.fate == Fate::Used).count();
        (!self.inputs.is_empty()).then(|| used as f64 / self.inputs.len() as f64)
    }
}

/// An output before the window is applied. There are many: the way between its ends is found again where it is needed.
struct Output {
    time_ns: i64,
    /// Index of its instance in the last level.
    last: u32,
    /// Index of its input in the first level.
    first: u32,
}

impl Analysis {
    /// Every instance of a chain whose input was released in a window.
    #[must_use]
    pub fn measure(&self, chain: Chain, window: Window) -> ChainResult {
        let levels = follow::levels(self, &chain);
        let (outputs, broken) = self.outputs(&chain, &levels, window);
        let first = &levels[0].instances;
        let mut used = vec![false; first.len()];
        for output in &outputs {
            used[output.first as usize] = true;
        }
        let reference = self.reference(first, window);
        let fates = fate::fates(self, &chain, &levels, &used);
        let mut inputs = self.inputs(first, &fates, reference);
        reactions(&mut inputs, &outputs, reference);
        let longest_reaction_ns = inputs
            .iter()
            .filter(|i| window.contains(i.reference_ns(reference)))
            .filter_map(|i| i.reaction_ns)
            .max();
        let counted = window
            .to_ns
            .saturating_sub(longest_reaction_ns.unwrap_or(0));
        let kept: Vec<Option<usize>> = keep(&inputs, window, counted, reference);
        let left_out_ns = inputs
            .iter()
            .map(|i| i.reference_ns(reference))
            .filter(|&r| window.contains(r) && r > counted)
            .collect();
        let way = ChainProcesses::new(self, &chain);
        touched(&mut inputs, &way, longest_reaction_ns);
        let mut kept_inputs: Vec<ChainInput> = inputs
            .into_iter()
            .zip(&kept)
            .filter_map(|(input, kept)| kept.map(|_| input))
            .collect();
        let (mut instances, invalid) =
            self.instances(&way, &levels, outputs, &kept, &kept_inputs, reference);
        if way.clocks.is_some() {
            kept_inputs.iter_mut().for_each(|i| i.reaction_ns = None);
        }
        until_next(&way, &mut instances);
        means(&mut kept_inputs, &instances);
        ChainResult {
            max_reaction_ns: kept_inputs
                .iter()
                .filter(|i| !i.touched_by_discard)
                .filter_map(|i| i.reaction_ns)
                .max(),
            max_age_at_output_ns: instances.iter().map(|i| i.age_ns).max(),
            max_age_ns: instances.iter().filter_map(|i| i.age_until_next_ns).max(),
            chain,
            window,
            reference,
            longest_reaction_ns,
            left_out_ns,
            inputs: kept_inputs,
            instances,
            invalid,
            broken,
        }
    }

    /// Outputs by time, and those that cannot be followed to an input.
    fn outputs(
        &self,
        chain: &Chain,
        levels: &[Level],
        window: Window,
    ) -> (Vec<Output>, Vec<Broken>) {
        let last = &levels[levels.len() - 1];
        let publishes = self.publishes_at_all(chain.callbacks[chain.callbacks.len() - 1]);
        let mut outputs = Vec::new();
        let mut broken = Vec::new();
        for (index, &id) in last.instances.iter().enumerate() {
            let Some(time_ns) = self.output_time(chain.output, id, publishes) else {
                continue;
            };
            match follow::path(levels, index) {
                Ok(path) => outputs.push(Output {
                    time_ns,
                    last: index as u32,
                    first: path[0] as u32,
                }),
                Err((at, reason)) if window.contains(time_ns) => broken.push(Broken {
                    output: id,
                    at,
                    reason,
                }),
                Err(_) => {}
            }
        }
        outputs.sort_by_key(|output| output.time_ns);
        (outputs, broken)
    }

    /// When an instance of the last callback gave its output.
    fn output_time(
        &self,
        topic: Option<TopicId>,
        instance: InstanceId,
        publishes: bool,
    ) -> Option<i64> {
        if topic.is_none() && !publishes {
            return self.records.instances[instance].end_ns.get();
        }
        follow::publications_of(self, instance)
            .filter(|(_, publication)| {
                let of = self.graph.publishers[publication.publisher].topic;
                match topic {
                    Some(topic) => of == Some(topic),
                    None => !self.is_implicit(of),
                }
            })
            .map(|(_, publication)| publication.time_ns)
            .last()
    }

    fn publishes_at_all(&self, callback: CallbackId) -> bool {
        self.records.publications.iter().any(|(_, publication)| {
            publication
                .instance
                .is_some_and(|id| self.records.instances[id].callback == callback)
                && !self.is_implicit(self.graph.publishers[publication.publisher].topic)
        })
    }

    pub(crate) fn is_implicit(&self, topic: Option<TopicId>) -> bool {
        find::is_implicit(&self.graph, topic)
    }

    /// The release counts only if every input has one: mixed, they do not compare.
    fn reference(&self, first: &[InstanceId], window: Window) -> Reference {
        let all = first
            .iter()
            .filter(|&&id| window.contains(self.records.instances[id].start_ns))
            .all(|&id| self.release_of(id).is_some());
        if all {
            Reference::Release
        } else {
            Reference::Start
        }
    }

    /// The sensor's release of an input: of its own timer, or of the callback
    /// that published the message that starts it.
    fn release_of(&self, id: InstanceId) -> Option<i64> {
        let instance = &self.records.instances[id];
        instance.release_ns.get().or_else(|| {
            let link = self.records.takes[instance.take?].link?;
            let source = self.records.publications[link.publication].instance?;
            self.records.instances[source].release_ns.get()
        })
    }

    fn inputs(
        &self,
        first: &[InstanceId],
        fates: &[Fate],
        reference: Reference,
    ) -> Vec<ChainInput> {
        first
            .iter()
            .zip(fates)
            .map(|(&instance, &fate)| ChainInput {
                instance,
                start_ns: self.records.instances[instance].start_ns,
                release_ns: match reference {
                    Reference::Release => self.release_of(instance),
                    Reference::Start => None,
                },
                fate,
                outputs: 0,
                reaction_ns: None,
                mean_e2e_ns: None,
                touched_by_discard: false,
            })
            .collect()
    }

    fn instances(
        &self,
        way: &ChainProcesses,
        levels: &[Level],
        outputs: Vec<Output>,
        kept: &[Option<usize>],
        inputs: &[ChainInput],
        reference: Reference,
    ) -> (Vec<ChainInstance>, Vec<Invalid>) {
        let mut instances = Vec::new();
        let mut invalid = Vec::new();
        for output in outputs {
            let Some(input) = kept[output.first as usize] else {
                continue;
            };
            let Ok(path) = follow::path(levels, output.last as usize) else {
                continue;
            };
            let from = &inputs[input];
            let from_ns = from.reference_ns(reference);
            let lost = way.touched(from_ns.min(from.start_ns), output.time_ns)
                || follow::is_doubtful(levels, &path);
            let reason = match &way.clocks {
                _ if lost => Some("events were discarded on its way"),
                clocks => clocks.as_deref(),
            };
            if let Some(reason) = reason {
                let last = &levels[levels.len() - 1];
                invalid.push(Invalid {
                    output: last.instances[output.last as usize],
                    reason: reason.to_owned(),
                });
                continue;
            }
            let (steps, confidence) = parts::steps(self, levels, &path, output.time_ns);
            instances.push(ChainInstance {
                input,
                parts: Parts::of(&steps),
                steps,
                output_ns: output.time_ns,
                e2e_ns: output.time_ns - from.start_ns,
                e2e_full_ns: from.release_ns.map(|release| output.time_ns - release),
                age_ns: output.time_ns - from_ns,
                age_until_next_ns: None,
                confidence,
            });
        }
        (instances, invalid)
    }
}

impl ChainInput {
    fn reference_ns(&self, reference: Reference) -> i64 {
        match reference {
            Reference::Release => self.release_ns.unwrap_or(self.start_ns),
            Reference::Start => self.start_ns,
        }
    }
}

/// The processes of a chain, where their events may be missing, and whether their times
/// compare.
struct ChainProcesses {
    holes: Option<Holes>,
    /// Which clocks on it do not agree, in words.
    clocks: Option<String>,
    processes: Vec<ProcessId>,
}

impl ChainProcesses {
    fn new(analysis: &Analysis, chain: &Chain) -> Self {
        let process = |&callback: &CallbackId| analysis.graph.callbacks[callback].process;
        let hosts: Vec<&str> = chain
            .callbacks
            .iter()
            .map(|callback| {
                analysis.graph.processes[process(callback)]
                    .key
                    .host
                    .as_str()
            })
            .collect();
        let apart = |ends: &[&str]| {
            let mut clocks = analysis.clocks.iter();
            let clocks = clocks.find(|clocks| clocks.is_between(ends[0], ends[1]))?;
            let (a, b) = (&clocks.ahead, &clocks.behind);
            Some(format!("the clocks of hosts {a} and {b} differ"))
        };
        Self {
            clocks: hosts.windows(2).find_map(apart),
            holes: (!analysis.discards.is_empty())
                .then(|| Holes::new(&analysis.graph, &analysis.discards)),
            processes: chain.callbacks.iter().map(process).collect(),
        }
    }

    fn touched(&self, from_ns: i64, to_ns: i64) -> bool {
        self.holes.as_ref().is_some_and(|holes| {
            let mut processes = self.processes.iter();
            processes.any(|&process| holes.touch(process, from_ns, to_ns))
        })
    }
}

/// Marks inputs whose way may have lost events.
fn touched(inputs: &mut [ChainInput], way: &ChainProcesses, longest_ns: Option<i64>) {
    for input in inputs {
        let from_ns = input.release_ns.unwrap_or(input.start_ns);
        let after = input.reaction_ns.or(longest_ns);
        let to_ns = after.map_or(i64::MAX, |after| from_ns.saturating_add(after));
        input.touched_by_discard = way.touched(from_ns, to_ns);
    }
}

/// Data is in effect from its output to the next one.
fn until_next(way: &ChainProcesses, instances: &mut [ChainInstance]) {
    let next: Vec<i64> = instances.iter().skip(1).map(|i| i.output_ns).collect();
    for (instance, next_ns) in instances.iter_mut().zip(next) {
        if !way.touched(instance.output_ns, next_ns) {
            instance.age_until_next_ns = Some(instance.age_ns + next_ns - instance.output_ns);
        }
    }
}

/// Reaction of every input: to the first output that rests on it or a later one.
fn reactions(inputs: &mut [ChainInput], outputs: &[Output], reference: Reference) {
    let mut first: Vec<Option<i64>> = vec![None; inputs.len()];
    for output in outputs {
        let entry = &mut first[output.first as usize];
        *entry = Some(entry.map_or(output.time_ns, |time| time.min(output.time_ns)));
    }
    let mut later: Option<i64> = None;
    for (input, own) in inputs.iter_mut().zip(first).rev() {
        later = match (own, later) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        input.reaction_ns = later.map(|time| time - input.reference_ns(reference));
    }
}

/// The new index of each input that counts.
fn keep(
    inputs: &[ChainInput],
    window: Window,
    counted_to_ns: i64,
    reference: Reference,
) -> Vec<Option<usize>> {
    let mut next = 0;
    inputs
        .iter()
        .map(|input| {
            let at = input.reference_ns(reference);
            (window.contains(at) && at <= counted_to_ns).then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}

/// Number of outputs and mean latency of every input.
fn means(inputs: &mut [ChainInput], instances: &[ChainInstance]) {
    let mut sums = vec![0_i64; inputs.len()];
    for instance in instances {
        sums[instance.input] += instance.e2e_ns;
        inputs[instance.input].outputs += 1;
    }
    for (input, sum) in inputs.iter_mut().zip(sums) {
        input.mean_e2e_ns = (input.outputs > 0).then(|| sum as f64 / f64::from(input.outputs));
    }
}
