//! What the file says of itself, and what no trace of `ros2_tracing` has: sizes, reliability.

use std::collections::BTreeSet;

use stowplan_model::{Profile, units};
use stowplan_trace::{Analysis, LinkMethod};

use super::Options;
use super::observe::Observed;
use crate::draft::{Draft, DraftQos, Figure};
use crate::facts::{Facts, TopicFacts};
use crate::fit::Fitted;

/// What a topic has where the trace says nothing else: rclcpp's default.
pub(super) const QOS: DraftQos = DraftQos {
    reliable: true,
    depth: 10,
    transient_local: false,
};

/// A history that keeps all has depth 0 in a trace.
const KEEP_ALL: u32 = 1000;

/// The size of every message, as no trace has it.
pub(super) fn unknown_size() -> Figure {
    let because = "traces of ros2_tracing have no message sizes: give those that matter";
    Figure::assumed(1_000, 64, 1_000_000, because)
}

/// The quality of service of a topic if it is not the common one: the depth that most of its
/// subscriptions have, the greater one of equally many.
pub(super) fn own_qos(depths: &[u64]) -> Option<DraftQos> {
    let count = |depth: u64| depths.iter().filter(|d| **d == depth).count();
    let depth = depths.iter().copied().max_by_key(|&d| (count(d), d))?;
    let depth = match u32::try_from(depth) {
        Ok(0) => KEEP_ALL,
        Ok(depth) => depth,
        Err(_) => u32::MAX,
    };
    (depth != QOS.depth).then_some(DraftQos { depth, ..QOS })
}

/// The release that recorded the trace: by the services that every node has, else by the version of
/// tracetools.
pub(super) fn profile(analysis: &Analysis) -> Profile {
    let graph = &analysis.graph;
    let of_jazzy = graph
        .services
        .iter()
        .any(|(_, service)| service.name.ends_with("/get_type_description"));
    if of_jazzy {
        return Profile::Jazzy;
    }
    if !graph.topics.iter().any(|(_, name)| name == "/rosout") {
        return Profile::Minimal;
    }
    let versions = analysis.tracetools_versions();
    let major = versions
        .first()
        .and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(0..4) => Profile::Galactic,
        _ => Profile::Humble,
    }
}

/// Topics whose messages were handed over by pointer.
pub(super) fn handed_over(analysis: &Analysis) -> BTreeSet<&str> {
    let graph = &analysis.graph;
    let takes = analysis.records.takes.iter();
    takes
        .filter(|(_, take)| {
            take.link
                .is_some_and(|l| l.method == LinkMethod::RingBuffer)
        })
        .map(|(_, take)| graph.topics[graph.subscriptions[take.subscription].topic].as_str())
        .collect()
}

pub(super) fn topic_comment(topic: &TopicFacts) -> String {
    match topic.per_s {
        Some(per_s) => format!("{per_s:.4}/s"),
        None if topic.publications == 0 => "no publication in the trace".to_owned(),
        None => "one publication".to_owned(),
    }
}

/// The comment at the head of the file.
pub(super) fn head(
    observed: &Observed<'_>,
    draft: &Draft,
    facts: &Facts,
    options: &Options,
    outside: usize,
) -> Vec<String> {
    let analysis = observed.analysis;
    let versions = analysis.tracetools_versions().join(", ");
    let window = facts.window_ns as f64;
    let mut head = vec![
        format!(
            "{}: learnt from a trace by `stowplan trace learn`.",
            draft.name
        ),
        String::new(),
        format!(
            "From the trace (tracetools {versions}, {} events, of which the steady {} count): nodes, processes, component containers, topics with their rates and the depth of most of their subscriptions, timers, callbacks and what they publish, the launch.",
            analysis.events,
            units::show_ns(window)
        ),
        "Assumed, because the trace does not have it:".to_owned(),
    ];
    if analysis.marks.callback_cpu.is_empty() {
        head.push("- work: the tenth percentile of the wall durations, less what sending a message took at least (its tenth percentile); where calls differ, a log-normal spread with the tenth percentile and median of the trace. Without scheduler events this is an upper bound of the CPU time; the range is from the least duration to the ninetieth percentile".to_owned());
    }
    head.extend([
        format!(
            "- an iteration of the work kernel takes {:.3} ns, as on the machine that wrote this file: callbacks then take as long as they did in the trace",
            options.ns_per_iteration
        ),
        "- messages have 1 kB and are reliable; give sizes that matter under topics".to_owned(),
        "- a timer that publishes uses what its node stores".to_owned(),
        "- modules are the first parts of namespaces (attributed: false)".to_owned(),
        "- nodes map no libraries and keep no memory at start, as far as this file says".to_owned(),
    ]);
    if outside > 0 {
        head.push(format!(
            "- {outside} topics come from programs that are not in the trace; the node `outside` stands for them"
        ));
    }
    if let Some(reason) = &facts.launch_reason {
        head.push(format!("- launching costs nothing: {reason}"));
    }
    if analysis.discarded_events() > 0 {
        head.push(format!(
            "The tracer discarded {} events: rates are too low by what is missing.",
            analysis.discarded_events()
        ));
    }
    head
}

/// What a fit changed.
pub(super) fn fitted(fitted: &Fitted) -> String {
    let launch = fitted.stretch.map_or_else(String::new, |stretch| {
        format!(
            "; its launch takes {stretch:.2} times as long as in the trace, so that what a machine adds to it leaves its shares"
        )
    });
    format!(
        "Fitted to runs: the work of {} callbacks is corrected by how long their calls took, {} topics have a cost of serialising for what sending took longer in the trace{launch}.",
        fitted.callbacks, fitted.topics
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_subscriptions_decide_the_depth() {
        let depth = |depths: &[u64]| own_qos(depths).map(|qos| qos.depth);
        assert_eq!(depth(&[]), None);
        assert_eq!(depth(&[10, 10, 1]), None);
        assert_eq!(depth(&[1, 1, 10]), Some(1));
        assert_eq!(depth(&[1, 5]), Some(5));
        assert_eq!(depth(&[0]), Some(KEEP_ALL));
    }
}
