//! Callbacks as a table that fits the terminal, and as CSV.

use stowplan_model::units::show_ns;
use stowplan_trace::is_infrastructure;

use crate::documents::trace::{CallbackKind, Durations, TopicOrPeriod, TracedCallback};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{tell, tell_on};
use crate::table;

/// Columns that a figure takes, its distance included.
const FIGURE: usize = 10;
/// A name has at least so many.
const SHORTEST: usize = 16;

/// Prints a row for each callback; with `every_topic` also those of ROS 2's own topics, which else are told in one line.
pub fn table(callbacks: Vec<TracedCallback>, every_topic: bool) -> Result<(), CommandError> {
    let own = |of: &TracedCallback| match &of.topic_or_period {
        Some(TopicOrPeriod::Name(name)) => !every_topic && is_infrastructure(name),
        _ => false,
    };
    let (folded, shown): (Vec<_>, Vec<_>) = callbacks.into_iter().partition(own);
    let with_cpu = shown.iter().any(|of| of.cpu_ns.is_some());
    let with_scheduler = shown.iter().any(|of| of.preempted_ns.is_some());
    let mut columns = vec![
        "node",
        "started by",
        "count",
        "rate",
        "busy",
        "mean",
        "median",
        "P99",
        "max",
    ];
    if with_cpu {
        columns.push("median CPU");
    }
    if with_scheduler {
        columns.extend(["mean preempted", "mostly behind"]);
    }
    let figures = FIGURE * (columns.len() - 2);
    let name = (usize::from(table::width()).saturating_sub(figures) / 2).max(SHORTEST);
    let mut table = table::new(columns);
    for callback in &shown {
        table.add_row(row(callback, name, with_cpu, with_scheduler));
    }
    tell!("{table}")?;
    if folded.is_empty() {
        return Ok(());
    }
    let busy: f64 = folded.iter().filter_map(|of| of.busy_share).sum();
    tell!(
        "and {} callbacks of ROS 2's own topics (/parameter_events, /clock, /rosout), busy {}; --every-topic shows them",
        folded.len(),
        percent(Some(busy)),
    )
}

fn row(
    callback: &TracedCallback,
    name: usize,
    with_cpu: bool,
    with_scheduler: bool,
) -> Vec<String> {
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), show_ns);
    let of = callback.duration_ns.as_ref();
    let node = callback.node.as_deref().unwrap_or("–");
    let mut row = vec![
        shortened(node, name),
        shortened(&started_by(callback), name),
        callback.count.to_string(),
        callback.per_s.map_or_else(|| "–".to_owned(), rate),
        percent(callback.busy_share),
        shown(of.map(|d| d.mean)),
        shown(of.map(|d| d.q50)),
        shown(of.and_then(|d| d.p99)),
        shown(of.map(|d| d.max as f64)),
    ];
    if with_cpu {
        row.push(shown(callback.cpu_ns.as_ref().map(|cpu| cpu.q50)));
    }
    if with_scheduler {
        row.push(shown(callback.preempted_ns.as_ref().map(|of| of.mean)));
        let first = callback.behind.first();
        row.push(first.map_or_else(|| "–".to_owned(), |of| of.thread.clone()));
    }
    row
}

fn rate(per_s: f64) -> String {
    match per_s {
        of if of >= 100.0 => format!("{of:.0}/s"),
        of if of >= 1.0 => format!("{of:.1}/s"),
        of => format!("{of:.2}/s"),
    }
}

/// Of one CPU.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

/// The end of a long name: nodes differ there.
fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length + 1 - most).collect();
    format!("…{end}")
}

fn started_by(callback: &TracedCallback) -> String {
    match (&callback.kind, &callback.topic_or_period) {
        (Some(CallbackKind::Timer), Some(TopicOrPeriod::Period(ns))) => {
            format!("timer {}", show_ns(*ns as f64))
        }
        (Some(CallbackKind::Client), Some(TopicOrPeriod::Name(name))) => {
            format!("response of {name}")
        }
        (_, Some(TopicOrPeriod::Name(name))) => name.clone(),
        _ => "–".to_owned(),
    }
}

const CSV: [&str; 20] = [
    "node",
    "kind",
    "topic_or_period_ns",
    "symbol",
    "host",
    "pid",
    "tid",
    "count",
    "unfinished",
    "invalid",
    "per_s",
    "busy_share",
    "mean_ns",
    "min_ns",
    "median_ns",
    "p99_ns",
    "max_ns",
    "cpu_median_ns",
    "preempted_mean_ns",
    "mostly_behind",
];

/// Prints a line for each callback below their names; what is not known is empty.
pub fn csv(callbacks: &[TracedCallback]) -> Result<(), CommandError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(CSV).or_exit(ExitCode::RunFailed)?;
    for callback in callbacks {
        let record = record(callback);
        writer.write_record(record).or_exit(ExitCode::RunFailed)?;
    }
    let bytes = writer.into_inner().or_exit(ExitCode::RunFailed)?;
    tell_on!("{}", String::from_utf8_lossy(&bytes))
}

fn record(callback: &TracedCallback) -> [String; CSV.len()] {
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let of = |part: fn(&Durations) -> f64| number(callback.duration_ns.as_ref().map(part));
    let kind = callback.kind.map(CallbackKind::name);
    let trigger = callback.topic_or_period.as_ref().map(|of| match of {
        TopicOrPeriod::Name(name) => name.clone(),
        TopicOrPeriod::Period(ns) => ns.to_string(),
    });
    [
        text(callback.node.as_deref()),
        text(kind),
        text(trigger.as_deref()),
        text(callback.symbol.as_deref()),
        callback.host.clone(),
        callback.pid.to_string(),
        callback.tid.to_string(),
        callback.count.to_string(),
        callback.unfinished.to_string(),
        callback.invalid.to_string(),
        number(callback.per_s),
        number(callback.busy_share),
        of(|d| d.mean),
        of(|d| d.min as f64),
        of(|d| d.q50),
        number(callback.duration_ns.as_ref().and_then(|d| d.p99)),
        of(|d| d.max as f64),
        number(callback.cpu_ns.as_ref().map(|d| d.q50)),
        number(callback.preempted_ns.as_ref().map(|d| d.mean)),
        text(callback.behind.first().map(|of| &*of.thread)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(shortened("/a/node", 16), "/a/node");
        assert_eq!(
            shortened("/perception/obstacle/filter", 16),
            "…obstacle/filter"
        );
        assert_eq!(shortened("/ümlaut/ümlaut/knoten", 8), "…/knoten");
    }

    #[test]
    fn rates_and_shares_have_figures_that_can_be_told_apart() {
        assert_eq!(
            [1234.4, 33.33, 0.125].map(rate),
            ["1234/s", "33.3/s", "0.12/s"]
        );
        assert_eq!(percent(Some(0.1234)), "12.34 %");
        assert_eq!(percent(None), "–");
    }
}
