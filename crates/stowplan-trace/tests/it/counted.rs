//! What is counted in bounded memory is what the whole analysis has, on traces of
//! real ROS 2 systems, and what is computed from babeltrace2's text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use stowplan_trace::{
    Analysis, CallbackId, ChainResult, Endpoint, Gaps, Overview, Pair, Reading, Window,
};

/// Everything that both have must be equal.
fn counted_equals_whole(name: &str, from: Endpoint<'_>, to: Endpoint<'_>) {
    let Some(folder) = stowplan_testkit::kept_trace(name) else {
        return;
    };
    let whole = Analysis::from_ctf(folder.path()).unwrap();
    let mut pairs = Vec::new();
    let counted = Overview::from_ctf_with_pairs(folder.path(), Reading::default(), |_, pair| {
        pairs.push(*pair);
    })
    .unwrap();
    assert_eq!(counted.events, whole.events);
    assert_eq!(counted.gaps, whole.records.gaps);
    assert_eq!(counted.callback_summaries(), whole.callback_summaries());
    assert_eq!(*counted.link_summary(), whole.link_summary());
    assert_eq!(counted.topic_summaries(), whole.topic_summaries());
    assert_eq!(
        counted.find_chains(from, to, 50),
        whole.find_chains(from, to, 50)
    );
    assert_eq!(pairs, pairs_of(&whole));
    chains_equal(folder.path(), &whole, &counted, (from, to));
    let events: u64 = counted.contents.by_event.values().sum();
    assert_eq!(events, counted.events);
    callbacks_are_equal(folder.path(), &counted);
    threads_change_nothing(folder.path());
}

/// Callbacks are the same where messages are not followed.
fn callbacks_are_equal(folder: &Path, all: &Overview) {
    let alone = Overview::of_callbacks(folder, Reading::default()).unwrap();
    assert_eq!(alone.callback_summaries(), all.callback_summaries());
    let cpu = |overview: &Overview| {
        let of = overview.marks.callback_cpu.iter();
        of.map(|(&id, cpu)| (id, (cpu.calls, cpu.cpu_ns)))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(cpu(&alone), cpu(all));
    assert_eq!(alone.contents.by_event, all.contents.by_event);
    assert_eq!(alone.extent, all.extent);
    let of_calls = |gaps: &Gaps| (gaps.ends_without_start, gaps.starts_without_end);
    assert_eq!(of_calls(&alone.gaps), of_calls(&all.gaps));
}

/// Everything that was counted, links in their order included.
fn with_threads(folder: &Path, threads: usize) -> String {
    let reading = Reading {
        threads: NonZeroUsize::new(threads).unwrap(),
        ..Reading::default()
    };
    let mut pairs = Vec::new();
    let counted =
        Overview::from_ctf_with_pairs(folder, reading, |_, pair| pairs.push(*pair)).unwrap();
    format!(
        "{:?}{:?}{:?}{:?}{:?}{:?}{:?}{pairs:?}",
        counted.contents,
        counted.gaps,
        counted.extent,
        counted.callback_summaries(),
        counted.link_summary(),
        counted.topic_summaries(),
        counted.edge_summaries(),
    )
}

fn threads_change_nothing(folder: &Path) {
    let alone = with_threads(folder, 1);
    // Not by `assert_eq`: the texts are long.
    assert!(with_threads(folder, 2) == alone, "2 threads");
    assert!(with_threads(folder, 4) == alone, "4 threads");
}

/// Chains measured on what was kept for them are those of the whole.
fn chains_equal(
    folder: &Path,
    whole: &Analysis,
    counted: &Overview,
    (from, to): (Endpoint<'_>, Endpoint<'_>),
) {
    let found = counted.find_chains(from, to, 5).chains;
    let chains = || found.iter().map(|found| &found.chain);
    let kept = Analysis::of_chains(folder, Reading::default(), counted, chains()).unwrap();
    for chain in chains() {
        let a = whole.measure(chain.clone(), Window::ALWAYS);
        let b = kept.measure(chain.clone(), Window::ALWAYS);
        assert_eq!(a.summary(), b.summary());
        assert_eq!(
            (a.inputs.len(), &a.left_out_ns),
            (b.inputs.len(), &b.left_out_ns)
        );
        assert_eq!(
            (a.broken.len(), a.max_age_ns),
            (b.broken.len(), b.max_age_ns)
        );
        let fates = |result: &ChainResult| result.inputs.iter().map(|i| i.fate).collect::<Vec<_>>();
        assert_eq!(fates(&a), fates(&b));
    }
}

fn pairs_of(analysis: &Analysis) -> Vec<Pair> {
    let takes = analysis.records.takes.iter();
    takes
        .filter_map(|(_, take)| {
            let link = take.link?;
            let publication = &analysis.records.publications[link.publication];
            Some(Pair {
                published_ns: publication.time_ns,
                taken_ns: take.time_ns,
                publisher: publication.publisher,
                subscription: take.subscription,
                stamp: take.stamp.get(),
                method: link.method,
                confidence: link.confidence,
            })
        })
        .collect()
}

#[test]
fn talker_and_listener() {
    let (from, to) = (Endpoint::Node("talker"), Endpoint::Node("listener"));
    counted_equals_whole("humble-talker_listener", from, to);
}

#[test]
fn services() {
    let (from, to) = (Endpoint::Node("talker"), Endpoint::Node("listener"));
    counted_equals_whole("humble-svc", from, to);
}

#[test]
fn chain_over_processes() {
    let (from, to) = (Endpoint::Node("stage0"), Endpoint::Node("stage4"));
    counted_equals_whole("humble-chain_perpid", from, to);
}

#[test]
fn containers() {
    let from = Endpoint::Node("FrontLidarDriver");
    let to = Endpoint::Node("ObjectCollisionEstimator");
    counted_equals_whole("humble-ab_ctr_r1", from, to);
}

#[test]
fn traced_middleware() {
    let (from, to) = (Endpoint::Node("source"), Endpoint::Node("sink"));
    counted_equals_whole("tracecompass-ros2", from, to);
}

#[test]
fn caret() {
    let from = Endpoint::Node("sensor_dummy_node");
    let to = Endpoint::Node("actuator_dummy_node");
    counted_equals_whole("caret-end-to-end", from, to);
}

/// Without being asked for, the chain over all stages is the longest; in the reference system the
/// hot path's end is reached from a sensor.
#[test]
fn the_longest_chains_are_found() {
    let longest = |name: &str| {
        let folder = stowplan_testkit::kept_trace(name)?;
        let overview = Overview::from_ctf(folder.path(), Reading::default()).unwrap();
        let chains = overview.longest_chains(3);
        let names = |callbacks: &[CallbackId]| -> Vec<String> {
            let all = callbacks.iter();
            all.map(|&callback| overview.graph.describe(callback))
                .collect()
        };
        Some(names(&chains.first().unwrap().chain.callbacks))
    };
    let Some(stages) = longest("humble-chain_perpid") else {
        return;
    };
    let wanted = [
        "/stage0 timer 5000000 ns",
        "/stage1 subscription /c0",
        "/stage2 subscription /c1",
        "/stage3 subscription /c2",
        "/stage4 subscription /c3",
    ];
    assert_eq!(stages, wanted);
    let Some(system) = longest("humble-ab_ctr_r1") else {
        return;
    };
    assert!(
        system[0].starts_with("/FrontLidarDriver timer"),
        "{system:?}"
    );
    assert_eq!(system.len(), 11);
    assert!(system[10].starts_with("/VehicleDBWSystem"), "{system:?}");
}

/// What babeltrace2's text says of a trace, by nothing but text.
#[derive(Default)]
struct FromText {
    /// Durations by process and address of the callback.
    durations: BTreeMap<(i64, String), Vec<i64>>,
    /// rcl's handle of a subscription by process and address of rclcpp's object.
    handles: HashMap<(i64, String), String>,
    /// rclcpp's object by process and address of its callback.
    objects: HashMap<(i64, String), String>,
    nodes: u64,
    topics: BTreeSet<String>,
    unfinished: u64,
}

impl FromText {
    /// Durations by callback: rclcpp has two of a subscription that gets messages inside the process.
    fn by_callback(&self) -> BTreeMap<(i64, String), Vec<i64>> {
        let mut all: BTreeMap<(i64, String), Vec<i64>> = BTreeMap::new();
        for (key, durations) in &self.durations {
            let object = self.objects.get(key);
            let handle = object.and_then(|object| self.handles.get(&(key.0, object.clone())));
            let name = handle.map_or_else(|| key.1.clone(), |handle| format!("of {handle}"));
            all.entry((key.0, name)).or_default().extend(durations);
        }
        all
    }
}

/// `None`, with the reason printed, where babeltrace2 is not installed.
fn from_text(trace: &Path) -> Option<FromText> {
    let mut command = Command::new("babeltrace2");
    command.args(["--no-delta", "--clock-cycles"]).arg(trace);
    let output = stowplan_testkit::said_by(&mut command)?;
    let text = String::from_utf8(output.stdout).unwrap();
    let mut result = FromText::default();
    let mut open: HashMap<(i64, i64, &str), i64> = HashMap::new();
    for line in text.lines() {
        let after = |key: &str| {
            let rest = &line[line.find(key)? + key.len()..];
            Some(&rest[..rest.find([',', ' ', '}']).unwrap_or(rest.len())])
        };
        let number = |key| after(key).unwrap().parse::<i64>().unwrap();
        if line.contains(" ros2:callback_start: ") || line.contains(" ros2:callback_end: ") {
            let time: i64 = line[1..line.find(']').unwrap()].parse().unwrap();
            let vpid = number("vpid = ");
            let who = (vpid, number("vtid = "), after("callback = ").unwrap());
            if line.contains("callback_start") {
                result.unfinished += u64::from(open.insert(who, time).is_some());
            } else {
                let start = open.remove(&who).unwrap();
                let key = (vpid, who.2.to_owned());
                result.durations.entry(key).or_default().push(time - start);
            }
        } else if line.contains(" ros2:rclcpp_subscription_init: ") {
            let object = after(" subscription = ").unwrap().to_owned();
            let handle = after("subscription_handle = ").unwrap().to_owned();
            result.handles.insert((number("vpid = "), object), handle);
        } else if line.contains(" ros2:rclcpp_subscription_callback_added: ") {
            let callback = after("callback = ").unwrap().to_owned();
            let object = after(" subscription = ").unwrap().to_owned();
            result.objects.insert((number("vpid = "), callback), object);
        } else if line.contains(" ros2:rcl_node_init: ") {
            result.nodes += 1;
        } else if line.contains(" ros2:rcl_publisher_init: ")
            || line.contains(" ros2:rcl_subscription_init: ")
        {
            let topic = after("topic_name = ").unwrap();
            result.topics.insert(topic.trim_matches('"').to_owned());
        }
    }
    result.unfinished += open.len() as u64;
    Some(result)
}

/// The same of Autoware, from another program's text.
#[test]
#[ignore = "long: two thirds of a million events, read twice"]
fn autoware_agrees_with_an_independent_computation() {
    let Some(folder) = stowplan_testkit::kept_trace("autoware-carla") else {
        return;
    };
    let Some(text) = from_text(folder.path()) else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).unwrap();
    let graph = &analysis.graph;
    assert_eq!((graph.nodes.len() as u64, text.nodes), (195, 195));
    let topics: BTreeSet<String> = graph.topics.iter().map(|(_, name)| name.clone()).collect();
    assert_eq!(topics, text.topics);
    assert_eq!(analysis.records.gaps.starts_without_end, text.unfinished);
    let mut durations: BTreeMap<(i64, CallbackId), Vec<i64>> = BTreeMap::new();
    for (_, instance) in analysis.records.instances.iter() {
        let process = graph.threads[instance.thread].process;
        let vpid = graph.processes[process].key.vpid;
        if let Some(end_ns) = instance.end_ns.get() {
            let of = durations.entry((vpid, instance.callback)).or_default();
            of.push(end_ns - instance.start_ns);
        }
    }
    // By process and callback, whatever each calls it.
    let mut ours: Vec<(i64, Vec<i64>)> = durations.into_iter().map(|(k, v)| (k.0, v)).collect();
    let theirs = text.by_callback();
    let mut theirs: Vec<(i64, Vec<i64>)> = theirs.into_iter().map(|(k, v)| (k.0, v)).collect();
    for (_, list) in ours.iter_mut().chain(&mut theirs) {
        list.sort_unstable();
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours.len(), theirs.len());
    assert!(ours == theirs, "durations differ");
    let counted = Overview::from_ctf(folder.path(), Reading::default()).unwrap();
    let summaries = counted.callback_summaries();
    let unnamed = summaries.iter().filter(|of| of.identity.node.is_none());
    assert_eq!(
        unnamed.count(),
        0,
        "every callback that is called has its node"
    );
    assert_eq!(counted.callback_summaries(), analysis.callback_summaries());
    assert_eq!(counted.topic_summaries().len(), topics.len());
    threads_change_nothing(folder.path());
    // Guesses look at what happens until the next publication: counting while reading
    // sees less of that at the end of each span.
    let (ours, whole) = (counted.link_summary(), analysis.link_summary());
    assert_eq!(ours.takes, whole.takes);
    assert!(
        ours.linked.abs_diff(whole.linked) * 100 < whole.linked,
        "{} and {}",
        ours.linked,
        whole.linked
    );
}
