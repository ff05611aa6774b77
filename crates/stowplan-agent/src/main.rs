//! The agent with all engines of Stowplan that run inside of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    stowplan_agent::run(stowplan_agent::engines())
}
