//! What is read from the output of a tool.

use stowplan_stats::Sorted;

/// The number behind a word.
pub(super) fn after(output: &str, word: &str) -> Option<f64> {
    let (_, rest) = output.split_once(word)?;
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

pub(super) fn events_per_second(output: &str) -> Option<f64> {
    after(output, "events per second:")
}

pub(super) fn memory(output: &str) -> Option<f64> {
    after(output, "MiB transferred (")
}

pub(super) fn events(output: &str) -> Option<f64> {
    let runs = events_in(output, "total time:", 1.0);
    runs.first().copied()
}

/// Events in a second of every run of sysbench in the output, in the mean time that a thread worked: without the start of the threads.
pub(super) fn events_of_threads(output: &str) -> Vec<f64> {
    events_in(output, "execution time (avg/stddev):", 1.0)
}

/// The same in the time of the longest event, which sysbench tells in ms.
pub(super) fn events_until_the_last(output: &str) -> Vec<f64> {
    events_in(output, "max:", 1e-3)
}

fn events_in(output: &str, time: &'static str, seconds: f64) -> Vec<f64> {
    let all_after = |word: &'static str| output.lines().filter_map(move |line| after(line, word));
    let runs = all_after("total number of events:").zip(all_after(time));
    let rates = runs.map(|(events, time)| events / (time * seconds));
    rates.collect()
}

pub(super) fn iperf3_send(output: &str) -> Option<f64> {
    iperf3(output, 0)
}

/// Of the second document: there the server sends.
pub(super) fn iperf3_receive(output: &str) -> Option<f64> {
    iperf3(output, 1)
}

/// The median of its tenths of a second, at the side that connects: a moment in which the machine is slow is none of it.
fn iperf3(output: &str, document: usize) -> Option<f64> {
    let documents = serde_json::Deserializer::from_str(&output[output.find('{')?..]);
    let mut documents = documents.into_iter::<serde_json::Value>();
    let document = documents.nth(document)?.ok()?;
    let intervals = document.get("intervals")?.as_array()?.iter();
    let rate = |interval: &serde_json::Value| interval["sum"]["bits_per_second"].as_f64();
    let rates = Sorted::new(intervals.filter_map(rate).collect()).ok()?;
    Some(rates.quantile(0.5) / 8e6)
}

/// Mean over the lines of a second each, ns.
pub(super) fn ddsperf(output: &str) -> Option<f64> {
    let seconds = round_trips(output);
    Some(seconds.iter().sum::<f64>() / seconds.len() as f64)
}

/// Mean round trip of every line, ns: ddsperf tells half of it, in µs.
pub(super) fn round_trips(output: &str) -> Vec<f64> {
    let lines = output.lines().filter(|line| line.contains(" size "));
    let means = lines.filter_map(|line| after(line, " mean "));
    means.map(|mean| mean * 2e3).collect()
}

pub(super) fn dbench(output: &str) -> Option<f64> {
    after(output, "\nThroughput ")
}

/// A field of bonnie++'s line of CSV; none where it was too fast to be measured.
fn bonnie(output: &str, field: usize) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with("1.98,"))?;
    line.split(',').nth(field)?.parse().ok()
}

pub(super) fn bonnie_write(output: &str) -> Option<f64> {
    bonnie(output, 11)
}

pub(super) fn bonnie_create(output: &str) -> Option<f64> {
    bonnie(output, 26)
}

/// Of random writes: without fsync, and with one after each.
pub(super) fn written(output: &str) -> Option<f64> {
    after(output, "written, MiB/s:")
}

pub(super) fn written_with_fsync(output: &str) -> Option<f64> {
    let (_, second) = output.split_once("written, MiB/s:")?;
    written(second)
}

/// In an hour, as kcbench has it.
pub(super) fn kernels(output: &str) -> Option<f64> {
    Some(3600e9 / after(output, "compiled in ")?)
}
