//! One file per command.

mod against;
mod bench;
mod clean;
mod compare;
mod doctor;
mod files;
mod import;
mod learn;
mod lifecycle;
mod manual;
mod measure;
mod new;
mod plan;
mod report;
mod require;
mod selftest;
mod trace;

use crate::cli::Command;
use crate::failure::CommandError;

#[cfg(test)]
pub use selftest::example as selftest_example;

/// Does what the user asked for.
pub fn run(command: Command) -> Result<(), CommandError> {
    match command {
        Command::Doctor(args) => doctor::run(&args),
        Command::Demo(args) => measure::demo(&args),
        Command::New(args) => new::run(&args),
        Command::Show(args) => files::show(&args),
        Command::Schema { kind } => files::schema(kind),
        Command::Plan(args) => plan::run(&args),
        Command::Run(args) => measure::run(&args),
        Command::Startup(args) => measure::startup(&args),
        Command::Latency(args) => measure::latency(&args),
        Command::Usage(args) => measure::usage(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Lifecycle(args) => lifecycle::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { dir } => manual::pages(&dir),
    }
}
