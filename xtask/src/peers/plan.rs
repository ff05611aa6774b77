//! Time of `stowplan plan` for a large stack, and size of the node program.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::build::{Workspace, build_command_line};
use super::error::PeersError;
use super::figures::median;
use super::process::run;

const MODULES: usize = 100;
const NODES_EACH: usize = 10;

/// Measures and prints both.
pub fn row(workspace: &Workspace, rounds: usize) -> Result<(), PeersError> {
    let node = workspace.static_programs()?.join("stowplan-node");
    plan_time(workspace, rounds)?;
    node_size(&node)
}

fn plan_time(workspace: &Workspace, rounds: usize) -> Result<(), PeersError> {
    let program = build_command_line(workspace)?;
    let stack = workspace.peers().join("thousand.yaml");
    fs::create_dir_all(workspace.peers())
        .and_then(|()| fs::write(&stack, stack_text()))
        .map_err(PeersError::io(format!("write {}", stack.display())))?;
    check(&plan(&program, &stack, Calibration::Measured)?)?;
    println!(
        "\nplan of {} nodes in {MODULES} services, from start of the process to its end, {rounds} runs",
        MODULES * NODES_EACH
    );
    for (name, calibration) in [
        ("plan alone", Calibration::None),
        ("with calibration of the machine", Calibration::Measured),
    ] {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let start = Instant::now();
            plan(&program, &stack, calibration)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        println!(
            "  {name:<38} median {:.1} ms, longest {longest:.1} ms",
            median(&times)?
        );
    }
    Ok(())
}

/// Whether the command runs the node program to learn the machine's speed, which takes longer than the plan.
#[derive(Clone, Copy)]
enum Calibration {
    None,
    Measured,
}

fn plan(program: &Path, stack: &Path, calibration: Calibration) -> Result<String, PeersError> {
    let mut command = Command::new(program);
    command
        .arg("plan")
        .arg(stack)
        .args(["--partition", "modules", "--json"]);
    if matches!(calibration, Calibration::None) {
        // The plan then says that utilisation is not known, and why.
        command.env("STOWPLAN_NODE", "/nonexistent");
    }
    Ok(run(&mut command, Duration::from_secs(120))?.output)
}

fn check(output: &str) -> Result<(), PeersError> {
    let document: Value = serde_json::from_str(output)
        .map_err(|error| PeersError::output(format!("plan printed no JSON: {error}"), output))?;
    let services = document["services"].as_array().map_or(0, Vec::len);
    if document["nodes"] == MODULES * NODES_EACH && services == MODULES {
        return Ok(());
    }
    Err(PeersError::output(
        format!(
            "the plan has {} nodes in {services} services",
            document["nodes"]
        ),
        output,
    ))
}

fn node_size(program: &Path) -> Result<(), PeersError> {
    let size = fs::metadata(program)
        .map_err(PeersError::io(format!("look at {}", program.display())))?
        .len();
    println!("stowplan-node: {size} bytes ({:.2} MB)", size as f64 / 1e6);
    Ok(())
}

/// A stack of chains: in every module a sensor at 10 Hz, eight filters and a sink that hears the next module too.
fn stack_text() -> String {
    let mut text = String::from(
        "name: thousand\ndescription: A hundred modules of ten nodes, made to time the planner.\n\
         profile: humble\nqos: { reliability: best_effort, depth: 1 }\n\
         kinds:\n  work:\n    small: { iterations: 1000, working_set: 16KiB }\ntopics:\n",
    );
    for module in 0..MODULES {
        for step in 0..NODES_EACH - 1 {
            writeln!(text, "  /m{module}/t{step}: 1kB").expect("a String takes any text");
        }
    }
    text.push_str("modules:\n");
    for module in 0..MODULES {
        module_text(&mut text, module).expect("a String takes any text");
    }
    text
}

fn module_text(text: &mut String, module: usize) -> std::fmt::Result {
    writeln!(text, "  m{module}:\n    work: small\n    nodes:")?;
    writeln!(
        text,
        "      m{module}_n0: {{ timer: 10Hz, publishes: /m{module}/t0 }}"
    )?;
    for step in 1..NODES_EACH - 1 {
        writeln!(
            text,
            "      m{module}_n{step}: {{ subscribes: /m{module}/t{}, publishes: /m{module}/t{step} }}",
            step - 1
        )?;
    }
    let next = (module + 1) % MODULES;
    let last = NODES_EACH - 1;
    writeln!(
        text,
        "      m{module}_n{last}: {{ subscribes: [/m{module}/t{}, /m{next}/t0] }}",
        last - 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_has_a_thousand_nodes() {
        let text = stack_text();
        let nodes = text
            .lines()
            .filter(|line| line.starts_with("      m"))
            .count();
        assert_eq!(nodes, MODULES * NODES_EACH);
        assert!(text.contains("m99_n9: { subscribes: [/m99/t8, /m0/t0] }"));
    }

    #[test]
    fn a_plan_of_another_stack_is_refused() {
        let error = check(r#"{"nodes": 12, "services": [1, 2]}"#).unwrap_err();
        assert!(error.to_string().contains("12 nodes in 2 services"));
    }
}
