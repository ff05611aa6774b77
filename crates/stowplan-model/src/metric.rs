//! Names of what is compared, by which a difference that matters is declared beforehand (docs/measuring.md §5).

/// What the values of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// CPUs that are busy all the time.
    Cpus,
    /// A share, 0 to 1.
    Share,
}

impl MetricUnit {
    /// That of a metric of [`METRICS`]; `None` of any other.
    #[must_use]
    pub fn of(metric: &str) -> Option<Self> {
        METRICS.contains(&metric).then(|| match metric {
            "inputs_without_output" | "deadline_misses" => Self::Share,
            "cpu" | "cpu_machine" => Self::Cpus,
            _ if metric.starts_with("memory") => Self::Bytes,
            _ => Self::Time,
        })
    }

    /// The unit as results name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Bytes => "bytes",
            Self::Cpus => "cpus",
            Self::Share => "share",
        }
    }
}

/// Every metric that reports compare; a test of `stowplan-report` holds it equal to what a report has.
pub const METRICS: [&str; 28] = [
    "startup_last_node_loaded",
    "startup_first_output",
    "e2e_paper_mean",
    "e2e_paper_q50",
    "e2e_paper_p99",
    "e2e_paper_std",
    "idle_mean",
    "communication_mean",
    "computation_mean",
    "e2e_full_mean",
    "send_mean",
    "transport_mean",
    "wait_mean",
    "reaction_mean",
    "reaction_max",
    "data_age_mean",
    "data_age_max",
    "age_until_next_mean",
    "age_until_next_max",
    "mean_over_outputs_mean",
    "output_jitter",
    "inputs_without_output",
    "deadline_misses",
    "cpu",
    "cpu_machine",
    "memory_peak",
    "memory_peak_machine",
    "memory_pss",
];
