//! What `trace` writes to files, against what is known of the traces.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use arrow_array::Array as _;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use stowplan_testkit::said_by;

use crate::support::Bench;
use crate::traces::unpacked;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn rows(file: &Path) -> RecordBatch {
    let file = std::fs::File::open(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn column(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = rows.column_by_name(name).unwrap();
    column.as_primitive::<Int64Type>().iter().collect()
}

/// Stage and sequence number → start and end, as the nodes measured themselves.
fn truth(folder: &Path) -> HashMap<(i64, i64), [i64; 2]> {
    let mut truth = HashMap::new();
    for process in 1..=3 {
        let file = folder.join(format!("chain_perpid.truth.p{process}.csv"));
        for line in std::fs::read_to_string(file).unwrap().lines().skip(1) {
            let cells: Vec<i64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            truth.insert((cells[0], cells[1]), [cells[3], cells[4]]);
        }
    }
    truth
}

/// Every instance of the chain over all stages is a row, its parts sum to its latency, and that is what
/// the nodes measured of the same message.
#[test]
fn every_instance_of_a_chain_is_a_row() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let file = bench.path().join("rows.parquet");
    let analyze = [
        "trace",
        "analyze",
        text(&trace),
        "--from",
        "/c0",
        "--to",
        "/c3",
    ];
    let analyze = analyze
        .into_iter()
        .chain(["--json", "--parquet", text(&file)]);
    let document = bench.run(analyze).expect(0).document("trace-analyze");
    let chain = &document["chains"][0];
    let rows = rows(&file);
    let wanted = chain["instances"].as_u64().unwrap() + chain["invalid"].as_u64().unwrap();
    assert_eq!(rows.num_rows() as u64, wanted);
    let of = |name: &str| column(&rows, name);
    let (e2e, input, output) = (of("e2e_ns"), of("input_ns"), of("output_ns"));
    let parts = ["computation_ns", "send_ns", "transit_ns", "idle_ns"].map(of);
    let truth = truth(&trace);
    // From the callback of the message on /c0 (stage 1) to the publication on /c3 (in stage 3).
    let mut begins: Vec<(i64, i64)> = truth
        .iter()
        .filter(|(key, _)| key.0 == 1)
        .map(|(key, times)| (times[0], key.1))
        .collect();
    begins.sort_unstable();
    for row in 0..rows.num_rows() {
        let e2e = e2e[row].unwrap();
        let sum: i64 = parts.iter().map(|part| part[row].unwrap()).sum();
        assert_eq!(sum, e2e, "row {row}");
        let input = input[row].unwrap();
        assert_eq!(output[row].unwrap() - input, e2e, "row {row}");
        // The first stamp inside the callback, and the sequence number that was taken with it.
        let (start, sequence) = begins[begins.partition_point(|begin| begin.0 < input)];
        assert!(start - input < 5_000_000, "row {row}");
        let [begins_ns, ends_ns] = truth[&(3, sequence)];
        let out = output[row].unwrap();
        // Published inside the callback of the same message, before that ends.
        assert!(begins_ns < out && out < ends_ns + 1_000_000, "row {row}");
    }
    let mean = e2e.iter().flatten().sum::<i64>() as f64 / e2e.len() as f64;
    assert!((mean - chain["e2e_ns"]["mean"].as_f64().unwrap()).abs() < 1.0);
    let valid = rows.column_by_name("valid").unwrap().as_boolean();
    assert_eq!(valid.true_count() as u64, chain["instances"]);
    assert_eq!(
        rows.column_by_name("reason").unwrap().null_count(),
        valid.true_count()
    );
}

fn window(bench: &Bench, trace: &Path, span: &[&str]) -> Vec<Value> {
    let file = bench.path().join("window.json");
    let window = ["trace", "window", text(trace), "-o", text(&file)];
    bench.run(window.iter().chain(span)).expect(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["displayTimeUnit"], "ns");
    document["traceEvents"].as_array().unwrap().clone()
}

/// What the Trace Event Format asks of complete, flow and metadata events.
fn assert_trace_events(events: &[Value], length_us: f64) {
    let mut flows: BTreeMap<u64, [Option<&Value>; 2]> = BTreeMap::new();
    let mut named = std::collections::BTreeSet::new();
    for event in events {
        let pid = event["pid"].as_u64().unwrap();
        let kind = event["ph"].as_str().unwrap();
        if kind == "M" {
            assert!(event["args"]["name"].is_string());
            named.insert((pid, event["tid"].as_i64()));
            continue;
        }
        // Every process and thread has its name.
        assert!(
            named.contains(&(pid, None)) && named.contains(&(pid, event["tid"].as_i64()))
                || kind == "s"
        );
        let ts = event["ts"].as_f64().unwrap();
        assert!((0.0..=length_us).contains(&ts), "{event}");
        match kind {
            "X" => assert!(
                ts + event["dur"].as_f64().unwrap() <= length_us + 1e-3,
                "{event}"
            ),
            "s" => flows.entry(event["id"].as_u64().unwrap()).or_default()[0] = Some(event),
            "f" => {
                assert_eq!(event["bp"], "e");
                flows.entry(event["id"].as_u64().unwrap()).or_default()[1] = Some(event);
            }
            _ => panic!("{event}"),
        }
    }
    for [from, to] in flows.values() {
        let (from, to) = (from.unwrap(), to.unwrap());
        assert_eq!((&from["name"], &from["cat"]), (&to["name"], &to["cat"]));
        assert!(from["ts"].as_f64() <= to["ts"].as_f64());
    }
}

#[test]
fn a_window_is_what_perfetto_reads() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    // All of it: as many slices as callbacks ran, as many arrows as messages started one.
    let all = window(&bench, &trace, &["--length", "60s"]);
    assert_trace_events(&all, 60e6);
    let of = |kind: &str| all.iter().filter(|event| event["ph"] == kind).count();
    let callbacks = bench.run(["trace", "callbacks", text(&trace), "--json"]);
    let callbacks = callbacks.expect(0).document("trace-callbacks");
    let counts = callbacks["callbacks"].as_array().unwrap().iter();
    let ran: u64 = counts
        .map(|callback| callback["count"].as_u64().unwrap())
        .sum();
    assert_eq!(of("X") as u64, ran);
    // Four hops of 3,993 messages, and 30 on /parameter_events.
    assert_eq!((of("s"), of("f")), (4 * 3993 + 30, 4 * 3993 + 30));
    // A span that begins within callbacks: they are cut, and nothing lies outside.
    let span = window(&bench, &trace, &["--from", "10s", "--length", "20ms"]);
    assert_trace_events(&span, 20e3);
    let slices = span.iter().filter(|event| event["ph"] == "X").count();
    // 200 Hz, five callbacks each.
    assert!((15..=25).contains(&slices), "{slices}");
}

/// Callbacks lack what the whole trace does; what messages lack is said with them.
fn lacks_are_said_where_they_matter(bench: &Bench, trace: &str, info: &Value, callbacks: &Value) {
    let of = |document: &Value| document["missing"].as_array().unwrap().clone();
    let of_calls = of(callbacks);
    assert!(of(info).iter().all(|lack| of_calls.contains(lack)));
    let links = bench.run(["trace", "links", trace, "--json"]);
    assert!(of(&links.expect(0).document("trace-links")).len() >= 3);
}

/// Tracing that began late: no node, topic or callback is named, and everything that can be said without is.
#[test]
fn a_trace_that_begins_late_gives_what_it_can() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let late = bench.path().join("late");
    let mut cut = Command::new("babeltrace2");
    cut.arg(&trace)
        .args([
            "--begin=1795169724.3",
            "--end=1795169728.0",
            "--output-format=ctf",
            "-w",
        ])
        .arg(&late);
    let Some(cut) = said_by(&mut cut) else { return };
    assert!(cut.status.success());
    let listed = Command::new("babeltrace2").arg(&late).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let ends = listed.matches("ros2:callback_end:").count() as u64;
    let info = bench
        .run(["trace", "info", text(&late), "--json"])
        .expect(0);
    assert!(
        info.err.contains("their processes began before it"),
        "{}",
        info.err
    );
    let info = info.document("trace-info");
    assert_eq!(info["events"], listed.lines().count());
    assert_eq!(info["distro"], "humble");
    assert_eq!(info["missing"].as_array().unwrap().len(), 2, "{info:#}");
    let callbacks = bench.run(["trace", "callbacks", text(&late), "--json"]);
    let told = callbacks.expect(0).document("trace-callbacks");
    lacks_are_said_where_they_matter(&bench, text(&late), &info, &told);
    let callbacks = told["callbacks"].as_array().unwrap();
    assert_eq!(callbacks.len(), 5);
    let sum = |key: &str| {
        callbacks
            .iter()
            .map(|c| c[key].as_u64().unwrap())
            .sum::<u64>()
    };
    let unmatched = told["missing"]
        .to_string()
        .matches("ends without their start")
        .count() as u64;
    assert_eq!(sum("count") - sum("unfinished") + unmatched, ends);
    assert!(
        callbacks
            .iter()
            .all(|c| c["node"].is_null() && c["duration_ns"]["mean"].is_f64())
    );
    // No topic is known, so nothing can be linked; the report says so and is written all the same.
    let links = bench.run(["trace", "links", text(&late)]).expect(0).out;
    assert!(
        links.contains("takes by subscriptions that the trace does not name"),
        "{links}"
    );
    let page = bench.path().join("late.html");
    bench
        .run(["trace", "report", text(&late), "-o", text(&page)])
        .expect(0);
}

#[test]
fn a_report_has_the_chains_that_were_asked_for() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "humble-chain_perpid") else {
        return;
    };
    let page = bench.path().join("page.html");
    let report = ["trace", "report", text(&trace), "-o", text(&page)];
    let ends = ["--from", "/stage0", "--to", "/c3"];
    bench.run(report.iter().chain(&ends)).expect(0);
    let html = std::fs::read_to_string(&page).unwrap();
    let from = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &html[from..from + html[from..].find("</script>").unwrap()];
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["schema"], "stowplan.trace-page/1");
    assert_eq!(data["facts"]["events"], 252_311);
    let chain = &data["chains"][0];
    assert_eq!(chain["label"], "stage0 → stage3");
    assert!(chain["path"].as_array().unwrap().len() >= 4);
    // The page and the command say the same.
    let analyze = ["trace", "analyze", text(&trace), "--json"];
    let analyzed = bench.run(analyze.iter().chain(&ends)).expect(0);
    let analyzed = &analyzed.document("trace-analyze")["chains"][0];
    assert_eq!(chain["instances"], analyzed["instances"]);
    let mean = |of: &Value| of.as_f64().unwrap();
    let ours = mean(&chain["parts"]["computation"]["summary"]["mean"]);
    assert!((ours - mean(&analyzed["computation_ns"]["mean"])).abs() < 1.0);
    // Who gives a trace to the command of results is told.
    let told = bench.run(["report", text(&trace)]).expect(3).err;
    assert!(told.contains("stowplan trace report"), "{told}");
    let nobody = ["--from", "/stage0", "--to", "/nobody"];
    let told = bench.run(report.iter().chain(&nobody)).expect(3).err;
    assert!(told.contains("no topic or node '/nobody'"), "{told}");
}

#[test]
fn a_graph_of_195_nodes_is_drawn_by_modules_and_its_modules_by_nodes() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "autoware-carla") else {
        return;
    };
    let file = bench.path().join("graph.svg");
    let graph = ["trace", "graph", text(&trace), "-o", text(&file)];
    let told = bench.run(graph).expect(0).err;
    assert!(told.contains("hint: --module NAME"), "{told}");
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains(">48 nodes<"),
        "{svg}"
    );
    assert!(!svg.contains("parameter_events"));
    let module = [
        "trace",
        "graph",
        text(&trace),
        "--svg",
        "--module",
        "/system",
    ];
    let svg = bench.run(module).expect(0).out;
    assert!(svg.contains(">system_error_monitor<"), "{svg}");
    let wrong = [
        "trace",
        "graph",
        text(&trace),
        "--svg",
        "--module",
        "/sistem",
    ];
    let told = bench.run(wrong).expect(3).err;
    assert!(
        told.contains("'/sistem'") && told.contains("/system"),
        "{told}"
    );
    let dot = bench.run(["trace", "graph", text(&trace), "--every-topic"]);
    assert!(dot.expect(0).out.contains("/parameter_events"));
}

/// The busiest first, those of ROS 2's own topics in one line, as wide as the terminal.
#[test]
fn callbacks_are_sorted_chosen_and_fit_the_terminal() {
    let bench = Bench::new();
    let Some(trace) = unpacked(&bench, "autoware-carla") else {
        return;
    };
    let callbacks = |more: &[&str]| {
        let arguments = [&["trace", "callbacks", text(&trace)], more].concat();
        bench.run(arguments.as_slice())
    };
    let table = callbacks(&[]).expect(0).out;
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 130, "{widest:?}");
    assert!(!table.contains(" /parameter_events "), "{table}");
    assert!(table.contains("callbacks of ROS 2's own topics"), "{table}");

    let all = callbacks(&["--json"]).expect(0).document("trace-callbacks");
    let all = all["callbacks"].as_array().unwrap().clone();
    let busy = |of: &Value| of["busy_share"].as_f64().unwrap_or(0.0);
    assert!(all.is_sorted_by(|a, b| busy(a) >= busy(b)));
    let chosen = callbacks(&["--json", "--node", "pointcloud", "--min-rate", "1"]);
    let chosen = chosen.expect(0).document("trace-callbacks");
    let chosen = chosen["callbacks"].as_array().unwrap();
    assert!(!chosen.is_empty() && chosen.len() < all.len());
    for of in chosen {
        assert!(of["node"].as_str().unwrap().contains("pointcloud"));
        assert!(of["per_s"].as_f64().unwrap() >= 1.0);
    }
    let csv = callbacks(&["--csv"]).expect(0).out;
    assert_eq!(csv.lines().count(), all.len() + 1);
    assert!(csv.starts_with("node,kind,topic_or_period_ns,"));
    let unknown = callbacks(&["--node", "/pointcloud_containr"]).expect(3);
    assert!(
        unknown.err.contains("pointcloud_container"),
        "{}",
        unknown.err
    );
}
