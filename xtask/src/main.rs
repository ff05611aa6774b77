//! Repository tasks: `cargo run -p xtask -- node`.

mod node;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Repository tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the two static programs, stowplan-node and stowplan-agent, and print their paths
    Node,
}

fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().task {
        Task::Node => node::build(),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
