//! The tools, a row for each.

use super::read::{
    bonnie_create, bonnie_write, dbench, ddsperf, events, events_per_second, iperf3_receive,
    iperf3_send, kernels, memory, written, written_with_fsync,
};
use super::{Bytes, Figure, LONGEST_WORK_S, TOOL, Tool};

/// How many locks a thread of `sysbench mutex` takes; its output does not say it.
macro_rules! mutex_locks {
    () => {
        350_000
    };
}

/// Every tool.
pub(super) static TOOLS: [Tool; 10] = [
    Tool {
        name: "sysbench-cpu",
        script: "sysbench cpu --time={seconds} --threads=1 --cpu-max-prime=10000 run",
        figures: &[higher("sysbench_cpu", "events/s", events_per_second)],
        ..TOOL
    },
    Tool {
        name: "sysbench-memory",
        script: "sysbench memory --time={seconds} --threads=1 --memory-block-size=1K --memory-total-size=100000G run",
        figures: &[higher("sysbench_memory", "MiB/s", memory)],
        ..TOOL
    },
    Tool {
        name: "sysbench-threads",
        script: "sysbench threads --time={seconds} --threads={threads} run",
        figures: &[higher("sysbench_threads", "events/s", events)],
        ..TOOL
    },
    Tool {
        name: "sysbench-mutex",
        script: concat!(
            "sysbench mutex --threads={threads} --mutex-locks=",
            mutex_locks!(),
            " run"
        ),
        figures: &[higher("sysbench_mutex", "locks/s", mutex)],
        ..TOOL
    },
    // 0x1451 and 0x1452 are the ports, and 0A says that somebody listens. A server for each direction: after a test it closes its socket
    // for a moment, and who comes then is refused.
    Tool {
        name: "iperf3",
        script: "listening() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -c ':145[12] [0-9A-F:]* 0A'; }; [ $(listening) = 0 ] || { echo 'port 5201 or 5202 is taken'; exit 1; }; iperf3 -s -1 -p 5201 >/dev/null 2>&1 & first=$!; iperf3 -s -1 -p 5202 >/dev/null 2>&1 & second=$!; until [ $(listening) -ge 2 ]; do kill -0 $first && kill -0 $second || exit 1; sleep 0.02; done; set -- iperf3 -c 127.0.0.1 -l 128K -t {seconds} -i 0.1 -J && \"$@\" -p 5201 && \"$@\" -p 5202 -R; status=$?; kill $first $second 2>/dev/null; exit $status",
        figures: &[
            higher("iperf3_send", "MB/s", iperf3_send),
            higher("iperf3_receive", "MB/s", iperf3_receive),
        ],
        ..TOOL
    },
    Tool {
        name: "ddsperf",
        script: "ddsperf -i {domain} -D {longer} pong waitset >/dev/null 2>&1 & ddsperf -i {domain} -D {long} ping size 1024 waitset; status=$?; kill $!; exit $status",
        figures: &[Figure {
            metric: "ddsperf_round_trip",
            unit: "ns",
            higher_is_better: false,
            bytes: Bytes::None,
            read: ddsperf,
        }],
        ..TOOL
    },
    Tool {
        name: "dbench",
        has_files: true,
        script: "cd {folder} && dbench -c /usr/share/dbench/client.txt -t {long} 1",
        figures: &[of_files("dbench", "MB/s", Bytes::Buffered, dbench)],
        ..TOOL
    },
    Tool {
        name: "bonnie",
        has_files: true,
        has_ours: false,
        longest_s: LONGEST_WORK_S,
        // As much as takes half a second on most machines.
        too_short: Some("+++++"),
        script: "{ said=$(bonnie++ -d {folder} -u root -s 1024 -r 16 -n 64 -f -q 2>&1 >&3); } 3>&1; status=$?; [ $status = 0 ] || echo \"$said\"; exit $status",
        figures: &[
            of_files("bonnie_write", "KiB/s", Bytes::Buffered, bonnie_write),
            of_files("bonnie_create", "files/s", Bytes::OfNames, bonnie_create),
        ],
    },
    Tool {
        name: "sysbench-fileio",
        has_files: true,
        script: "cd {folder} && set -- sysbench fileio --file-total-size=64M --file-num=16 --file-test-mode=rndwr --time={seconds} && { said=$(\"$@\" prepare) || { echo \"$said\"; exit 1; }; } && \"$@\" --file-fsync-freq=0 --file-fsync-end=off run && \"$@\" --file-fsync-all=on run",
        figures: &[
            of_files("sysbench_file_write", "MiB/s", Bytes::Buffered, written),
            of_files(
                "sysbench_file_write_fsync",
                "MiB/s",
                Bytes::Synced,
                written_with_fsync,
            ),
        ],
        ..TOOL
    },
    // The configuration and the number of jobs are those that the script says.
    Tool {
        name: "kernel",
        has_files: true,
        longest_s: LONGEST_WORK_S,
        script: "cd /usr/src/linux-source-* && set -- make -s -j{threads} O={folder} && \"$@\" tinyconfig && \"$@\" prepare && begin=$(date +%s%N) && \"$@\" vmlinux && end=$(date +%s%N) && echo \"compiled in $((end - begin)) ns\"",
        figures: &[higher("kernel_compile", "kernels/h", kernels)],
        ..TOOL
    },
];

pub(super) const fn higher(
    metric: &'static str,
    unit: &'static str,
    read: fn(&str) -> Option<f64>,
) -> Figure {
    of_files(metric, unit, Bytes::None, read)
}

const fn of_files(
    metric: &'static str,
    unit: &'static str,
    bytes: Bytes,
    read: fn(&str) -> Option<f64>,
) -> Figure {
    Figure {
        metric,
        unit,
        higher_is_better: true,
        bytes,
        read,
    }
}

/// Every thread is one event.
fn mutex(output: &str) -> Option<f64> {
    Some(events(output)? * f64::from(mutex_locks!()))
}
