//! Traces of real ROS 2 programs against what is known of them from elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::Item;
use stowplan_testkit::{data, kept_trace};
use stowplan_trace::{
    Analysis, ChainResult, Confidence, Endpoint, Fate, LinkMethod, Owner, Reading, Window,
};

/// Count, sum, least and greatest duration per callback symbol and node, as
/// tracetools_analysis computed them.
fn tracetools_analysis(name: &str) -> Vec<(String, [i64; 4])> {
    let file = data(format!("traces/humble-{name}.tracetools_analysis.json"));
    let file = file.expect("it lies beside the trace");
    let text = fs::read_to_string(&file).expect("the figures lie beside the trace");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut callbacks: Vec<(String, [i64; 4])> = json["callbacks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|callback| {
            let number = |key: &str| callback[key].as_i64().expect("an integer");
            let owner = callback["owner"].as_str().expect("a text");
            let node = owner
                .lines()
                .find_map(|line| line.strip_prefix("node: "))
                .expect("a node");
            let figures = ["count", "sum_ns", "min_ns", "max_ns"].map(number);
            (node.to_owned(), figures)
        })
        .collect();
    callbacks.sort();
    callbacks
}

/// The same from the analysis.
fn durations(analysis: &Analysis) -> Vec<(String, [i64; 4])> {
    let mut by_callback: BTreeMap<_, [i64; 4]> = BTreeMap::new();
    for (_, instance) in analysis.records.instances.iter() {
        let Some(end_ns) = instance.end_ns.get() else {
            continue;
        };
        let duration = end_ns - instance.start_ns;
        let entry = by_callback
            .entry(instance.callback)
            .or_insert([0, 0, i64::MAX, 0]);
        entry[0] += 1;
        entry[1] += duration;
        entry[2] = entry[2].min(duration);
        entry[3] = entry[3].max(duration);
    }
    let mut callbacks: Vec<(String, [i64; 4])> = by_callback
        .into_iter()
        .map(|(callback, figures)| {
            let node = analysis.graph.node_of(callback).expect("a node");
            let node = &analysis.graph.nodes[node];
            (node.name.clone().expect("a name"), figures)
        })
        .collect();
    callbacks.sort();
    callbacks
}

fn assert_durations(name: &str) {
    let Some(folder) = kept_trace(&format!("humble-{name}")) else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).expect("a trace");
    assert_eq!(durations(&analysis), tracetools_analysis(name));
}

#[test]
fn callback_durations_equal_those_of_tracetools_analysis() {
    assert_durations("chain_perpid");
    assert_durations("talker_listener");
}

#[test]
fn containers_whose_processes_all_have_number_1_do_not_mix() {
    let Some(folder) = kept_trace("humble-ab_ctr_r1") else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).expect("a trace");
    let graph = &analysis.graph;
    assert_eq!((graph.processes.len(), graph.nodes.len()), (5, 24));
    assert!(graph.processes.iter().all(|(_, p)| p.key.vpid == 1));
    for (callback, entry) in graph.callbacks.iter() {
        let node = graph.node_of(callback).expect("a node");
        assert_eq!(graph.nodes[node].process, entry.process);
    }
    for (_, instance) in analysis.records.instances.iter() {
        assert_eq!(
            graph.threads[instance.thread].process,
            graph.callbacks[instance.callback].process
        );
    }
    assert_eq!(durations(&analysis), tracetools_analysis("ab_ctr_r1"));
    let unlinked = analysis
        .records
        .takes
        .iter()
        .filter(|(_, t)| t.link.is_none());
    assert_eq!(unlinked.count(), 0);
}

/// `dds:write` events per process and thread: time and source timestamp.
fn dds_writes(folder: &Path) -> HashMap<(i64, i64), Vec<(i64, i64)>> {
    let traces = TraceFolder::open(folder).expect("a trace");
    let mut events = traces.events().expect("streams open");
    let mut writes: HashMap<_, Vec<_>> = HashMap::new();
    while let Some(item) = events.next_item().expect("a valid trace") {
        let Item::Event(event) = item else { continue };
        if event.name() == "dds:write" {
            let who = (event.vpid().expect("vpid"), event.vtid().expect("vtid"));
            let stamp = event.i64("timestamp").expect("a stamp");
            writes
                .entry(who)
                .or_default()
                .push((event.clock_ns(), stamp));
        }
    }
    writes
}

/// How many takes agree with what the middleware recorded, and how many it has no
/// record of.
fn agreeing(folder: &Path, analysis: &Analysis, link_is: (LinkMethod, Confidence)) -> (u64, u64) {
    let writes = dds_writes(folder);
    let stamps: std::collections::HashSet<i64> =
        writes.values().flatten().map(|write| write.1).collect();
    let (mut agreed, mut without_truth) = (0, 0);
    for (_, take) in analysis.records.takes.iter() {
        let stamp = take.stamp.get().expect("no messages inside a process");
        if !stamps.contains(&stamp) {
            // Published by a process that was not traced.
            assert_eq!(take.link, None);
            without_truth += 1;
            continue;
        }
        let link = take.link.expect("its publication is in the trace");
        assert_eq!((link.method, link.confidence), link_is);
        let publication = &analysis.records.publications[link.publication];
        let thread = &analysis.graph.threads[publication.thread];
        let vpid = analysis.graph.processes[thread.process].key.vpid;
        let of_thread = &writes[&(vpid, thread.vtid)];
        let sent_ns = publication.rmw_ns.get().expect("Humble has rmw_publish");
        let next = of_thread.partition_point(|w| w.0 < sent_ns);
        assert_eq!(of_thread[next].1, stamp);
        agreed += 1;
    }
    (agreed, without_truth)
}

#[test]
fn links_found_by_topic_and_time_are_those_that_the_middleware_recorded() {
    let Some(folder) = kept_trace("tracecompass-ros2") else {
        return;
    };
    let without = Reading {
        middleware_events: false,
        ..Reading::default()
    };
    let analysis = Analysis::from_ctf_with(folder.path(), without).expect("a trace");
    let link = (LinkMethod::TopicAndTime, Confidence::Probable);
    assert_eq!(agreeing(folder.path(), &analysis, link), (3994, 40));
    // With them, the same links are certain.
    let analysis = Analysis::from_ctf(folder.path()).expect("a trace");
    let link = (LinkMethod::DdsWrite, Confidence::Certain);
    assert_eq!(agreeing(folder.path(), &analysis, link), (3994, 40));
}

/// Stage and sequence → source, start and end, as the nodes themselves measured.
fn truth(folder: &Path) -> HashMap<(usize, u64), [i64; 3]> {
    let mut rows = HashMap::new();
    for process in 1..=3 {
        let file = folder.join(format!("chain_perpid.truth.p{process}.csv"));
        let text = fs::read_to_string(file).expect("the truth lies beside the trace");
        for line in text.lines().skip(1) {
            let cells: Vec<i64> = line
                .split(',')
                .map(|c| c.parse().expect("numbers"))
                .collect();
            let key = (cells[0] as usize, cells[1] as u64);
            rows.insert(key, [cells[2], cells[3], cells[4]]);
        }
    }
    rows
}

fn chain_of_stages(analysis: &Analysis) -> ChainResult {
    let found = analysis.find_chains(Endpoint::Node("stage0"), Endpoint::Node("stage4"), 100);
    let longest = found
        .chains
        .into_iter()
        .filter(|found| {
            let first = analysis.graph.callbacks[found.chain.callbacks[0]].owner;
            matches!(first, Owner::Timer(_)) && found.chain.callbacks.len() == 5
        })
        .collect::<Vec<_>>();
    assert_eq!(longest.len(), 1, "one way leads through all stages");
    analysis.measure(longest[0].chain.clone(), Window::ALWAYS)
}

fn quantile(values: &mut [i64], q: f64) -> i64 {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * q) as usize]
}

#[test]
fn chain_latencies_agree_with_what_the_nodes_measured() {
    let Some(folder) = kept_trace("humble-chain_perpid") else {
        return;
    };
    let truth = truth(folder.path());
    let analysis = Analysis::from_ctf(folder.path()).expect("traces");
    let result = chain_of_stages(&analysis);
    assert!(result.broken.is_empty() && result.invalid.is_empty());
    assert!(result.inputs.iter().all(|input| input.fate == Fate::Used));
    // The last inputs are left out, because their reactions may lie after the end.
    assert_eq!(result.instances.len() + result.left_out_ns.len(), 3993);
    let (mut durations, mut latencies) = (Vec::new(), Vec::new());
    for instance in &result.instances {
        assert_eq!(instance.parts.total_ns(), instance.e2e_ns);
        let sequence = instance.input as u64;
        for (stage, step) in instance.steps.iter().enumerate() {
            let [_, start, end] = truth[&(stage, sequence)];
            let traced = &analysis.records.instances[step.instance];
            // A wrong link would be a period, 5 ms, away; these are inside the callback.
            assert!(traced.start_ns <= start && end <= traced.end_ns.get().unwrap());
            let duration = traced.end_ns.get().unwrap() - traced.start_ns;
            durations.push((duration - (end - start)).abs());
        }
        let e2e = truth[&(4, sequence)][2] - truth[&(0, sequence)][1];
        latencies.push((instance.e2e_ns - e2e).abs());
    }
    let figures = [
        (quantile(&mut durations, 0.5), 3_000),
        (quantile(&mut durations, 0.99), 10_000),
        (quantile(&mut latencies, 0.5), 5_000),
        (quantile(&mut latencies, 0.99), 20_000),
    ];
    println!("differences and limits, ns: {figures:?}");
    assert!(
        figures
            .iter()
            .all(|(difference, limit)| difference <= limit)
    );
}

#[test]
fn a_galactic_trace_of_autoware_gives_its_entities() {
    let Some(folder) = kept_trace("autoware-carla") else {
        return;
    };
    let analysis = Analysis::from_ctf(folder.path()).expect("a trace");
    assert_eq!(analysis.events, 683_756);
    assert_eq!(analysis.graph.processes.len(), 61);
    assert_eq!(analysis.graph.nodes.len(), 195);
    assert_eq!(analysis.records.instances.len(), 302_862);
    assert_eq!(analysis.records.gaps.starts_without_end, 2);
    // Galactic records no takes: what is linked is inferred, and says so.
    assert!(analysis.records.takes.iter().all(|(_, take)| take.inferred));
    for (_, take) in analysis.records.takes.iter() {
        let Some(link) = take.link else { continue };
        assert_eq!(link.method, LinkMethod::LatestBeforeCallback);
        assert_eq!(link.confidence, Confidence::Guessed);
        let sent = analysis.records.publications[link.publication].time_ns;
        assert!(sent < take.time_ns);
    }
}

/// Everything that can be asked of a trace.
fn ask_all(analysis: &Analysis) {
    let _ = (analysis.callback_summaries(), analysis.topic_summaries());
    let _ = (analysis.link_summary(), analysis.start_up());
    let _ = (analysis.losses(Window::ALWAYS), analysis.check_payload());
    let found = analysis.find_chains(Endpoint::Node("talker"), Endpoint::Node("listener"), 10);
    for found in found.chains {
        let _ = analysis.measure(found.chain, Window::ALWAYS).summary();
    }
}

#[test]
fn a_damaged_trace_is_read_in_part_and_never_panics() {
    let Some(folder) = kept_trace("humble-talker_listener") else {
        return;
    };
    let whole = Analysis::from_ctf(folder.path()).expect("a trace");
    assert!(whole.damage.is_empty());
    ask_all(&whole);
    let trace = folder.path().join("talker_listener/ust/uid/0/64-bit");
    let stream = fs::read_dir(&trace)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file() && !path.ends_with("metadata"))
        .max_by_key(|path| fs::metadata(path).expect("a file").len())
        .expect("a stream");
    let bytes = fs::read(&stream).expect("readable");
    // Cut within the last packet of the largest stream.
    fs::write(&stream, &bytes[..bytes.len() - 5000]).expect("writable");
    let cut = Analysis::from_ctf(folder.path()).expect("the rest of it");
    assert_eq!(cut.damage.len(), 1);
    assert!(cut.events > 0 && cut.events < whole.events);
    ask_all(&cut);
    // Bits flipped at places that a fixed sequence draws.
    let mut draw: u64 = 7;
    for _ in 0..60 {
        let mut broken = bytes.clone();
        for _ in 0..40 {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (draw >> 33) as usize % broken.len();
            broken[at] ^= 1 << ((draw >> 20) % 8);
        }
        fs::write(&stream, &broken).expect("writable");
        if let Ok(analysis) = Analysis::from_ctf(folder.path()) {
            ask_all(&analysis);
        }
    }
}

/// A packet whose events are overwritten: the rest of the stream is read, and only
/// what the packet touches is invalid.
#[test]
fn after_a_broken_packet_the_stream_goes_on() {
    let Some(folder) = kept_trace("humble-chain_perpid") else {
        return;
    };
    let whole = Analysis::from_ctf(folder.path()).expect("traces");
    let stream = streams(folder.path())
        .into_iter()
        .max_by_key(|path| fs::metadata(path).expect("a file").len())
        .expect("a stream");
    let mut bytes = fs::read(&stream).expect("readable");
    // LTTng's packets begin on pages: spoil the end of the first.
    let magic = bytes[..4].to_vec();
    let second = (4096..bytes.len())
        .step_by(4096)
        .find(|&at| bytes[at..at + 4] == magic[..])
        .expect("a second packet");
    let at = second / 8 * 7;
    bytes[at..at + 2000].fill(0xff);
    fs::write(&stream, &bytes).expect("writable");
    let part = Analysis::from_ctf(folder.path()).expect("traces");
    assert_eq!(part.damage.len(), 1, "{:?}", part.damage);
    let lost = whole.events - part.events;
    assert!(0 < lost && lost < 6000, "{lost}");
    let [discard] = &part.discards[..] else {
        panic!("{:?}", part.discards);
    };
    assert!(discard.from_ns < discard.to_ns && discard.to_ns < i64::MAX);
    let result = chain_of_stages(&part);
    assert!(!result.invalid.is_empty());
    assert!(result.instances.len() > 3000 && result.invalid.len() < 900);
}

/// All stream files below a folder.
fn streams(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "index" {
            found.extend(streams(&path));
        } else if name.starts_with("ros2") {
            found.push(path);
        }
    }
    found
}
