//! The calibration by which work that a stack gives in time became iterations: kept with the request, so that every
//! deployment, every block and every resumed session does the same work.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use stowplan_model::WorkSpeed;
use stowplan_model::units::show_ns;
use stowplan_results::{Assumption, date};
use stowplan_spec::TimedWork;

/// A calibration of the work kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// When it was measured.
    pub measured_unix_s: u64,
    /// Nanoseconds of an iteration within the first-level cache.
    pub ns_per_iteration: f64,
    /// Larger working sets in bytes, each with the nanoseconds of an iteration over it.
    pub larger: Vec<(u64, f64)>,
}

impl Calibration {
    /// What was measured just now.
    #[must_use]
    pub fn now(speed: &WorkSpeed) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            measured_unix_s: since.unwrap_or_default().as_secs(),
            ns_per_iteration: speed.ns(),
            larger: speed.larger().to_vec(),
        }
    }

    /// The speed that it found.
    #[must_use]
    pub fn speed(&self) -> WorkSpeed {
        WorkSpeed::new(self.ns_per_iteration, self.larger.iter().copied())
    }

    /// What it made of work in time, in a sentence.
    #[must_use]
    pub fn sentence(&self, work: &TimedWork) -> String {
        format!(
            "work of {} is {:.0} iterations at {:.0} iterations/s, calibration of {}",
            show_ns(work.ns),
            work.iterations,
            1e9 / work.ns_per_iteration,
            date(self.measured_unix_s)
        )
    }

    /// The same as a result keeps it.
    pub(crate) fn assumption(&self, work: &TimedWork) -> Assumption {
        Assumption {
            parameter: work.path.clone(),
            value: format!("{:.0} iterations", work.iterations),
            range: None,
            why: Some(self.sentence(work)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_kept_and_says_what_it_made_of_a_time() {
        let speed = WorkSpeed::new(1.25, [(1 << 20, 2.5)]);
        let calibration = Calibration {
            measured_unix_s: 1_764_115_200,
            ..Calibration::now(&speed)
        };
        let text = serde_json::to_string(&calibration).unwrap();
        let read: Calibration = serde_json::from_str(&text).unwrap();
        assert_eq!(read.speed(), speed);
        let work = TimedWork {
            path: "nodes.a.work.iterations".to_owned(),
            ns: 5e6,
            iterations: 4e6,
            ns_per_iteration: 1.25,
            line: 1,
        };
        let kept = read.assumption(&work);
        assert_eq!(kept.value, "4000000 iterations");
        assert_eq!(
            kept.why.as_deref(),
            Some(
                "work of 5.00 ms is 4000000 iterations at 800000000 iterations/s, calibration of 2025-11-26"
            )
        );
    }
}
