//! The options of the command line. Man pages and completions come from here too.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Find out where each part of a vehicle's software should run, by starting and measuring it.
#[derive(Debug, Parser)]
#[command(
    name = "stowplan",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this machine can do, and what to install or change for the rest
    Doctor(DoctorArgs),
    /// Run the whole path in under three minutes and end with a report
    Demo(DemoArgs),
    /// Show and check a stack and a partition before anything is started
    Plan(PlanArgs),
    /// Measure the deployments of an experiment file
    Run(RunArgs),
    /// Compare start-up times of partitions and places
    Startup(ReadyMadeArgs),
    /// Compare chain latencies of partitions and places
    Latency(ReadyMadeArgs),
    /// Compare CPU and memory of partitions and places
    Usage(ReadyMadeArgs),
    /// Look into recorded traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Compare two results, or two deployments of one result
    Compare(CompareArgs),
    /// Write the report of a result
    Report(ReportArgs),
    /// Remove what a killed run left behind, and nothing else
    Clean(CleanArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// Folder for the pages
        dir: PathBuf,
    },
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for results
    #[arg(long, default_value = "results")]
    pub out: PathBuf,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Stack: a YAML file or the name of a shipped stack
    pub stack: String,
    /// Partition: a preset or a YAML file
    #[arg(long, default_value = "single")]
    pub partition: String,
    /// Scale callback work to this utilisation of the machine, 0 to 1
    #[arg(long)]
    pub utilisation: Option<f64>,
    /// Print JSON
    #[arg(long, conflicts_with = "dot")]
    pub json: bool,
    /// Print the graph as DOT
    #[arg(long)]
    pub dot: bool,
    /// Print the JSON Schema of stack files instead
    #[arg(long)]
    pub schema: bool,
}

/// What `run` and the ready-made experiments share.
#[derive(Debug, Args, Clone)]
pub struct MeasureArgs {
    /// Folder for results
    #[arg(long, default_value = "results")]
    pub out: PathBuf,
    /// Most time to spend, as 60m; whole blocks only
    #[arg(long, value_name = "DURATION")]
    pub budget: Option<String>,
    /// Longest wait for a quiet machine before each run; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "20s")]
    pub settle: String,
    /// Go on with an interrupted result folder
    #[arg(long, value_name = "RESULT")]
    pub resume: Option<PathBuf>,
    /// Keep the traces of every run
    #[arg(long)]
    pub keep_traces: bool,
    /// Exit with 7 when no primary comparison has a verdict
    #[arg(long)]
    pub require_verdict: bool,
    /// Print the comparisons as JSON at the end
    #[arg(long)]
    pub json: bool,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiment file; not needed with --resume
    #[arg(required_unless_present = "resume")]
    pub experiment: Option<PathBuf>,
    /// How it is measured
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Options of the ready-made experiments.
#[derive(Debug, Args)]
pub struct ReadyMadeArgs {
    /// Stack: a YAML file or the name of a shipped stack; not needed with --resume
    #[arg(required_unless_present = "resume")]
    pub stack: Option<String>,
    /// Places, separated by commas; the first is the reference
    #[arg(long, value_delimiter = ',', value_name = "PLACE,…")]
    pub place: Vec<String>,
    /// Partitions, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PARTITION,…")]
    pub partition: Vec<String>,
    /// Number of blocks; below 6 every verdict is inconclusive
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub blocks: Option<u32>,
    /// Length of the measured window, as 10s
    #[arg(long, value_name = "DURATION")]
    pub window: Option<String>,
    /// Scale callback work to this utilisation of the machine, 0 to 1
    #[arg(long)]
    pub utilisation: Option<f64>,
    /// Seed of phases, draws and order
    #[arg(long)]
    pub seed: Option<u64>,
    /// How it is measured
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Commands on traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Count what is in a trace
    Info {
        /// Folder with one or more CTF traces
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Add counts by event name
        #[arg(long)]
        events: bool,
    },
    /// Split the chains of a trace into computation, communication and idle
    Analyze {
        /// Folder with one or more CTF traces
        dir: PathBuf,
        /// Topic or node at which chains begin
        #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
        from: Option<String>,
        /// Topic or node at which chains end
        #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
        to: Option<String>,
        /// Stack whose chains are looked for, instead of --from and --to
        #[arg(long, conflicts_with = "from", required_unless_present = "from")]
        stack: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Reference: a result folder, or RESULT:DEPLOYMENT
    pub a: String,
    /// Candidate: a result folder, or RESULT:DEPLOYMENT
    pub b: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// One self-contained page
    Html,
    /// Tables for a terminal
    Text,
    /// Tables in Markdown
    Markdown,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Result folder
    pub result: PathBuf,
    /// Form
    #[arg(long, value_enum, default_value = "html")]
    pub form: ReportForm,
    /// File for the HTML; report.html in the result folder by default
    #[arg(long, short)]
    pub output: Option<PathBuf>,
}

/// Options of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_options_are_consistent() {
        Cli::command().debug_assert();
    }
}
