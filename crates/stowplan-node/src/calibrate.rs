//! Speed of the work kernel on one CPU, by the CPU time that it takes.

use std::time::Duration;

use stowplan_wire::host::{CALIBRATION_SCHEMA, Calibration, Calibrations};

use crate::error::NodeError;
use crate::record;
use crate::work::WorkingSet;

/// Windows of all working sets together, and most of one: what a calibration takes does not grow with their number.
const WINDOWS: usize = 90;
const MOST_REPEATS: usize = 61;

/// Shorter than a time slice: on a busy machine some windows are then not interrupted.
const TARGET_NS: u64 = 2_000_000;

/// Callbacks follow a rest, too: a CPU that has slept is some percent slower than one that has not.
const REST: Duration = Duration::from_millis(6);

/// A working set, and what its windows took.
struct Windows {
    bytes: u64,
    work: WorkingSet,
    iterations: u64,
    ns_per_iteration: Vec<f64>,
}

impl Windows {
    fn new(bytes: u64) -> Self {
        let mut windows = Self {
            bytes,
            work: WorkingSet::new(bytes),
            iterations: 1 << 16,
            ns_per_iteration: Vec::new(),
        };
        // Brings the working set into the cache and the CPU to its frequency.
        while windows.cpu_ns() < TARGET_NS {
            windows.iterations *= 2;
        }
        windows
    }

    fn cpu_ns(&self) -> u64 {
        let begin = record::thread_cpu();
        self.work.run(self.iterations);
        record::thread_cpu() - begin
    }

    fn measure(&mut self) {
        let ns = self.cpu_ns() as f64 / self.iterations as f64;
        self.ns_per_iteration.push(ns);
    }

    fn calibration(mut self) -> Calibration {
        self.ns_per_iteration.sort_by(f64::total_cmp);
        let last = self.ns_per_iteration.len() - 1;
        Calibration {
            working_set_bytes: self.bytes,
            iterations: self.iterations,
            ns_per_iteration: self.ns_per_iteration[last / 2],
            least_ns_per_iteration: self.ns_per_iteration[0],
            greatest_ns_per_iteration: self.ns_per_iteration[last],
        }
    }
}

/// Measures the kernel on one CPU over each of these working sets in bytes, and describes the result as JSON.
///
/// # Errors
/// When the CPU cannot be had.
pub fn calibrate(working_sets: &[u64], cpu: u32) -> Result<String, NodeError> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| NodeError::Pin {
        cpu,
        source: error.into(),
    })?;
    let mut all: Vec<Windows> = working_sets
        .iter()
        .map(|bytes| Windows::new(*bytes))
        .collect();
    let repeats = (WINDOWS / all.len().max(1)).clamp(1, MOST_REPEATS);
    for _ in 0..repeats {
        // One after another: the working sets of a stack follow each other, too, and what drifts is common to all.
        for windows in &mut all {
            std::thread::sleep(REST);
            windows.measure();
        }
    }
    let measured = Calibrations {
        schema: CALIBRATION_SCHEMA.to_owned(),
        cpu,
        repeats: repeats as u64,
        working_sets: all.into_iter().map(Windows::calibration).collect(),
    };
    Ok(serde_json::to_string(&measured).expect("numbers and a text are JSON"))
}
