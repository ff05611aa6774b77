//! A small experiment, really measured, and everything that can be done with its result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stowplan_host::network;
use stowplan_results::{MeasurementRow, MemoryRow, ProcessKind, Results, RunStatus, UsageRow};

use crate::support::{Bench, assert_valid, engines_missing, fixture, root};
use crate::undisturbed::{best_of_some, is_undisturbed};

/// The places of the reference question.
pub const PLACES: [&str; 3] = ["bare:flat", "bare:grouped", "oci"];

/// Blocks of the shared experiment: fewer than a verdict needs.
pub const BLOCKS: usize = 2;

/// A result that several tests look at.
pub struct Shared {
    pub bench: Bench,
    pub dir: PathBuf,
    /// What others took of the CPUs, where that was much.
    taken: Option<String>,
}

/// The stack `tiny` on three places, measured once for all tests; for those that judge what happened and not how long it took.
/// `None` where engines are missing.
pub fn shared() -> Option<&'static Shared> {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    (!engines_missing(&["bare", "oci"])).then(|| SHARED.get_or_init(measure))
}

/// The same for tests that judge times; `None` also where others took much of the CPUs.
pub fn shared_undisturbed() -> Option<&'static Shared> {
    shared().filter(|shared| is_undisturbed(shared.taken.as_ref()))
}

fn measure() -> Shared {
    let more = ["--keep-traces", "--callback-cpu"];
    let latency = latency_of_tiny(&PLACES.join(","), BLOCKS, "1s", &more);
    let done = best_of_some(|bench| bench.run(&latency));
    let (bench, ended) = (done.bench, done.measured.expect(0));
    assert!(ended.out.contains("scan_to_brake"), "{}", ended.out);
    // One line before each run.
    let steps = ended.err.lines().filter(|line| line.contains(" · run "));
    assert_eq!(steps.count(), PLACES.len() * BLOCKS, "{}", ended.err);
    let dir = only_result(&bench);
    // Here and not in a test of its own: a test beside it resumes this result, which makes the folder again.
    assert!(!dir.join("parts").exists());
    Shared {
        bench,
        dir,
        taken: done.taken,
    }
}

/// Neither waits for a quiet machine nor long until the window begins.
pub const AT_ONCE: [&str; 4] = ["--settle", "0s", "--warm-up", "200ms"];

/// Arguments that measure the stack `tiny`, a service for each module, without waiting for a quiet machine.
pub fn latency_of_tiny(places: &str, blocks: usize, window: &str, more: &[&str]) -> Vec<String> {
    let (stack, blocks) = (fixture("tiny.yaml"), blocks.to_string());
    let at = ["--place", places, "--partition", "modules"];
    let length = ["--blocks", &blocks, "--window", window];
    let latency = ["latency", stack.to_str().unwrap()].into_iter();
    let all = latency.chain(at).chain(length).chain(AT_ONCE);
    all.chain(more.iter().copied()).map(str::to_owned).collect()
}

/// The one result of a bench.
pub fn only_result(bench: &Bench) -> PathBuf {
    let results = std::fs::read_dir(bench.path().join("results")).unwrap();
    let mut dirs: Vec<PathBuf> = results.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    dirs.remove(0)
}

/// Metrics that a deployment has a value of, more than nothing.
pub fn metrics_of<'a>(rows: &'a [MeasurementRow], deployment: &str) -> BTreeSet<&'a str> {
    let of_deployment = rows.iter().filter(|row| &*row.deployment == deployment);
    let valued = of_deployment.filter(|row| row.value.is_some_and(|value| value > 0.0));
    valued.map(|row| &*row.metric).collect()
}

fn name(dir: &Path) -> &str {
    dir.to_str().unwrap()
}

#[test]
fn a_result_has_the_files_of_its_page() {
    let Some(shared) = shared() else { return };
    let page = std::fs::read_to_string(root().join("docs/results.md")).unwrap();
    for file in [
        "experiment.json",
        "request.json",
        "cyclonedds.xml",
        "runs.parquet",
        "startup.parquet",
        "latency.parquet",
        "outputs.parquet",
        "usage.parquet",
        "memory.parquet",
        "processes.parquet",
        "losses.parquet",
        "edges.parquet",
        "callbacks.parquet",
        "comparisons.json",
        "report.html",
    ] {
        assert!(
            page.contains(&format!("| `{file}` |")),
            "{file} is not documented"
        );
        assert!(shared.dir.join(file).is_file(), "{file}");
    }
    let experiment = std::fs::read_to_string(shared.dir.join("experiment.json")).unwrap();
    assert_valid(
        &root().join("crates/stowplan-results/schema/experiment.json"),
        &serde_json::from_str(&experiment).unwrap(),
    );
}

#[test]
fn services_find_each_other_by_multicast_where_they_may_have_a_network_of_their_own() {
    let Some(shared) = shared() else { return };
    let xml = std::fs::read_to_string(shared.dir.join("cyclonedds.xml")).unwrap();
    let settings = Results::open(&shared.dir)
        .unwrap()
        .experiment
        .machine
        .settings;
    let multicast = network::may_have_own() || network::loopback_has_multicast().unwrap();
    assert_eq!(xml.contains("multicast=\"true\""), multicast, "{xml}");
    let told = if multicast { "yes" } else { "no" };
    assert_eq!(settings["net.loopback-multicast"], told);
}

#[test]
fn every_run_is_finished_and_ran_one_and_the_same_program() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    assert_eq!(results.runs.len(), PLACES.len() * BLOCKS);
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        assert_eq!(run.discarded, Some(0));
        assert!(run.events.unwrap() > 100);
        assert_eq!(run.program_sha256, results.runs[0].program_sha256);
        assert_eq!(run.window_ns, Some(1_000_000_000));
    }
    let blocks: Vec<u32> = results.runs.iter().map(|run| run.block).collect();
    assert_eq!(blocks, [1, 1, 1, 2, 2, 2]);
}

#[test]
fn every_output_is_there_with_the_age_of_its_data() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    let outputs = results.outputs().unwrap();
    for output in &outputs {
        assert!(output.data_age_ns > 0, "{output:?}");
        let older = output
            .age_until_next_ns
            .is_none_or(|age| age > output.data_age_ns);
        assert!(older, "{output:?}");
    }
    let mut first = 0;
    for row in results.latency().unwrap() {
        let of_input = outputs.iter().filter(|output| {
            (output.run, &output.chain, output.instance) == (row.run, &row.chain, row.instance)
        });
        let times: Vec<i64> = of_input.map(|output| output.output_ns).collect();
        assert_eq!(times.first().copied(), row.output_ns, "{row:?}");
        assert!(times.is_sorted(), "{times:?}");
        first += times.len().min(1);
    }
    assert!(first > 0);
}

#[test]
fn the_parts_of_every_instance_sum_to_the_whole() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let mut whole = 0;
    for row in results.latency().unwrap().iter().filter(|row| row.valid) {
        let Some(e2e) = row.e2e_paper_ns else {
            assert!(row.reason.is_some(), "{row:?}");
            continue;
        };
        let communication = row.communication_ns.unwrap();
        let parts = row.computation_ns.unwrap() + communication + row.idle_ns.unwrap();
        assert!((parts - e2e).abs() <= 1_000, "{row:?}");
        let apart = row.send_ns.unwrap() + row.transport_ns.unwrap() + row.wait_ns.unwrap();
        assert!((apart - communication).abs() <= 1_000, "{row:?}");
        assert!(row.e2e_full_ns.unwrap() >= e2e, "{row:?}");
        whole += 1;
    }
    // Twenty inputs each second, of which the last may have no output any more.
    assert!(whole >= 10 * results.runs.len(), "{whole}");
}

#[test]
fn start_up_is_told_for_every_service_module_and_node() {
    let Some(shared) = shared() else { return };
    let rows = Results::open(&shared.dir).unwrap().startup().unwrap();
    for run in 1..=6 {
        let of_run: Vec<_> = rows.iter().filter(|row| row.run == run).collect();
        let subjects: Vec<&str> = of_run.iter().map(|row| &*row.subject).collect();
        for subject in [
            "total",
            "sensing",
            "control",
            "scanner",
            "planner",
            "scan_to_brake",
        ] {
            assert!(subjects.contains(&subject), "{subjects:?}");
        }
        let total = of_run.iter().find(|row| &*row.subject == "total").unwrap();
        let loaded = total.last_node_loaded_ns.unwrap();
        assert!(total.first_instruction_ns.unwrap() < loaded);
        assert!(loaded <= total.matched_ns.unwrap());
        assert!(total.first_output_ns.unwrap() > 0);
    }
}

#[test]
fn cpu_and_memory_are_told_for_every_service() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    for run in &results.runs {
        let rows = results.usage().unwrap();
        for service in ["sensing", "control", "actuation"] {
            let of_window = |row: &&UsageRow| {
                let inside = (0..=run.window_ns.unwrap()).contains(&row.t_ns);
                inside && row.run == run.run && &*row.subject == service
            };
            let samples: Vec<_> = rows.iter().filter(of_window).collect();
            let (first, last) = (samples[0], samples[samples.len() - 1]);
            assert!(last.cpu_ns > first.cpu_ns, "{first:?} {last:?}");
            assert!(last.memory_bytes.unwrap() > 1 << 20, "{last:?}");
        }
    }
}

#[test]
fn the_processes_of_services_add_up_to_what_these_used() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let (usage, processes) = (results.usage().unwrap(), results.processes().unwrap());
    let services = ["sensing", "control", "actuation"];
    for run in &results.runs {
        let window = 0..=run.window_ns.unwrap();
        let inside = |of: u32, t_ns: &i64| of == run.run && window.contains(t_ns);
        let of_services = usage
            .iter()
            .filter(|row| inside(row.run, &row.t_ns) && services.contains(&&*row.subject));
        let of_services = of_services.map(|row| (row.subject.to_string(), row.cpu_ns.unwrap()));
        let used: u64 = grown(of_services).values().sum();
        let inside = processes.iter().filter(|row| inside(row.run, &row.t_ns));
        let grown = grown(
            inside
                .clone()
                .map(|row| (row.process.to_string() + &row.service, row.cpu_ns)),
        );
        let sum: u64 = grown.values().sum();
        // Groups are read before their processes, some of which may run just then.
        assert!(sum.abs_diff(used) * 20 <= used, "{sum} of {used}, {run:?}");
        let modules: BTreeSet<_> = inside
            .map(|row| (&*row.service, row.kind, row.module.as_deref()))
            .collect();
        let expected = services.iter().flat_map(|service| {
            let nodes = (*service, ProcessKind::Nodes, Some(*service));
            [nodes, (*service, ProcessKind::Launcher, None)]
        });
        assert_eq!(modules, expected.collect());
    }
    let told = &results.experiment.partitions[0].processes;
    let nodes: Vec<_> = told
        .iter()
        .map(|p| (&*p.service, &p.nodes[..], &p.modules[..]))
        .collect();
    let control = (
        "control",
        &["planner".to_owned()][..],
        &["control".to_owned()][..],
    );
    assert!(nodes.len() == 3 && nodes.contains(&control), "{nodes:?}");
}

/// By how much each counter grew.
fn grown(counters: impl Iterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    let mut ends: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (name, value) in counters {
        ends.entry(name).or_insert((value, value)).1 = value;
    }
    let grown = ends
        .into_iter()
        .map(|(name, (first, last))| (name, last - first));
    grown.collect()
}

#[test]
fn what_processes_share_is_divided_between_them() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    let rows = results.memory().unwrap();
    let services: Vec<&MemoryRow> = rows
        .iter()
        .filter(|row| !row.subject.starts_with("engine"))
        .collect();
    assert_eq!(
        services.len(),
        2 * 3 * results.runs.len(),
        "at both ends of a window"
    );
    for row in services {
        assert_eq!(row.processes, 2, "a launcher and a node: {row:?}");
        assert!(row.private_bytes <= row.pss_bytes, "{row:?}");
        // All run one program: a part of what is resident is of several.
        assert!(row.pss_bytes < row.rss_bytes, "{row:?}");
        // Each part is told in whole KiB.
        let parts = row.pss_anon_bytes + row.pss_file_bytes + row.pss_shmem_bytes;
        assert!(parts.abs_diff(row.pss_bytes) <= 2 * 3 * 1024, "{row:?}");
    }
}

#[test]
fn deployments_are_compared_and_nothing_is_claimed_below_six_blocks() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let (bench, dir) = (&shared.bench, name(&shared.dir));
    let (a, b) = (
        format!("{dir}:bare-flat.modules"),
        format!("{dir}:oci.modules"),
    );
    let one = bench.run(["compare", &a, &b, "--json"]).expect(0);
    let one = one.document("compare");
    let comparisons = one["comparisons"].as_array().unwrap();
    assert!(comparisons.iter().any(|c| c["metric"] == "e2e_paper_mean"));
    for comparison in comparisons {
        assert_eq!(comparison["verdict"], "inconclusive", "{comparison:#}");
        // A metric that one run cannot give (too few instances of a short window) has fewer blocks.
        let blocks = comparison["blocks"].as_u64().unwrap();
        assert!((1..=BLOCKS as u64).contains(&blocks), "{comparison:#}");
        if comparison["metric"] == "e2e_paper_mean" {
            assert_eq!(comparison["blocks"], BLOCKS, "{comparison:#}");
        }
    }
    let saved = std::fs::read_to_string(shared.dir.join("comparisons.json")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert!(saved["comparisons"].as_array().unwrap().len() > comparisons.len());
    let across = bench.run(["compare", dir, dir, "--json"]).expect(0);
    for comparison in across.document("compare")["comparisons"]
        .as_array()
        .unwrap()
    {
        let difference = comparison["difference"].as_f64().unwrap();
        assert!(
            difference.abs() < 1e-9,
            "a result differs from itself: {comparison:#}"
        );
    }
    assert!(
        bench
            .run(["compare", &a, &b])
            .expect(0)
            .out
            .contains("inconclusive")
    );
    let unknown = bench
        .run(["compare", &a, &format!("{dir}:nothing")])
        .expect(3);
    assert!(unknown.err.contains("bare-flat.modules"), "{}", unknown.err);
    bench.run(["compare", &a, dir]).expect(2);
}

#[test]
fn a_report_is_made_from_saved_results_in_every_form() {
    let Some(shared) = shared() else { return };
    let (bench, dir) = (&shared.bench, name(&shared.dir));
    let markdown = bench
        .run(["report", dir, "--form", "markdown"])
        .expect(0)
        .out;
    assert!(markdown.contains("| Deployment"), "{markdown}");
    let text = bench.run(["report", dir, "--form", "text"]).expect(0).out;
    for words in ["scan_to_brake", "bare:grouped · modules", "oci · modules"] {
        assert!(markdown.contains(words) && text.contains(words), "{words}");
    }
    let page = bench.path().join("again.html");
    let told = bench
        .run(["report", dir, "--output", name(&page)])
        .expect(0);
    assert_eq!(told.out.trim(), name(&page));
    let page = std::fs::read_to_string(page).unwrap();
    let own = std::fs::read_to_string(shared.dir.join("report.html")).unwrap();
    assert!(page == own, "the page depends on more than the result");
    assert!(page.contains("<svg") || page.contains("<script"));
    let ratio = "times the CPU time that its block";
    assert!(
        markdown.contains(ratio) && page.contains(ratio),
        "{markdown}"
    );
    assert!(!page.contains("src=\"http"), "the page needs the network");
}

#[test]
fn a_finished_experiment_is_not_run_again_and_no_verdict_can_be_made_an_error() {
    let Some(shared) = shared() else { return };
    let dir = name(&shared.dir);
    let before = Results::open(&shared.dir).unwrap().runs;
    let resume = ["latency", "--resume", dir, "--require-verdict", "--json"];
    let again = shared.bench.run(resume).expect(7);
    assert!(
        again.err.contains("hint: measure more blocks"),
        "{}",
        again.err
    );
    again.document("compare");
    assert_eq!(Results::open(&shared.dir).unwrap().runs, before);
}

#[test]
fn the_recorded_trace_says_what_the_run_says() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let (bench, stack) = (&shared.bench, fixture("tiny.yaml"));
    for run in &Results::open(&shared.dir).unwrap().runs {
        let trace = shared.dir.join(format!("traces/run-{:04}", run.run));
        let info = bench
            .run(["trace", "info", name(&trace), "--json"])
            .expect(0);
        let info = info.document("trace-info");
        assert_eq!(info["events"].as_u64(), run.events);
        assert_eq!(info["discarded_events"], 0);
        assert_eq!(info["nodes"], 3, "{info:#}");
        assert!(info["duration_ns"].as_u64().unwrap() > 1_000_000_000);
        assert!(info["tracetools_version"].is_string());
        let analyze = [
            "trace",
            "analyze",
            name(&trace),
            "--stack",
            name(&stack),
            "--json",
        ];
        let chains = bench.run(analyze).expect(0).document("trace-analyze");
        let chain = &chains["chains"][0];
        assert_eq!(chain["name"], "scan_to_brake");
        assert!(chain["instances"].as_u64().unwrap() >= 10, "{chain:#}");
        let mean = |part: &str| chain[part]["mean"].as_f64().unwrap();
        let parts: f64 = [
            "computation_ns",
            "send_ns",
            "transport_ns",
            "wait_ns",
            "idle_ns",
        ]
        .into_iter()
        .map(mean)
        .sum();
        assert!((parts - mean("e2e_ns")).abs() < 1_000.0, "{chain:#}");
    }
}
