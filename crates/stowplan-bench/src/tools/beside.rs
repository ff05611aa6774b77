//! Ours beside the tools: one start in which both run in turn. Its figure is the median of the ratios.
//!
//! A machine can be half as fast for a second as it is in the next. Two runs that follow each other directly mostly meet the same
//! machine, and a pair of which only one half did is not the one in the middle. The time is that in which threads work, without what
//! is needed to start them: `sysbench` tells both.

use serde::de::DeserializeOwned;
use serde_json::Value;
use stowplan_stats::Sorted;
use stowplan_wire::bench::{BenchFigure, BenchResult};

use super::list::higher;
use super::read::{events_of_threads, events_until_the_last, round_trips};
use super::{Figure, TOOL, Tool};

/// A script that calls `ours` and `tool` in turn. The one that was first is second in the next pair.
macro_rules! in_turn {
    ($prepare:expr, $ours:expr, $tool:expr, $pairs:literal, $end:literal) => {
        concat!(
            $prepare,
            "ours() { ",
            $ours,
            "; }; tool() { ",
            $tool,
            "; }; pair=0; while [ $pair -lt ",
            $pairs,
            " ]; do if [ $((pair % 2)) = 0 ]; then ours && tool; else tool && ours; fi || exit 1; pair=$((pair + 1)); done",
            $end
        )
    };
}

/// Pairs with a test of sysbench. Its first run, of a second, tells how many events half a second has; `$long` and `$short` ask
/// for so many.
macro_rules! of_sysbench {
    ($pairs:literal, $kernel:literal, $test:literal) => {
        of_sysbench!($pairs, $kernel, $test, "", "--events=$events")
    };
    ($pairs:literal, $kernel:literal, $test:literal, $long:literal, $short:literal) => {
        in_turn!(
            concat!(
                "run() { sysbench ",
                $test,
                " \"$@\" run | grep -E 'total|max:|execution|FATAL'; }; events=$(run --time=1 ",
                $long,
                " | sed -n 's/.*events: *//p'); events=$((events / 2)); "
            ),
            concat!("{node} bench ", $kernel, " --ms 500"),
            concat!("run --time=0 ", $short),
            $pairs,
            ""
        )
    };
}

/// Locks of each thread in half a second, about.
macro_rules! locks {
    () => {
        175_000
    };
}

/// What all pairs have in common.
const BOTH: Tool = Tool {
    has_ours: true,
    ..TOOL
};

/// A row for each pair of ours and a tool.
pub(super) static BESIDE: [Tool; 6] = [
    Tool {
        name: "cpu-vs-sysbench",
        script: of_sysbench!(5, "cpu", "cpu --threads=1 --cpu-max-prime=10000"),
        figures: &[ratio("cpu_ratio", |output| {
            median(&whole(output, "cpu_primes"), &events_of_threads(output))
        })],
        ..BOTH
    },
    Tool {
        name: "memory-vs-sysbench",
        script: of_sysbench!(
            5,
            "memory",
            "memory --threads=1 --memory-block-size=1K",
            "--memory-total-size=100000G",
            "--memory-total-size=${events}K"
        ),
        figures: &[ratio("memory_ratio", |output| {
            let mib = events_of_threads(output);
            let mib: Vec<f64> = mib.iter().map(|blocks| blocks / 1024.0).collect();
            median(&whole(output, "memory_write"), &mib)
        })],
        ..BOTH
    },
    Tool {
        name: "threads-vs-sysbench",
        script: of_sysbench!(9, "threads", "threads --threads={threads}"),
        figures: &[ratio("threads_ratio", |output| {
            median(&whole(output, "threads"), &events_of_threads(output))
        })],
        ..BOTH
    },
    Tool {
        name: "mutex-vs-sysbench",
        script: in_turn!(
            "",
            "{node} bench mutex --ms 500",
            concat!(
                "sysbench mutex --threads={threads} --mutex-locks=",
                locks!(),
                " run | grep -E 'total|max:|execution|FATAL'"
            ),
            9,
            ""
        ),
        figures: &[ratio("mutex_ratio", |output| {
            // Every thread is one event.
            let threads = events_until_the_last(output);
            let locks = threads.iter().map(|rate| rate * f64::from(locks!()));
            median(&whole(output, "mutex"), &locks.collect::<Vec<_>>())
        })],
        ..BOTH
    },
    // 0x1451 is the port, and 0A says that somebody listens. After a test the server closes its socket for a moment.
    Tool {
        name: "tcp-vs-iperf3",
        script: in_turn!(
            "listening() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':1451 [0-9A-F:]* 0A'; }; ! listening || { echo 'port 5201 is taken'; exit 1; }; iperf3 -s -p 5201 >/dev/null 2>&1 & server=$!; until listening; do kill -0 $server || exit 1; sleep 0.02; done; run() { until said=$(iperf3 -c 127.0.0.1 -p 5201 -l 128K -t 1 -i 0.1 -f k \"$@\" 2>&1); do kill -0 $server || exit 1; sleep 0.01; done; echo \"$said\" | grep bits/sec; }; ",
            "{node} bench tcp --ms 1000",
            "run && run -R",
            5,
            "; kill $server"
        ),
        figures: &[
            ratio("tcp_send_ratio", |output| {
                median(&median_pieces(output, "tcp_send"), &iperf3(output, 0))
            }),
            ratio("tcp_receive_ratio", |output| {
                median(&median_pieces(output, "tcp_receive"), &iperf3(output, 1))
            }),
        ],
        ..BOTH
    },
    Tool {
        name: "dds-vs-ddsperf",
        script: in_turn!(
            "config() { printf %s \"$CYCLONEDDS_URI\"; }; config | {node} pingpong pong --reliability reliable --domain {domain} --bytes 1024 --config /proc/self/fd/0 & first=$!; ddsperf -i {domain} pong waitset >/dev/null 2>&1 & second=$!; ",
            "config | {node} pingpong ping --reliability reliable --domain {domain} --bytes 1024 --seconds 1 --config /proc/self/fd/0",
            "ddsperf -i {domain} -D 3 ping size 1024 waitset | grep ' size ' | tail -n 1",
            3,
            "; kill $first $second"
        ),
        figures: &[ratio("dds_ratio", |output| {
            median(&our_round_trips(output), &round_trips(output))
        })],
        ..BOTH
    },
];

const fn ratio(metric: &'static str, read: fn(&str) -> Option<f64>) -> Figure {
    higher(metric, "", read)
}

/// The median of the ratios of pairs; none where one half of a pair is missing.
fn median(ours: &[f64], tool: &[f64]) -> Option<f64> {
    if ours.len() != tool.len() {
        return None;
    }
    let ratios = ours.iter().zip(tool).map(|(ours, tool)| ours / tool);
    Some(Sorted::new(ratios.collect()).ok()?.quantile(0.5))
}

/// What our benchmarks printed of the whole time, as sysbench has it.
fn whole(output: &str, metric: &str) -> Vec<f64> {
    ours(output, metric, |figure| figure.whole)
}

/// The median pieces that they printed.
fn median_pieces(output: &str, metric: &str) -> Vec<f64> {
    ours(output, metric, |figure| figure.value)
}

fn ours(output: &str, metric: &str, of: fn(&BenchFigure) -> Option<f64>) -> Vec<f64> {
    let value = |result: BenchResult| {
        let mut figures = result.figures.iter();
        of(figures.find(|figure| figure.metric == metric)?)
    };
    printed(output).filter_map(value).collect()
}

/// Mean round trips of `pingpong`, ns.
fn our_round_trips(output: &str) -> Vec<f64> {
    let mean = |printed: Value| printed["round_trip_ns"]["mean"].as_f64();
    printed(output).filter_map(mean).collect()
}

/// What our program printed, a line each.
fn printed<T: DeserializeOwned>(output: &str) -> impl Iterator<Item = T> {
    let lines = output.lines().filter(|line| line.starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok())
}

/// Every second run of iperf3, MB/s, beginning with this one: the median of its tenths of a second, which end with a sum of the sender.
fn iperf3(output: &str, first: usize) -> Vec<f64> {
    let (mut runs, mut tenths) = (Vec::new(), Vec::new());
    for line in output.lines().filter(|line| line.contains("bits/sec")) {
        let (before, after) = line.split_once("Kbits/sec").unwrap_or_default();
        match after.split_whitespace().last() {
            Some("sender") => runs.push(std::mem::take(&mut tenths)),
            Some("receiver") => {}
            _ => tenths.extend(
                before
                    .split_whitespace()
                    .last()
                    .and_then(|rate| rate.parse::<f64>().ok()),
            ),
        }
    }
    let medians = runs.into_iter().skip(first).step_by(2);
    let medians = medians.filter_map(|tenths| Some(Sorted::new(tenths).ok()?.quantile(0.5) / 8e3));
    medians.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What our benchmark prints.
    fn line_of(metric: &str, value: f64) -> String {
        format!(
            r#"{{"schema":"stowplan.bench/1","benchmark":"x","figures":[{{"metric":"{metric}","unit":"","higher_is_better":true,"value":{value},"whole":{value},"count":1,"ns":1}}],"settings":{{}}}}"#
        )
    }

    fn read(name: &str, output: &str) -> Vec<Option<f64>> {
        let tool = Tool::of_name(name).unwrap();
        tool.figures.iter().map(|f| (f.read)(output)).collect()
    }

    #[test]
    fn saved_outputs_of_pairs_are_read() {
        macro_rules! saved {
            ($file:literal) => {
                include_str!(concat!("../../../../tests/fixtures/toolbox/", $file))
            };
        }
        let close = |name: &str, output: &str, expected: &[f64]| {
            let values = read(name, output);
            for (value, expected) in values.iter().zip(expected) {
                let value = value.unwrap();
                assert!((value / expected - 1.0).abs() < 1e-6, "{name}: {value}");
            }
        };
        let output = saved!("sysbench-1.0.20-threads-beside.txt");
        close("threads-vs-sysbench", output, &[0.995_463_773]);
        let output = saved!("sysbench-1.0.20-mutex-beside.txt");
        close("mutex-vs-sysbench", output, &[1.002_934_790]);
        let output = saved!("iperf3-3.12-beside.txt");
        close("tcp-vs-iperf3", output, &[1.164_573_578, 1.266_980_949]);
        let output = saved!("ddsperf-0.10.2-beside.txt");
        close("dds-vs-ddsperf", output, &[120_983.0 / 125_574.0]);
    }

    #[test]
    fn pairs_are_read_in_either_order_and_the_middle_one_counts() {
        let tool = |events: u32| {
            format!(
                "    total time:       9.0000s\n    total number of events:     {events}\n    execution time (avg/stddev):   0.1000/0.00\n"
            )
        };
        let ours = |value| line_of("threads", value) + "\n";
        let pairs = [
            ours(2000.0),
            tool(100),
            tool(200),
            ours(3000.0),
            ours(1100.0),
            tool(100),
        ];
        // 2, 1.5 and 1.1.
        assert_eq!(read("threads-vs-sysbench", &pairs.concat()), [Some(1.5)]);
        assert_eq!(read("threads-vs-sysbench", &pairs[..1].concat()), [None]);
        assert_eq!(read("cpu-vs-sysbench", ""), [None]);
    }

    #[test]
    fn both_directions_of_iperf3_are_medians_of_tenths() {
        // As iperf3 3.12 prints them; what it sends has retransmissions and a window as well.
        let tenth = |rate: u32, more: &str| {
            format!("[  5]   0.00-0.10   sec   128 MBytes  {rate} Kbits/sec{more}\n")
        };
        let tool = [
            tenth(8_000_000, "    0   1.25 MBytes"),
            tenth(1_000_000, "    0   1.25 MBytes"),
            tenth(8_000_000, "    0   1.25 MBytes"),
            tenth(7_000_000, "    3             sender"),
            tenth(7_000_000, "                  receiver"),
            tenth(4_000_000, ""),
            tenth(4_000_000, "    0             sender"),
            tenth(4_000_000, "                  receiver"),
        ];
        let output = line_of("tcp_send", 1000.0) + "\n" + &tool.concat();
        assert_eq!(read("tcp-vs-iperf3", &output), [Some(1.0), None]);
        let output = line_of("tcp_receive", 1000.0) + "\n" + &tool.concat();
        assert_eq!(read("tcp-vs-iperf3", &output), [None, Some(2.0)]);
    }

    #[test]
    fn half_a_round_trip_of_ddsperf_is_doubled() {
        let output = "{\"round_trip_ns\":{\"mean\":90000}}\n[1] 3.000  vm:2 size 1024 mean 50.0us min 1us cnt 3\n";
        assert_eq!(read("dds-vs-ddsperf", output), [Some(0.9)]);
    }
}
