//! `stowplan trace window`: a span of time as Chrome's trace JSON, which Perfetto and
//! chrome://tracing show.

use std::fs::File;
use std::io::BufWriter;

use serde_json::{Value, json};
use stowplan_trace::{Analysis, Id, Instance, Reading, ThreadId, Window};

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

/// Callbacks that run in the window, and arrows for the messages that start them.
fn events(analysis: &Analysis, window: Window) -> Vec<Value> {
    let graph = &analysis.graph;
    let mut events = Vec::new();
    for (id, process) in graph.processes.iter() {
        let name = process.name.as_deref().unwrap_or("process");
        let name = format!("{name} {}", process.key.vpid);
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": id.index(), "args": { "name": name },
        }));
    }
    // Chrome's times are microseconds; fractions keep the nanoseconds.
    let micros = |ns: i64| (ns - window.from_ns) as f64 / 1e3;
    let at = |thread: ThreadId| {
        (
            graph.threads[thread].process.index(),
            graph.threads[thread].vtid,
        )
    };
    let inside = |instance: &Instance| {
        let end = instance.end_ns.unwrap_or(window.to_ns);
        instance.start_ns <= window.to_ns && end >= window.from_ns
    };
    for (id, instance) in analysis.records.instances.iter() {
        if !inside(instance) {
            continue;
        }
        let (pid, tid) = at(instance.thread);
        let end = instance.end_ns.unwrap_or(window.to_ns);
        events.push(json!({
            "ph": "X", "cat": "callback", "name": graph.describe(instance.callback),
            "pid": pid, "tid": tid, "ts": micros(instance.start_ns),
            "dur": (end - instance.start_ns) as f64 / 1e3,
            "args": { "symbol": graph.callbacks[instance.callback].symbol },
        }));
        let link = instance
            .take
            .and_then(|take| analysis.records.takes[take].link);
        let Some(link) = link else { continue };
        let publication = &analysis.records.publications[link.publication];
        if publication.time_ns < window.from_ns || instance.start_ns > window.to_ns {
            continue;
        }
        let (from_pid, from_tid) = at(publication.thread);
        let topic = graph.publishers[publication.publisher].topic;
        let name = topic.map_or("message", |topic| graph.topics[topic].as_str());
        events.push(json!({
            "ph": "s", "cat": "message", "name": name, "id": id.index(),
            "pid": from_pid, "tid": from_tid, "ts": micros(publication.time_ns),
        }));
        events.push(json!({
            "ph": "f", "bp": "e", "cat": "message", "name": name, "id": id.index(),
            "pid": pid, "tid": tid, "ts": micros(instance.start_ns),
            "args": { "method": link.method.name(), "confidence": link.confidence.name() },
        }));
    }
    events
}
