//! `stowplan trace window`: a span of time as Chrome's trace JSON, which Perfetto and
//! chrome://tracing show.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;

use serde_json::{Value, json};
use stowplan_trace::{Analysis, Graph, Id as _, Instance, InstanceId, Reading, ThreadId, Window};

use super::analyze;
use crate::cli::WindowArgs;
use crate::failure::{CommandError, ExitCode};
use crate::inputs;
use crate::output::tell;

/// Runs the command.
pub fn run(args: &WindowArgs) -> Result<(), CommandError> {
    let analysis = analyze::open(&args.dir, Reading::default())?;
    let Some(extent) = analysis.extent else {
        return Err(CommandError::new(
            ExitCode::BadInput,
            "the trace has no events",
        ));
    };
    let from_ns = extent.from_ns.saturating_add(ns(&args.from)?);
    let window = Window {
        from_ns,
        to_ns: from_ns.saturating_add(ns(&args.length)?),
    };
    let events = events(&analysis, window);
    let count = events.len();
    let document = json!({ "traceEvents": events, "displayTimeUnit": "ns" });
    let failed = |error: String| {
        let message = format!("cannot write {}: {error}", args.output.display());
        CommandError::new(ExitCode::BadInput, message)
    };
    let file = File::create(&args.output).map_err(|error| failed(error.to_string()))?;
    serde_json::to_writer(BufWriter::new(file), &document)
        .map_err(|error| failed(error.to_string()))?;
    tell!(
        "{count} events in {}; open it at ui.perfetto.dev",
        args.output.display()
    )
}

fn ns(text: &str) -> Result<i64, CommandError> {
    let duration = inputs::duration(text)?;
    Ok(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

/// Callbacks that run in the window, cut at its ends, and arrows for the messages that start them,
/// in the Trace Event Format: complete events, flow events and metadata.
fn events(analysis: &Analysis, window: Window) -> Vec<Value> {
    let graph = &analysis.graph;
    let mut slices = Vec::new();
    let mut threads = BTreeSet::new();
    for (id, instance) in analysis.records.instances.iter() {
        let end_ns = instance.end_ns.get().unwrap_or(i64::MAX).min(window.to_ns);
        let start_ns = instance.start_ns.max(window.from_ns);
        if start_ns > end_ns {
            continue;
        }
        threads.insert(instance.thread);
        let (pid, tid) = lane(graph, instance.thread);
        slices.push(json!({
            "ph": "X", "cat": "callback", "name": graph.describe(instance.callback),
            "pid": pid, "tid": tid, "ts": micros(window, start_ns),
            "dur": (end_ns - start_ns) as f64 / 1e3,
            "args": {
                "symbol": graph.callbacks[instance.callback].symbol,
                "duration_ns": instance.end_ns.get().map(|end| end - instance.start_ns),
            },
        }));
        slices.extend(arrow(analysis, window, id, instance));
    }
    let mut events = names(graph, &threads);
    events.append(&mut slices);
    events
}

/// Chrome's times are microseconds; fractions keep the nanoseconds.
fn micros(window: Window, ns: i64) -> f64 {
    (ns - window.from_ns) as f64 / 1e3
}

/// Process and thread of an event. Processes have numbers of their own: in containers many are process 1.
fn lane(graph: &Graph, thread: ThreadId) -> (usize, i64) {
    let thread = &graph.threads[thread];
    (thread.process.index() + 1, thread.vtid)
}

/// Names of the processes and threads that have slices.
fn names(graph: &Graph, threads: &BTreeSet<ThreadId>) -> Vec<Value> {
    let mut processes = BTreeSet::new();
    let mut events = Vec::new();
    for &thread in threads {
        let (pid, tid) = lane(graph, thread);
        let process = &graph.processes[graph.threads[thread].process];
        if processes.insert(pid) {
            let name = process.name.as_deref().unwrap_or("process");
            let name = format!("{name} {}", process.key.vpid);
            events.push(json!({
                "ph": "M", "name": "process_name", "pid": pid, "args": { "name": name },
            }));
        }
        let role = if graph.threads[thread].executor {
            "executor"
        } else {
            "thread"
        };
        events.push(json!({
            "ph": "M", "name": "thread_name", "pid": pid, "tid": tid,
            "args": { "name": format!("{role} {tid}") },
        }));
    }
    events
}

/// From the publication of the message that started a callback to the callback, where both lie in
/// the window.
fn arrow(analysis: &Analysis, window: Window, id: InstanceId, instance: &Instance) -> Vec<Value> {
    let graph = &analysis.graph;
    let take = instance.take.map(|take| &analysis.records.takes[take]);
    let Some(link) = take.and_then(|take| take.link) else {
        return Vec::new();
    };
    let publication = &analysis.records.publications[link.publication];
    let begins_before = instance.start_ns < window.from_ns;
    // Between hosts whose clocks do not agree an arrow can lead back: Perfetto has none.
    let leads_back = publication.time_ns > instance.start_ns;
    if publication.time_ns < window.from_ns || begins_before || leads_back {
        return Vec::new();
    }
    let topic = graph.publishers[publication.publisher].topic;
    let name = topic.map_or("message", |topic| graph.topics[topic].as_str());
    let (from_pid, from_tid) = lane(graph, publication.thread);
    let (pid, tid) = lane(graph, instance.thread);
    vec![
        json!({
            "ph": "s", "cat": "message", "name": name, "id": id.index(),
            "pid": from_pid, "tid": from_tid, "ts": micros(window, publication.time_ns),
        }),
        json!({
            "ph": "f", "bp": "e", "cat": "message", "name": name, "id": id.index(),
            "pid": pid, "tid": tid, "ts": micros(window, instance.start_ns),
            "args": { "method": link.method.name(), "confidence": link.confidence.name() },
        }),
    ]
}
