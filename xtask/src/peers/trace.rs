//! Reading a trace: our reader and our commands, on one CPU and on all, beside `babeltrace2 -o dummy`, which only
//! decodes, and tracetools_analysis, where Python finds it. What is pinned to one CPU reads with one thread. A reader on each CPU
//! at once shows what the machine's other CPUs are worth to programs that share nothing.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;
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

/// Where a program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// CPU 0 alone.
    One,
    /// Wherever it is put.
    All,
    /// One of it on each CPU, all at once.
    Each,
}

/// A program that reads the trace.
struct Contender<'a> {
    name: String,
    on: On,
    program: &'a Path,
    /// What stands before the trace.
    arguments: Vec<String>,
}

impl Contender<'_> {
    /// Wall time in seconds for one reading of the trace, and the greatest resident set in MB.
    fn timed(&self, taskset: &Path, trace: &Path) -> Result<(f64, f64), PeersError> {
        let cpus = match self.on {
            On::Each => available_parallelism().map_or(1, usize::from),
            On::One | On::All => 1,
        };
        let begin = Instant::now();
        let children: Vec<Child> = (0..cpus)
            .map(|cpu| start(&mut self.command(cpu, taskset, trace)))
            .collect::<Result<_, _>>()?;
        let mut peak = 0.0_f64;
        for child in children {
            peak = peak.max(peak_until_it_ends(child)?);
        }
        Ok((begin.elapsed().as_secs_f64() / cpus as f64, peak))
    }

    fn command(&self, cpu: usize, taskset: &Path, trace: &Path) -> Command {
        let mut command = if self.on == On::All {
            Command::new(self.program)
        } else {
            let mut command = Command::new(taskset);
            let cpu = cpu.to_string();
            command.args(["--cpu-list", &cpu]).arg(self.program);
            command
        };
        command.args(&self.arguments).arg(trace);
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
    let page = workspace.peers().join("trace.html");
    let commands = commands(&program, &copy, &page)?;
    let mut contenders = vec![
        theirs("babeltrace2 -o dummy", &babeltrace, &["-o", "dummy"]),
        theirs("every field", &reader, &[]),
        Contender {
            name: "every field, one on each CPU".to_owned(),
            on: On::Each,
            ..theirs("", &reader, &[])
        },
    ];
    contenders.extend(ours(&program, &commands, On::One));
    contenders.extend(ours(&program, &commands, On::All));
    let python = tracetools_python();
    if let Some(python) = &python {
        contenders.push(Contender {
            on: On::All,
            ..theirs("tracetools_analysis", python, &["-c", TRACETOOLS])
        });
    } else {
        println!("\ntracetools_analysis: left out, because python3 cannot import it (PYTHONPATH)");
    }
    let mut times: Vec<Series> = contenders.iter().map(|c| Series::named(&c.name)).collect();
    let mut peaks = vec![0.0_f64; contenders.len()];
    for round in 0..rounds {
        for number in order(round, contenders.len()) {
            let (seconds, peak) = contenders[number].timed(&taskset, &copy)?;
            times[number].values.push(seconds / events * 1e9);
            peaks[number] = peaks[number].max(peak);
        }
    }
    let title = format!("{events} events of {}, wall time", trace.display());
    figures::print(&title, "ns an event", &times, 0)?;
    if python.is_some() {
        figures::print(&title, "ns an event", &times, times.len() - 1)?;
    }
    summary(&contenders, &times, &peaks, commands.len())
}

/// Events a second, memory, and what more CPUs bring to the bare reader and to our commands, of which there are so many.
fn summary(
    contenders: &[Contender<'_>],
    times: &[Series],
    peaks: &[f64],
    commands: usize,
) -> Result<(), PeersError> {
    println!("\n  million events a second, greatest resident set, time on one CPU by that on all");
    for (at, contender) in contenders.iter().enumerate() {
        let (name, peak) = (&contender.name, peaks[at]);
        let speed = 1e3 / figures::median(&times[at].values)?;
        // Those on all CPUs stand behind those on one, in the same order.
        let on_all = match at {
            BARE_READER => times.get(at + 1),
            _ if (FIRST_OF_OURS..FIRST_OF_OURS + commands).contains(&at) => {
                times.get(at + commands)
            }
            _ => None,
        };
        let gain = on_all.map(|on_all| figures::ratio(name, &on_all.values, &times[at].values));
        let gain = gain.transpose()?.unwrap_or_default();
        println!("  {name:<38} {speed:>8.2} M/s {peak:>8.1} MB   {gain}");
    }
    Ok(())
}

/// Where the bare reader on one CPU stands among the contenders: behind babeltrace2.
const BARE_READER: usize = 1;
/// Where our commands begin: behind the bare reader on each CPU.
const FIRST_OF_OURS: usize = 3;

fn theirs<'a>(name: &str, program: &'a Path, arguments: &[&str]) -> Contender<'a> {
    Contender {
        name: format!("{name}, one CPU"),
        on: On::One,
        program,
        arguments: arguments.iter().map(ToString::to_string).collect(),
    }
}

fn ours<'a>(program: &'a Path, commands: &[Vec<String>], on: On) -> Vec<Contender<'a>> {
    let cpus = if on == On::One { "one CPU" } else { "all CPUs" };
    let contender = |arguments: &Vec<String>| Contender {
        name: format!("trace {}, {cpus}", arguments[1]),
        on,
        program,
        arguments: arguments.clone(),
    };
    commands.iter().map(contender).collect()
}

/// Our commands without the trace. What is analysed is the longest chain that the trace has, if it has one.
fn commands(program: &Path, trace: &Path, page: &Path) -> Result<Vec<Vec<String>>, PeersError> {
    let page = page.display().to_string();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut commands = vec![
        words(&["trace", "info", "--json"]),
        words(&["trace", "callbacks", "--json"]),
        words(&["trace", "links", "--json"]),
        words(&["trace", "report", "--output", &page]),
    ];
    let mut offers = Command::new(program);
    offers.args(["trace", "analyze", "--json"]).arg(trace);
    let offers = run(&mut offers, PATIENCE)?.output;
    let offers: Value = serde_json::from_str(&offers).unwrap_or_default();
    let longest = &offers["chains"][0];
    if let (Some(from), Some(to)) = (longest["from"].as_str(), longest["to"].as_str()) {
        commands.push(words(&[
            "trace", "analyze", "--json", "--from", from, "--to", to,
        ]));
    } else {
        println!("\ntrace analyze: left out, because the trace shows no chain");
    }
    Ok(commands)
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

fn start(command: &mut Command) -> Result<Child, PeersError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PeersError::io("run a reader of traces"))
}

/// The greatest resident set of a program, in MB.
fn peak_until_it_ends(mut child: Child) -> Result<f64, PeersError> {
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    loop {
        let ended = child.try_wait();
        let ended = ended.map_err(PeersError::io("wait for a reader of traces"))?;
        if let Some(status) = ended {
            if status.success() {
                return Ok(peak);
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
