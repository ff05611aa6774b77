//! What sources replay, in the plans of services.

use std::rc::Rc;

use stowplan_model::{CallbackRef, Name};
use stowplan_wire::service::{ProcessPlan, RecordingPlan, ReplayPlan, TriggerPlan};

/// What one source replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedInput {
    /// The source.
    pub callback: CallbackRef,
    /// Topic whose messages have the recorded sizes; `None` where the source publishes nothing.
    pub topic: Option<String>,
    /// When each message is due, ns since arming, and its size in bytes.
    pub messages: Rc<Vec<(u64, u64)>>,
}

/// File of what the callback with this number replays.
fn file(id: u32) -> String {
    format!("source-{id}.replay")
}

/// Largest message that is replayed on a topic, bytes.
pub(crate) fn largest(inputs: &[ReplayedInput], topic: &str) -> u64 {
    let on_it = inputs
        .iter()
        .filter(|input| input.topic.as_deref() == Some(topic));
    let sizes = on_it.flat_map(|input| input.messages.iter().map(|(_, bytes)| *bytes));
    sizes.max().unwrap_or(0)
}

/// What the callback with this number replays; `index` is that of a topic.
pub(crate) fn planned(
    inputs: &[ReplayedInput],
    (node, callback): (&Name, &Name),
    id: u32,
    index: impl Fn(&str) -> Option<u32>,
) -> Option<ReplayPlan> {
    let input = inputs
        .iter()
        .find(|input| input.callback.is(node, callback))?;
    Some(ReplayPlan {
        file: file(id),
        topic: input.topic.as_deref().and_then(index),
    })
}

/// The recordings that these processes replay.
pub(crate) fn recordings(
    inputs: &[ReplayedInput],
    processes: &[ProcessPlan],
) -> Vec<RecordingPlan> {
    let nodes = processes.iter().flat_map(|process| &process.nodes);
    let callbacks = nodes.flat_map(|node| node.callbacks.iter().map(move |c| (node, c)));
    let recordings = callbacks.filter_map(|(node, callback)| {
        let TriggerPlan::Timer { replay, .. } = &callback.trigger else {
            return None;
        };
        let file = replay.as_ref()?.file.clone();
        let input = inputs.iter().find(|input| {
            let at = &input.callback;
            at.node.as_str() == node.name && at.callback.as_str() == callback.name
        })?;
        Some(RecordingPlan {
            file,
            messages: input.messages.to_vec(),
        })
    });
    recordings.collect()
}
