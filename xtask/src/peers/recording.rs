//! Cost of recording: an event beside a clock reading, and the share of a CPU that a trace's events took.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::build::{Workspace, build_command_line, cargo};
use super::error::PeersError;
use super::figures::{self, Series, median};
use super::process::run;

/// The recorder's own measurement, a test because the recorder is part of a program and of no library. It prints
/// five pairs of lines.
const TEST: &str = "cost_of_an_event";

const EVENT: &str = "ns an event";
const CLOCK: &str = "ns a clock reading";

/// Longest time of a build and a measurement.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Measures and prints; with a folder of traces also what their recording took.
pub fn row(workspace: &Workspace, rounds: usize, trace: Option<&Path>) -> Result<(), PeersError> {
    println!("building and running {TEST} of stowplan-node (`cargo test --release`)");
    let mut event = Series::named("an event, its clock reading included");
    let mut clock = Series::named("a clock reading");
    while event.values.len() < rounds {
        let output = measure(workspace)?;
        event.values.extend(figures_before(&output, EVENT));
        clock.values.extend(figures_before(&output, CLOCK));
        if event.values.is_empty() || event.values.len() != clock.values.len() {
            let what = format!("{TEST} did not print pairs of figures");
            return Err(PeersError::output(what, &output));
        }
    }
    let per_event = median(&event.values)?;
    figures::print("recording, with three contexts", "ns", &[event, clock], 1)?;
    match trace {
        Some(folder) => share(workspace, folder, per_event),
        None => Ok(()),
    }
}

fn measure(workspace: &Workspace) -> Result<String, PeersError> {
    let mut command = Command::new(cargo());
    command
        .args(["test", "--quiet", "--release", "--package", "stowplan-node"])
        .args(["--bin", "stowplan-node", TEST])
        .args(["--", "--ignored", "--nocapture"])
        .current_dir(&workspace.root);
    Ok(run(&mut command, PATIENCE)?.output)
}

/// The number before `unit` in every line that ends in it.
fn figures_before(output: &str, unit: &str) -> Vec<f64> {
    output
        .lines()
        .filter_map(|line| line.trim().strip_suffix(unit)?.trim().parse().ok())
        .collect()
}

/// Events of a real run times what one takes.
fn share(workspace: &Workspace, folder: &Path, ns_per_event: f64) -> Result<(), PeersError> {
    let program = build_command_line(workspace)?;
    let mut command = Command::new(program);
    command.args(["trace", "info", "--json"]).arg(folder);
    let output = run(&mut command, PATIENCE)?.output;
    let (per_second, share) = share_of(&output, ns_per_event).ok_or_else(|| {
        PeersError::output("`stowplan trace info` told no events and duration", &output)
    })?;
    println!(
        "  {}: {per_second:.0} events/s, so recording took {:.3} % of one CPU",
        folder.display(),
        share * 100.0
    );
    Ok(())
}

/// Events per second, and the share of one CPU that recording them took.
fn share_of(output: &str, ns_per_event: f64) -> Option<(f64, f64)> {
    let document: Value = serde_json::from_str(output).ok()?;
    let events = document["events"].as_f64()?;
    let duration_ns = document["duration_ns"].as_f64().filter(|ns| *ns > 0.0)?;
    Some((
        events / duration_ns * 1e9,
        events * ns_per_event / duration_ns,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_by_their_unit() {
        let output = "\nrunning 1 test\n30.5 ns an event\n22.0 ns a clock reading\n31 ns an event\ntest ok\n";
        assert_eq!(figures_before(output, EVENT), [30.5, 31.0]);
        assert_eq!(figures_before(output, CLOCK), [22.0]);
    }

    #[test]
    fn a_share_is_events_times_their_cost() {
        let output = r#"{"events": 20000, "duration_ns": 2000000000}"#;
        let (per_second, share) = share_of(output, 40.0).unwrap();
        assert!((per_second - 10_000.0).abs() < 1e-6);
        assert!((share - 0.0004).abs() < 1e-12);
        assert_eq!(share_of("{}", 40.0), None);
    }
}
