//! The options of the command line. Man pages and completions come from here too.

mod bench;
pub mod files;
mod lifecycle;
mod measure;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use stowplan_model::DdsProfile;

pub use bench::{BenchArgs, BenchCommand, ToolboxAction};
pub use lifecycle::LifecycleArgs;
pub use measure::{MeasureArgs, ReadyMadeArgs, RunArgs};

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
    /// Measure the shipped stack contended in about five minutes and write a report
    Demo(DemoArgs),
    /// Write a stack, a partition and an experiment to begin with
    New(files::NewArgs),
    /// Print a shipped stack, partition, experiment or scenario; without a name, list them
    Show(files::ShowArgs),
    /// Print the JSON Schema of a kind of file, for editors
    Schema {
        /// Kind of file
        #[arg(value_enum)]
        kind: files::FileKind,
    },
    /// Check a stack and a partition and show what would run; starts nothing
    Plan(PlanArgs),
    /// Measure the deployments of an experiment
    #[command(after_help = measure::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Compare start-up times of partitions and places
    #[command(after_help = measure::startup_end())]
    Startup(ReadyMadeArgs),
    /// Compare chain latencies of partitions and places
    #[command(after_help = measure::latency_end())]
    Latency(ReadyMadeArgs),
    /// Compare CPU and memory of partitions and places
    #[command(after_help = measure::names())]
    Usage(ReadyMadeArgs),
    /// Compare what places cost in CPU, memory, disk and network, by benchmarks
    #[command(after_help = bench::end())]
    Bench(BenchArgs),
    /// Compare how long services take to start, stop and come back after faults
    #[command(after_help = lifecycle::LIFECYCLE_EXAMPLES)]
    Lifecycle(LifecycleArgs),
    /// Test Stowplan on this machine: equal deployments, and deployments with a known difference
    Selftest(SelftestArgs),
    /// Look into recorded traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Create a stack from another project's file
    Import(ImportArgs),
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
    /// Number of blocks; fewer than 6 give no verdict
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub blocks: u32,
    /// Print every table before the conclusion; the report has them, too
    #[arg(long)]
    pub full: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Stack: a YAML file or the name of a shipped stack
    #[arg(required_unless_present = "experiment")]
    pub stack: Option<String>,
    /// Check this experiment, a file or a shipped one, against this machine and show how long it takes, instead of a stack
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stack", "json", "dot", "utilisation"])]
    pub experiment: Option<PathBuf>,
    /// With --experiment: leave out deployments that cannot run here and show the rest
    #[arg(long, conflicts_with = "stack")]
    pub skip_missing: bool,
    /// Partition: single, modules, functions, nodes, the name of a shipped one, or a YAML file
    #[arg(long, default_value = "single")]
    pub partition: String,
    /// Scale callback work to this share of the machine's CPUs, 0 to 1 [default: not scaled]
    #[arg(long)]
    pub utilisation: Option<f64>,
    /// Configuration profile of CycloneDDS [default: stowplan]
    #[arg(long, value_name = "PROFILE", value_parser = DdsProfile::ALL.map(DdsProfile::name))]
    pub dds: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "dot")]
    pub json: bool,
    /// Print the graph as DOT
    #[arg(long)]
    pub dot: bool,
}

/// Options of `selftest`.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Stack: a YAML file or the name of a shipped stack
    #[arg(default_value = "hello")]
    pub stack: String,
    /// Place of all deployments
    #[arg(long, default_value = crate::engines::FLAT)]
    pub place: String,
    /// 2 comparisons of equal deployments with 6 blocks; can fail a machine but cannot qualify it
    #[arg(long)]
    pub quick: bool,
    /// Comparisons of equal deployments, and half as many of each kind with a difference [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub comparisons: Option<u32>,
    /// Blocks of each comparison [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub blocks: Option<u32>,
    /// Length of the measured window [default: 4s]
    #[arg(long, value_name = "DURATION")]
    pub window: Option<String>,
    /// Seed of phases, draws and order [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Folder for results
    #[arg(long, default_value = "results")]
    pub out: PathBuf,
    /// Stop after this time, such as 60m; --resume continues [default: no limit]
    #[arg(long, value_name = "DURATION")]
    pub budget: Option<String>,
    /// Longest wait for a quiet machine before each run; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "20s")]
    pub settle: String,
    /// Continue an interrupted selftest
    #[arg(long, value_name = "FOLDER")]
    pub resume: Option<PathBuf>,
    /// Run in the machine's network namespace instead of one of the experiment's own
    #[arg(long)]
    pub host_network: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Commands on traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Record ROS 2 programs through LTTng
    Record(RecordArgs),
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
    /// Count links from publications to takes, by how they were found
    Links(LinksArgs),
    /// Durations of every callback, the busiest first
    Callbacks(TraceCallbacksArgs),
    /// Split the chains of a trace into computation, communication and idle
    Analyze(AnalyzeArgs),
    /// When processes, nodes and modules started up
    StartUp {
        /// Folder with one or more CTF traces
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare two traces of one system
    Compare(TraceCompareArgs),
    /// Draw nodes and messages as Graphviz DOT or SVG, with rates and latencies
    Graph(GraphArgs),
    /// Write a self-contained page of a trace: callbacks, chains, messages, start-up, graph
    Report(TraceReportArgs),
    /// Write a span of time as JSON that Perfetto and Chrome show
    Window(WindowArgs),
    /// Create a stack from a trace
    Learn(LearnArgs),
}

/// Options of `trace record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Folder for the trace, new or empty
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Record this running container of Docker or Podman instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "pid")]
    pub container: Option<String>,
    /// Record the running container in which this process of the host runs
    #[arg(long)]
    pub pid: Option<u32>,
    /// Stop after this time: the command gets SIGINT, a container keeps running
    #[arg(long = "for", value_name = "DURATION")]
    pub length: Option<String>,
    /// Trace buffer of each CPU in MiB; from rate and free memory by default
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub buffer_mib: Option<u64>,
    /// Program and arguments
    #[arg(last = true, required_unless_present_any = ["container", "pid"], conflicts_with_all = ["container", "pid"])]
    pub command: Vec<OsString>,
}

/// Options of `trace compare`.
#[derive(Debug, Args)]
pub struct TraceCompareArgs {
    /// First trace: a folder
    pub a: PathBuf,
    /// Second trace: a folder; with --learnt any number of them, one of each run
    #[arg(required = true, value_name = "B")]
    pub b: Vec<PathBuf>,
    /// Topic or node at which chains begin, as /points, filter, or node:filter where a topic has that name too; without it and a
    /// stack, the longest chains of the trace are listed
    #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
    pub from: Option<String>,
    /// Topic or node at which chains end
    #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
    pub to: Option<String>,
    /// The second trace, or traces, are of runs of the stack that `trace learn` made of the first: say what came back
    #[arg(long, conflicts_with = "from")]
    pub learnt: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `trace learn`.
#[derive(Debug, Args)]
pub struct LearnArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// File for the stack; standard output by default
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Name of the stack; that of the file by default
    #[arg(long)]
    pub name: Option<String>,
    /// Topic or node at which the stack's chain begins; by default it has its longest chains
    #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
    pub from: Option<String>,
    /// Topic or node at which the stack's chain ends
    #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
    pub to: Option<String>,
    /// Nanoseconds that an iteration of the work kernel takes; measured on this machine by default
    #[arg(long, value_name = "NS")]
    pub ns_per_iteration: Option<f64>,
    /// Traces of runs of the stack that was learnt without this option, then of those fitted before: what they added to
    /// work and launch is taken off
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub fit: Vec<PathBuf>,
    /// Print the trace's rates, durations, endpoints and launch as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `trace graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Where to write instead of standard output; SVG if it ends in .svg
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// SVG instead of DOT
    #[arg(long)]
    pub svg: bool,
    /// SVG of the nodes on the chains from this topic or node
    #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
    pub from: Option<String>,
    /// SVG of the nodes on the chains to this topic or node
    #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
    pub to: Option<String>,
    /// SVG of the nodes of a module: the first part of their namespace
    #[arg(long, conflicts_with = "from", value_name = "NAME")]
    pub module: Option<String>,
    /// With /rosout, /parameter_events and /clock
    #[arg(long)]
    pub every_topic: bool,
}

/// Options of `trace callbacks`.
#[derive(Debug, Args)]
pub struct TraceCallbacksArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Only callbacks of nodes whose full name has this in it
    #[arg(long, value_name = "TEXT")]
    pub node: Option<String>,
    /// Only callbacks that are called at least so often a second
    #[arg(long, value_name = "HZ")]
    pub min_rate: Option<f64>,
    /// Only callbacks that keep a thread busy for at least this share of the trace's span, in percent
    #[arg(long, value_name = "PERCENT")]
    pub min_busy: Option<f64>,
    /// With those of /rosout, /parameter_events and /clock in the table
    #[arg(long)]
    pub every_topic: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `trace report`.
#[derive(Debug, Args)]
pub struct TraceReportArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Where to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Topic or node at which chains begin; by default the page has the longest chains
    #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
    pub from: Option<String>,
    /// Topic or node at which chains end
    #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
    pub to: Option<String>,
}

/// Options of `trace window`.
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Where the span begins, since the first event
    #[arg(long, default_value = "0s", value_name = "DURATION")]
    pub from: String,
    /// How long it is
    #[arg(long, default_value = "1s", value_name = "DURATION")]
    pub length: String,
    /// Where to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Options of `trace links`.
#[derive(Debug, Args)]
pub struct LinksArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a line per link as CSV: times, topic, source timestamp, method, confidence, publisher, subscriber
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
    /// Link as if the middleware had not been traced
    #[arg(long)]
    pub without_dds_events: bool,
}

/// Options of `trace analyze`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("chains").args(["from", "stack", "architecture"])))]
pub struct AnalyzeArgs {
    /// Folder with one or more CTF traces
    pub dir: PathBuf,
    /// Topic or node at which chains begin
    #[arg(long, requires = "to", value_name = "TOPIC|NODE")]
    pub from: Option<String>,
    /// Topic or node at which chains end
    #[arg(long, requires = "from", value_name = "TOPIC|NODE")]
    pub to: Option<String>,
    /// Stack whose chains are looked for, instead of --from and --to
    #[arg(long, conflicts_with = "from")]
    pub stack: Option<String>,
    /// CARET's architecture file whose named paths are looked for, instead of --from and --to
    #[arg(long, conflicts_with_all = ["from", "stack"], value_name = "FILE")]
    pub architecture: Option<PathBuf>,
    /// Link and split as TUM's ros2_latency_analysis does, to hold figures beside the papers'
    #[arg(long, requires = "chains")]
    pub as_tum: bool,
    /// Write every instance of the chains as Parquet
    #[arg(long, value_name = "FILE", requires = "chains")]
    pub parquet: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// JSON topology of irobot-ros/ros2-performance
    Topology,
    /// X.system.yaml of autoware_system_designer
    Designer,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What the file is
    #[arg(value_enum)]
    pub format: ImportFormat,
    /// The file; of a topology all files that run together, each a process
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// File for the stack; standard output by default
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Mode of a system; its default one where left out
    #[arg(long)]
    pub mode: Option<String>,
    /// Folder of a system's modules and nodes; the one that holds its own by default
    #[arg(long, value_name = "DIR")]
    pub design: Option<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Reference: a result folder, or RESULT:DEPLOYMENT
    pub a: String,
    /// Candidate: a result folder, or RESULT:DEPLOYMENT
    pub b: String,
    /// Print every comparison, not only what answers the question and what differs
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// One self-contained page
    Html,
    /// The conclusion on one screen
    Conclusion,
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
    /// File to write [default: report.html in the result folder; text and markdown go to standard output]
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
