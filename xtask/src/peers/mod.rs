//! Figures as ratios against a peer that is measured in the same run.
//!
//! They are printed and nothing is asserted: the machine decides how large they are. `docs/evidence/peers.md` says
//! what each row is.

mod build;
mod compose;
// The configuration of a run, from its own source: the crate around it would make every task build Arrow.
#[path = "../../../crates/stowplan-measure/src/dds.rs"]
mod configuration;
mod dds;
mod ddsperf;
mod error;
mod figures;
mod interruption;
mod machine;
mod outstanding;
mod pingpong;
mod plan;
mod process;
mod recording;
mod repeat;
mod runc;
mod services;
mod start;
mod trace;
mod ways;

use std::path::PathBuf;

use build::Workspace;
pub use error::PeersError;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Row {
    /// DDS round trip against ddsperf.
    Dds,
    /// Cost of an event, against a clock reading.
    Recording,
    /// Time of a large plan, and size of the node program.
    Plan,
    /// Reading a trace, against babeltrace2; needs `--trace`.
    Trace,
    /// Start of 26 services: oci against other engines, docker-compose and runc.
    Start,
    /// Every row.
    All,
}

/// Arguments of `cargo peers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Row to measure.
    #[arg(value_enum, default_value_t = Row::All)]
    row: Row,
    /// Rounds of each interleaved comparison.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Folder of traces: for `trace` what is read, for `recording` prints what recording them took.
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// For `trace`: reads the traces so many times in a row.
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// For `start`: how many services.
    #[arg(long, value_name = "NUMBER", default_value_t = 26, value_parser = clap::value_parser!(u16).range(1..=100))]
    services: u16,
    /// For `start`: only these ways.
    #[arg(long, value_name = "WAY", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(ways::WAYS.map(|way| way.name)))]
    ways: Vec<String>,
}

/// Measures and prints the rows asked for.
pub fn run(args: &Args) -> Result<(), PeersError> {
    let workspace = Workspace::find()?;
    let rounds = usize::from(args.rounds);
    println!("{}", machine::describe());
    let wanted = |row: Row| args.row == row || args.row == Row::All;
    if wanted(Row::Dds) {
        dds::row(&workspace, rounds)?;
    }
    if wanted(Row::Recording) {
        recording::row(&workspace, rounds, args.trace.as_deref())?;
    }
    if wanted(Row::Plan) {
        plan::row(&workspace, rounds)?;
    }
    if wanted(Row::Trace) {
        match &args.trace {
            Some(folder) => trace::row(&workspace, rounds, folder, args.repeat)?,
            None => println!("\ntrace: skipped, because no --trace DIR names a folder of traces"),
        }
    }
    // Last, as signals are taken from here on.
    if wanted(Row::Start) {
        let wanted = start::Wanted {
            services: args.services,
            ways: &args.ways,
        };
        start::row(&workspace, rounds, &wanted)?;
    }
    println!("\n{}", machine::load());
    Ok(())
}
