//! The options of `bench`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::measure::{CI, HOW, LONG, WHAT, lines};
use crate::engines;

const EXAMPLES: &str = "\
Examples:
  stowplan bench --quick
  stowplan bench --quick --place bare:flat,bare:grouped,docker --benchmark cpu,memory
  stowplan bench --budget 60m --published
  stowplan bench --resume results/RESULT --budget 60m
  stowplan bench toolbox build";

/// End of the help.
pub fn end() -> String {
    format!(
        "Places ('stowplan doctor' says which work here):\n{}\n\nBenchmarks:\n{}\n\n{EXAMPLES}",
        lines(&engines::PLACES),
        lines(&stowplan_bench::names())
    )
}

/// What an experiment keeps from its beginning.
const FIXED: [&str; 6] = ["place", "benchmark", "quick", "blocks", "seed", "out"];

/// What `bench` does beside measuring.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Make the userland with the papers' own tools, or say what is in it
    Toolbox(ToolboxArgs),
}

/// Options of `bench toolbox`.
#[derive(Debug, Args)]
pub struct ToolboxArgs {
    /// What to do [default: show]
    #[command(subcommand)]
    pub action: Option<ToolboxAction>,
}

/// What `bench toolbox` does.
#[derive(Debug, Subcommand)]
pub enum ToolboxAction {
    /// Say what is in the toolbox
    Show,
    /// Make it with mmdebstrap from Debian, unless it is there already
    Build {
        /// Release of Debian
        #[arg(long, default_value = "bookworm")]
        suite: String,
        /// Mirror of Debian [default: the machine's own package sources]
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
        /// Make it from the packages that Debian has now, even where there is one already
        #[arg(long)]
        update: bool,
    },
}

/// Options of `bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    /// The toolbox
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
    /// Places, separated by commas; the first is the reference [default: bare:flat,bare:grouped,oci; with --full every engine that works here as well]
    #[arg(long, value_delimiter = ',', value_name = "PLACE,…", help_heading = WHAT)]
    pub place: Vec<String>,
    /// Benchmarks, separated by commas [default: all that are built in; with --full the tools as well, where there is a toolbox]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = PossibleValuesParser::new(stowplan_bench::names()), help_heading = WHAT)]
    pub benchmark: Vec<String>,
    /// Measure each figure for 100 ms instead of 1 s, with files of 8 MiB instead of 256 MiB
    #[arg(long, help_heading = LONG)]
    pub quick: bool,
    /// Number of blocks; fewer than 6 give no verdict [default: 6; with --quick 10]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), help_heading = LONG)]
    pub blocks: Option<u32>,
    /// Stop before the first benchmark that would not fit into this time, such as 60m [default: no limit]
    #[arg(long, value_name = "DURATION", help_heading = LONG)]
    pub budget: Option<String>,
    /// Seed of the order [default: 1]
    #[arg(long, help_heading = HOW)]
    pub seed: Option<u64>,
    /// Folder for results
    #[arg(long, default_value = "results", help_heading = CI)]
    pub out: PathBuf,
    /// Continue interrupted benchmarks in their result folder
    #[arg(long, value_name = "RESULT", help_heading = CI, conflicts_with_all = FIXED)]
    pub resume: Option<PathBuf>,
    /// Print the figures of the papers as well
    #[arg(long, help_heading = CI)]
    pub published: bool,
    /// Print every figure at every place, with file systems and devices
    #[arg(long, help_heading = CI)]
    pub full: bool,
    /// Print no progress
    #[arg(long, short, help_heading = CI)]
    pub quiet: bool,
}
