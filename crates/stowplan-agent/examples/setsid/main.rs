//! An agent with one engine more: how one is added, from its traits to the conformance suite.

mod engine;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut engines = stowplan_agent::engines();
    engines.push(Box::new(engine::Setsid));
    stowplan_agent::run(engines)
}
