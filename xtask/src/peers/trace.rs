//! Reading a trace: our reader and our commands beside `babeltrace2 -o dummy`, which only
//! decodes, and tracetools_analysis, where Python finds it. What is pinned to one CPU reads with one thread.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::build::{Workspace, build_bare_reader, build_command_line, installed};
use super::error::PeersError;
use super::figures::{self, Series, order};
use super::process::run;
use super::repeat::repeat;

/// How often the memory of a program is looked at.
const EVERY: Duration = Duration::from_millis(2);
/// Longest time of a command.
const PATIENCE: Duration = Duration::from_secs(600);

/// Its model of a trace, and the median and 99th percentile of every callback's durations: it links no messages.
const TRACETOOLS: &str = "
import sys
from tracetools_analysis.loading import load_file
from tracetools_analysis.processor.ros2 import Ros2Handler
from tracetools_analysis.utils.ros2 import Ros2DataModelUtil
events = load_file(sys.argv[1], do_convert_if_needed=True, force_conversion=True)
util = Ros2DataModelUtil(Ros2Handler.process(events).data)
for callback in set(util.data.callback_instances['callback_object']):
    util.get_callback_durations(callback)['duration'].quantile([0.5, 0.99])
";

/// A program that reads the trace.
struct Contender<'a> {
    name: &'static str,
    /// Whether it has CPU 0 alone.
    pinned: bool,
    program: &'a Path,
    /// What stands before the trace.
    arguments: &'a [&'a str],
}

impl Contender<'_> {
    fn command(&self, taskset: &Path, trace: &Path) -> Command {
        let mut command = if self.pinned {
            let mut command = Command::new(taskset);
            command.args(["--cpu-list", "0"]).arg(self.program);
            command
        } else {
            Command::new(self.program)
        };
        command.args(self.arguments).arg(trace);
        command
    }
}

/// Measures and prints nanoseconds an event and the greatest resident set.
pub fn row(
    workspace: &Workspace,
    rounds: usize,
    trace: &Path,
    times: u16,
) -> Result<(), PeersError> {
    let babeltrace = installed("babeltrace2", "babeltrace2")?;
    let taskset = installed("taskset", "util-linux")?;
    let program = build_command_line(workspace)?;
    let reader = build_bare_reader(workspace)?;
    // A copy even of one, as tracetools_analysis leaves a file beside what it reads.
    let copy = workspace.peers().join("repeated");
    // A second between them, so that nothing of one is taken for the next one's.
    let shift_ns = figure_of(&program, trace, "duration_ns")? + 1e9;
    repeat(trace, times, shift_ns as u64, &copy)?;
    let events = figure_of(&program, &copy, "events")?;
    let ours = |name, pinned, arguments| Contender {
        name,
        pinned,
        program: &program,
        arguments,
    };
    let theirs = |name, program, arguments| Contender {
        name,
        pinned: true,
        program,
        arguments,
    };
    let links = ["trace", "links", "--json"];
    let callbacks = ["trace", "callbacks", "--json"];
    let mut contenders = vec![
        theirs("babeltrace2 -o dummy", &*babeltrace, &["-o", "dummy"]),
        theirs("every field, one CPU", &*reader, &[]),
        ours("trace callbacks, one CPU", true, &callbacks),
        ours("trace links, one CPU", true, &links),
        ours("trace callbacks, all CPUs", false, &callbacks),
        ours("trace links, all CPUs", false, &links),
    ];
    let python = tracetools_python();
    if let Some(python) = &python {
        contenders.push(Contender {
            pinned: false,
            ..theirs("tracetools_analysis", python, &["-c", TRACETOOLS])
        });
    } else {
        println!("\ntracetools_analysis: left out, because python3 cannot import it (PYTHONPATH)");
    }
    let mut times: Vec<Series> = contenders.iter().map(|c| Series::named(c.name)).collect();
    let mut peaks = vec![0.0_f64; contenders.len()];
    for round in 0..rounds {
        for number in order(round, contenders.len()) {
            let (seconds, peak) = timed(&mut contenders[number].command(&taskset, &copy))?;
            times[number].values.push(seconds / events * 1e9);
            peaks[number] = peaks[number].max(peak);
        }
    }
    let title = format!("{events} events of {}, wall time", trace.display());
    figures::print(&title, "ns an event", &times, 0)?;
    if python.is_some() {
        figures::print(&title, "ns an event", &times, times.len() - 1)?;
    }
    for (contender, peak) in contenders.iter().zip(peaks) {
        let name = contender.name;
        println!("  {name:<38} greatest resident set seen {peak:.1} MB");
    }
    Ok(())
}

/// Python, if it can import what `TRACETOOLS` does.
fn tracetools_python() -> Option<PathBuf> {
    let python = installed("python3", "python3").ok()?;
    let mut imports = Command::new(&python);
    imports.args(["-c", "import babeltrace, tracetools_analysis.utils.ros2"]);
    run(&mut imports, PATIENCE).is_ok().then_some(python)
}

/// A number of `stowplan trace info`.
fn figure_of(program: &Path, trace: &Path, key: &str) -> Result<f64, PeersError> {
    let mut info = Command::new(program);
    info.args(["trace", "info", "--json"]).arg(trace);
    let output = run(&mut info, PATIENCE)?.output;
    serde_json::from_str::<Value>(&output)
        .ok()
        .and_then(|info| info[key].as_f64())
        .filter(|number| *number > 0.0)
        .ok_or_else(|| PeersError::output(format!("`stowplan trace info` told no {key}"), &output))
}

/// Wall time in seconds and the greatest resident set in MB.
fn timed(command: &mut Command) -> Result<(f64, f64), PeersError> {
    let begin = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PeersError::io("run a reader of traces"))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    loop {
        let ended = child.try_wait();
        let ended = ended.map_err(PeersError::io("wait for a reader of traces"))?;
        if let Some(status) = ended {
            let seconds = begin.elapsed().as_secs_f64();
            if status.success() {
                return Ok((seconds, peak));
            }
            let mut output = String::new();
            if let Some(errors) = &mut child.stderr {
                // What it said is only for the message below.
                let _ = errors.read_to_string(&mut output);
            }
            return Err(PeersError::output(format!("{status}"), &output));
        }
        // It may end between the two.
        let status = fs::read_to_string(&status_file).unwrap_or_default();
        peak = peak.max(peak_mb(&status).unwrap_or(0.0));
        std::thread::sleep(EVERY);
    }
}

/// `VmHWM` of a status file.
fn peak_mb(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_megabytes() {
        let status = "Name:\tx\nVmHWM:\t    2000 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(peak_mb(status), Some(2.048));
        assert_eq!(peak_mb("Name:\tx\n"), None);
    }
}
