//! What an experiment replays, and how long its chains took for that.

use std::collections::BTreeSet;

use stowplan_measure::ReplayedInput;
use stowplan_model::{CallbackRef, Name, Stack, Trigger};
use stowplan_replay::{Bag, Replayed};
use stowplan_results::{Better, LatencyRow, MeasurementRow, ScheduledRun};

use crate::error::ExperimentError;
use crate::request::Request;

/// Window after the last message that is replayed, for what chains still make of it.
const TAIL_NS: u64 = 1_000_000_000;

/// Name of the figure.
const EXECUTION_TIME: &str = "replay_execution_time";

impl Request {
    /// The request with what the stack replays of its bag. Without a window of its own it has one that is as long as what is
    /// replayed, and a second.
    ///
    /// # Errors
    /// When the bag cannot be read, or nothing of it can be replayed.
    pub fn replaying(self, window_ns: Option<u64>) -> Result<Self, ExperimentError> {
        let Some(replay) = &self.options.replay else {
            return Ok(self);
        };
        if window_ns == Some(0) {
            return Err(ExperimentError::Name {
                what: "a bag is replayed in a window, and a start alone has none: leave out the bag, or the window of 0"
                    .to_owned(),
            });
        }
        let bag = Bag::read(&replay.bag)?;
        let replayed = Replayed::find(&bag, self.spec()?.stack(), &replay.topics)?;
        Ok(Self {
            window_ns: window_ns.unwrap_or(replayed.length_ns + TAIL_NS),
            replayed: Some(replayed),
            ..self
        })
    }

    /// What the sources of the stack replay, read from the bag.
    pub(crate) fn replayed_inputs(&self) -> Result<Vec<ReplayedInput>, ExperimentError> {
        let Some(replayed) = &self.replayed else {
            return Ok(Vec::new());
        };
        let inputs = replayed.sources.iter().zip(replayed.messages()?);
        let inputs = inputs.map(|(source, messages)| {
            Some(ReplayedInput {
                callback: CallbackRef {
                    node: Name::new(&source.node).ok()?,
                    callback: Name::new(&source.callback).ok()?,
                },
                topic: source.topic.clone(),
                messages: messages.into(),
            })
        });
        let wrong = || ExperimentError::Name {
            what: "a source that the request replays has a name that is none".to_owned(),
        };
        inputs.map(|input| input.ok_or_else(wrong)).collect()
    }

    /// What is replayed, as the earlier request `own` has it for its stack.
    pub(crate) fn replayed_as(&self, own: &Self) -> Result<Option<Replayed>, String> {
        match (&self.replayed, &own.replayed) {
            (None, None) => Ok(None),
            (Some(new), Some(old)) if new.sha256 == old.sha256 => Ok(Some(Replayed {
                bag: new.bag.clone(),
                ..old.clone()
            })),
            (Some(new), Some(old)) => Err(format!(
                "it replayed another bag: SHA-256 {}, not {}",
                old.sha256, new.sha256
            )),
            (Some(_), None) => Err("it replayed no bag".to_owned()),
            (None, Some(old)) => Err(format!(
                "it replayed {}, and this one replays nothing",
                old.bag.display()
            )),
        }
    }
}

/// What of the stack replays nothing, where something does.
pub(crate) fn warnings(request: &Request, stack: &Stack) -> Vec<String> {
    let replayed = request.replayed.as_ref();
    let others = replayed.map_or_else(Vec::new, |replayed| replayed.not_replayed(stack));
    if others.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "{} sources of the stack are not in the bag and keep their periods: {}",
        others.len(),
        others.join(", ")
    )]
}

/// Callbacks that what is replayed reaches: the sources, and what takes or uses what they and others make of it.
fn reached(stack: &Stack, replayed: &Replayed) -> BTreeSet<(String, String)> {
    let mut reached: BTreeSet<(String, String)> = BTreeSet::new();
    let mut topics: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = reached.len();
        for node in &stack.nodes {
            for callback in &node.callbacks {
                let key = (node.name.to_string(), callback.name.to_string());
                let replays = |(n, c): (&String, &String)| *n == key.0 && *c == key.1;
                let mut sources = replayed.sources.iter();
                let uses = |used: &Name| reached.contains(&(key.0.clone(), used.to_string()));
                let is_reached = sources.any(|s| replays((&s.node, &s.callback)))
                    || callback.uses.iter().any(uses)
                    || matches!(&callback.trigger, Trigger::Subscription { topic } if topics.contains(&**topic));
                if is_reached {
                    topics.extend(callback.publishes.iter().map(String::as_str));
                    reached.insert(key);
                }
            }
        }
        if reached.len() == before {
            return reached;
        }
    }
}

/// From the first message that was replayed, which is due when the measurement begins, to the last first output that rests on
/// one: of each chain that what is replayed reaches, and of all.
pub(crate) fn execution_rows(
    run: &ScheduledRun,
    stack: &Stack,
    replayed: &Replayed,
    window_ns: u64,
    latency: &[LatencyRow],
) -> Vec<MeasurementRow> {
    let reached = reached(stack, replayed);
    let chains = stack.chains.iter().filter(|chain| {
        let mut first = chain.callbacks.iter();
        let first = first.next();
        first.is_some_and(|at| reached.contains(&(at.node.to_string(), at.callback.to_string())))
    });
    let length_ns = i64::try_from(replayed.length_ns).unwrap_or(i64::MAX);
    let last = |chain: &str| {
        let rows = latency.iter().filter(|row| &*row.chain == chain);
        let rests = rows.filter(|row| (0..=length_ns).contains(&row.origin_ns));
        rests.filter_map(|row| row.output_ns).max()
    };
    let lasts: Vec<(String, Option<i64>)> = chains
        .map(|chain| (chain.name.to_string(), last(chain.name.as_str())))
        .collect();
    let of_all = lasts.iter().filter_map(|(_, last)| *last).max();
    let cut = (window_ns < replayed.length_ns)
        .then_some("the window ended before everything was replayed");
    let row = |subject: Option<&str>, last: Option<i64>| {
        let missing = cut.or(last
            .is_none()
            .then_some("no output of a chain rests on a message that was replayed"));
        MeasurementRow {
            subject: subject.map(Into::into),
            value: last.filter(|_| missing.is_none()).map(|ns| ns as f64),
            reason: missing.map(Into::into),
            ..MeasurementRow::new(run, EXECUTION_TIME, "ns", Better::Lower, 0.0)
        }
    };
    let mut rows = vec![row(None, of_all)];
    rows.extend(lasts.iter().map(|(chain, last)| row(Some(chain), *last)));
    rows
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
