//! The options of `lifecycle`.

use std::path::PathBuf;

use clap::Args;

const WHAT: &str = "What to measure";
const LONG: &str = "How long";
const HOW: &str = "How to run it";
const RESULTS: &str = "Results";

/// Examples at the end of the help of `lifecycle`.
pub const LIFECYCLE_EXAMPLES: &str = "\
Faults:
  crash (SIGSEGV), kill (SIGKILL), exit (status 3), hang (SIGSTOP), deadlock, memory (limit), failed-start

Examples:
  stowplan lifecycle
  stowplan lifecycle hello --place bare:flat,bare:grouped,oci,docker --faults crash,hang --blocks 20
  stowplan lifecycle --faults none --applications all
  stowplan lifecycle --scenario parking-to-intersection --place oci,docker
  stowplan lifecycle --resume results/RESULT --budget 30m";

/// Options of `lifecycle`.
#[derive(Debug, Args)]
pub struct LifecycleArgs {
    /// Stack: a YAML file or the name of a shipped stack [default: hello]
    #[arg(conflicts_with = "resume")]
    pub stack: Option<String>,
    /// Places, separated by commas; the first is the reference [default: bare:flat,bare:grouped,oci]
    #[arg(long, value_delimiter = ',', value_name = "PLACE,…", help_heading = WHAT, conflicts_with = "resume")]
    pub place: Vec<String>,
    /// Partition: a preset or a YAML file [default: modules]
    #[arg(long, help_heading = WHAT, conflicts_with = "resume")]
    pub partition: Option<String>,
    /// The service that is stopped, started and damaged while the others run [default: the first of the partition]
    #[arg(long, help_heading = WHAT, conflicts_with = "resume")]
    pub service: Option<String>,
    /// Faults, separated by commas; none tries no fault [default: all]
    #[arg(long, value_delimiter = ',', value_name = "FAULT,…", help_heading = WHAT, conflicts_with = "resume")]
    pub faults: Vec<String>,
    /// Scenario: a YAML file or the name of a shipped one; its services are started on demand, instead of verbs and faults
    #[arg(long, value_name = "SCENARIO", help_heading = WHAT,
        conflicts_with_all = ["stack", "partition", "service", "faults", "memory", "patience", "resume"])]
    pub scenario: Option<String>,
    /// How services of the scenario wait: cold, created, paused, frozen, always-on [default: as the scenario says]
    #[arg(long, value_delimiter = ',', value_name = "STRATEGY,…", help_heading = WHAT, requires = "scenario")]
    pub strategies: Vec<String>,
    /// Applications that the toolbox compiles, separated by commas: adas, control, server; all is every one [default: none]
    #[arg(long, value_delimiter = ',', value_name = "APPLICATION,…", help_heading = WHAT, conflicts_with_all = ["scenario", "resume"])]
    pub applications: Vec<String>,
    /// Memory limit of the service, where the place has memory limits [default: 256MiB]
    #[arg(long, value_name = "SIZE", help_heading = WHAT, conflicts_with = "resume")]
    pub memory: Option<String>,
    /// Longest wait until a fault is detected, and then until the engine has the service ready again; more counts as never
    /// [default: 2s]
    #[arg(long, value_name = "DURATION", help_heading = LONG, conflicts_with = "resume")]
    pub patience: Option<String>,
    /// Number of blocks, each with every operation and fault once; fewer than 6 give no verdict [default: 6]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), help_heading = LONG, conflicts_with = "resume")]
    pub blocks: Option<u32>,
    /// Stop before the first block that would not fit into this time, such as 60m [default: no limit]
    #[arg(long, value_name = "DURATION", help_heading = LONG)]
    pub budget: Option<String>,
    /// Longest wait for a quiet machine before each run; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "20s", help_heading = LONG)]
    pub settle: String,
    /// Seed of the instants and the order of faults [default: 1]
    #[arg(long, help_heading = HOW, conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// Skip places that cannot run here and measure the rest; without it nothing is started
    #[arg(long, conflicts_with = "resume", help_heading = HOW)]
    pub skip_missing: bool,
    /// Folder for results
    #[arg(long, default_value = "results", help_heading = RESULTS)]
    pub out: PathBuf,
    /// Continue an interrupted life cycle in its result folder
    #[arg(long, value_name = "RESULT", help_heading = RESULTS)]
    pub resume: Option<PathBuf>,
    /// Print the distribution of every figure and every comparison
    #[arg(long, conflicts_with = "json", help_heading = RESULTS)]
    pub full: bool,
    /// Print no progress
    #[arg(long, short, help_heading = RESULTS)]
    pub quiet: bool,
    /// Print the comparisons as JSON at the end
    #[arg(long, help_heading = RESULTS)]
    pub json: bool,
}
