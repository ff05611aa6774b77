//! The program inside a partition: DDS, executor, work, recorder.
//!
//! - `launch`: the first process of a service; starts the others, loads components, ends them.
//! - `exec`: one ROS process.
//! - `calibrate`: the speed of the work kernel on one CPU.
//! - `pingpong`: round trips over DDS without an executor.
//! - `bench`: one benchmark of the generic suite.
//! - `alive`: a health check.

mod alive;
mod announce;
mod args;
mod bench;
mod calibrate;
mod dds;
mod draw;
mod error;
mod exec;
mod executor;
mod fault;
mod fingerprint;
mod graph;
mod launch;
mod link;
mod payload;
mod pingpong;
mod plan;
mod read_back;
mod record;
mod signals;
mod sockets;
mod startup;
mod vision;
mod work;

use std::process::ExitCode;

use args::Command;
use error::NodeError;

fn main() -> ExitCode {
    let first_ns = record::now();
    // A process with a dead thread would go on as another system than the planned one.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::abort();
    }));
    match run(first_ns) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stowplan-node: {}", error.report());
            ExitCode::from(match error {
                NodeError::Usage { .. } => 2,
                _ => 1,
            })
        }
    }
}

fn run(first_ns: u64) -> Result<(), NodeError> {
    match args::parse(std::env::args().skip(1))? {
        Command::Launch { plan, files } => launch::run(&plan, &files, first_ns),
        Command::Exec(args) => exec::run(&args, first_ns),
        Command::Calibrate { working_sets, cpu } => {
            println!("{}", calibrate::calibrate(&working_sets, cpu)?);
            Ok(())
        }
        Command::PingPong(args) => {
            if let Some(result) = pingpong::run(&args)? {
                println!("{result}");
            }
            Ok(())
        }
        Command::Bench(args) => {
            println!("{}", bench::run(&args)?);
            Ok(())
        }
        Command::Alive { socket } => alive::ask(&socket),
        Command::Version => {
            println!("stowplan-node {}", stowplan_wire::build_id());
            Ok(())
        }
    }
}
