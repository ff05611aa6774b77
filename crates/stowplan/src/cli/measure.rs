//! The options of commands that measure: `run`, and the ready-made experiments.

use std::path::PathBuf;

use clap::Args;
use stowplan_model::{DdsProfile, Launching, METRICS};
use stowplan_plan::Preset;
use stowplan_spec::RunOptions;

use crate::engines;

pub(super) const WHAT: &str = "What to measure";
pub(super) const LONG: &str = "How long";
pub(super) const HOW: &str = "How to run it";
pub(super) const CI: &str = "Results and CI";

/// Examples at the end of the help of `run`.
pub const RUN_EXAMPLES: &str = "\
Examples:
  stowplan run parking/experiment.yaml
  stowplan run parking/experiment.yaml --budget 60m
  stowplan run --resume results/RESULT --budget 60m";

/// Examples at the end of the help of `startup`.
const STARTUP_EXAMPLES: &str = "\
Examples:
  stowplan startup hello
  stowplan startup parking/stack.yaml --place bare:flat,bare:grouped,docker --partition modules
  stowplan startup parking/stack.yaml --place bare:flat --launch ros2,native";

/// Examples at the end of the help of `latency`.
const LATENCY_EXAMPLES: &str = "\
Examples:
  stowplan latency hello
  stowplan latency parking/stack.yaml --place bare:flat,bare:grouped,oci --window 10s
  stowplan latency --against results/RESULT parking/stack.yaml --delta e2e_paper_mean=3%";

/// End of the help of `startup`.
pub fn startup_end() -> String {
    format!("{}\n\n{STARTUP_EXAMPLES}", names())
}

/// End of the help of `latency`.
pub fn latency_end() -> String {
    format!("{}\n\n{LATENCY_EXAMPLES}", names())
}

/// What `--place`, `--partition` and `--delta` take.
pub fn names() -> String {
    let presets = Preset::ALL.map(Preset::name);
    let tables = stowplan_spec::shipped_partition_names();
    let partitions: Vec<&str> = presets.into_iter().chain(tables).collect();
    format!(
        "Places ('stowplan doctor' says which work here):\n{}\n\nPartitions:\n{}\n\nMetrics:\n{}",
        lines(&engines::PLACES),
        lines(&partitions),
        lines(&METRICS)
    )
}

/// Names in lines that fit the narrowest terminal.
pub(super) fn lines(names: &[&str]) -> String {
    const WIDTH: usize = 78;
    let mut text = String::from(" ");
    let mut width = 1;
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { "," } else { "" };
        if width + 1 + name.len() + comma.len() > WIDTH {
            text += "\n ";
            width = 1;
        }
        text += &format!(" {name}{comma}");
        width += 1 + name.len() + comma.len();
    }
    text
}

/// What an experiment keeps from its beginning, so that nobody can say it again with `--resume`.
const FIXED: [&str; 7] = [
    "out",
    "delta",
    "RunOptions",
    "dds",
    "parallelism",
    "launch",
    "natural_phase",
];

/// What `run` and the ready-made experiments share.
#[derive(Debug, Args, Clone)]
pub struct MeasureArgs {
    /// Folder for results
    #[arg(long, default_value = "results", help_heading = CI)]
    pub out: PathBuf,
    /// Stop before the first block that would not fit into this time, such as 60m [default: no limit]
    #[arg(long, value_name = "DURATION", help_heading = LONG)]
    pub budget: Option<String>,
    /// Longest wait for a quiet machine before each run; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "20s", help_heading = LONG)]
    pub settle: String,
    /// Continue an interrupted experiment in its result folder
    #[arg(long, value_name = "RESULT", help_heading = CI, conflicts_with_all = FIXED)]
    pub resume: Option<PathBuf>,
    /// Smallest difference of a metric that matters, such as e2e_paper_mean=3% [default: 2% of each metric]
    #[arg(long, value_name = "METRIC=SHARE", value_delimiter = ',', help_heading = CI)]
    pub delta: Vec<String>,
    /// Switches that experiment files have, too
    #[command(flatten)]
    pub options: RunOptions,
    /// Configuration profile of CycloneDDS [default: stowplan; 'run' takes that of the file]
    #[arg(long, value_name = "PROFILE", value_parser = DdsProfile::ALL.map(DdsProfile::name), help_heading = HOW)]
    pub dds: Option<String>,
    /// Services created and started at once [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = HOW)]
    pub parallelism: Option<u32>,
    /// Launcher to use; list two to compare them, reference first [default: ros2]
    #[arg(long, value_name = "LAUNCHER", value_delimiter = ',', value_parser = Launching::ALL.map(Launching::name), help_heading = HOW)]
    pub launch: Vec<String>,
    /// Do not re-align timers; idle and end-to-end latency then get no verdict
    #[arg(long, help_heading = HOW)]
    pub natural_phase: bool,
    /// Skip deployments that cannot run here and measure the rest; without it nothing is started
    #[arg(long, conflicts_with = "resume", help_heading = HOW)]
    pub skip_missing: bool,
    /// Re-measure the deployments of an earlier result alongside; exit with 6 on a regression
    #[arg(long, value_name = "RESULT", help_heading = CI)]
    pub against: Option<PathBuf>,
    /// With --against: compare with the stored figures instead of re-measuring, relative to the shared reference
    #[arg(long, requires = "against", help_heading = CI)]
    pub as_measured: bool,
    /// Exit with 6 when the mean of a metric is above this in any deployment, such as deadline_misses=1% or
    /// e2e_paper_p99=80ms
    #[arg(long, value_name = "METRIC=MOST", value_delimiter = ',', help_heading = CI)]
    pub require: Vec<String>,
    /// Exit with 7 when no primary comparison has a verdict
    #[arg(long, help_heading = CI)]
    pub require_verdict: bool,
    /// Print every table before the conclusion; the report has them, too
    #[arg(long, conflicts_with = "json", help_heading = CI)]
    pub full: bool,
    /// Print no progress
    #[arg(long, short, help_heading = CI)]
    pub quiet: bool,
    /// Print the comparisons as JSON at the end; with --against, those with the earlier result
    #[arg(long, help_heading = CI)]
    pub json: bool,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiment: a file, or the name of a shipped one; not needed with --resume
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub experiment: Option<PathBuf>,
    /// How it is measured
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Options of the ready-made experiments.
#[derive(Debug, Args)]
pub struct ReadyMadeArgs {
    /// Stack: a YAML file or the name of a shipped stack; not needed with --resume
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub stack: Option<String>,
    /// Places, separated by commas; the first is the reference [default: bare:flat,bare:grouped,oci; 'startup':
    /// bare:flat,oci]
    #[arg(long, value_delimiter = ',', value_name = "PLACE,…", help_heading = WHAT, conflicts_with = "resume")]
    pub place: Vec<String>,
    /// Partitions, separated by commas: presets or YAML files [default: single,modules]
    #[arg(long, value_delimiter = ',', value_name = "PARTITION,…", help_heading = WHAT, conflicts_with = "resume")]
    pub partition: Vec<String>,
    /// Measure the isolation features of `oci` one at a time, on one partition, and report the effect of each
    #[arg(long, help_heading = WHAT, conflicts_with = "resume")]
    pub ablation: bool,
    /// Number of blocks; fewer than 6 give no verdict [default: 6; with --pilot at most 60]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), help_heading = LONG, conflicts_with = "resume")]
    pub blocks: Option<u32>,
    /// Choose the number of blocks from the first 10
    #[arg(long, help_heading = LONG, conflicts_with = "resume")]
    pub pilot: bool,
    /// Vary the assumed parameters of the stack from block to block, and report how often the ranking of the partitions
    /// stays the same
    #[arg(long, help_heading = WHAT, conflicts_with = "resume")]
    pub sensitivity: bool,
    /// Length of the measured window [default: 20s; 'startup': 0s]
    #[arg(long, value_name = "DURATION", help_heading = LONG, conflicts_with = "resume")]
    pub window: Option<String>,
    /// Time between the last match of endpoints and the window; for 'startup' the longest wait for the first outputs
    /// [default: 2s; 'startup': 3s]
    #[arg(long, value_name = "DURATION", help_heading = LONG, conflicts_with = "resume")]
    pub warm_up: Option<String>,
    /// Scale callback work to this share of the machine's CPUs, 0 to 1 [default: not scaled]
    #[arg(long, value_name = "SHARE", help_heading = WHAT, conflicts_with = "resume")]
    pub utilisation: Option<f64>,
    /// Seed of phases, draws and order [default: 1]
    #[arg(long, help_heading = HOW, conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// How it is measured
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_lines_that_fit_a_terminal() {
        assert!(lines(&METRICS).lines().count() > 3);
        for line in names().lines() {
            assert!(line.chars().count() < 80, "{line}");
        }
    }
}
