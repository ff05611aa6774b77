//! How long a number of operations takes, where the number is such that it takes a given time.

use std::time::Duration;

use stowplan_wire::bench::BenchFigure;

use crate::record::now;

/// Operations, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) count: u64,
    pub(super) ns: u64,
}

impl Timed {
    /// Operations in a second.
    pub(super) fn per_second(self) -> f64 {
        self.count as f64 * 1e9 / self.ns.max(1) as f64
    }

    /// A rate: `scale` of its units are one operation.
    pub(super) fn rate(self, metric: &str, unit: &str, scale: f64) -> BenchFigure {
        BenchFigure {
            metric: metric.to_owned(),
            subject: None,
            unit: unit.to_owned(),
            higher_is_better: true,
            value: Some(self.per_second() * scale),
            reason: None,
            count: self.count,
            ns: self.ns,
            moved: None,
        }
    }
}

/// Takes the time of so many operations.
pub(super) fn timed(count: u64, work: impl FnOnce(u64)) -> Timed {
    let begin = now();
    work(count);
    Timed {
        count,
        ns: now() - begin,
    }
}

/// Times that a number is tried again which took much less than the given time.
const TRIES: usize = 4;

/// Does `work` for about the given time: its number is found by doubling, which warms up as well, and then measured in one
/// piece. The clock is not read in between. Where the program lost its CPU while the number was found, that is too small, and is
/// found again.
pub(super) fn for_about(time: Duration, mut work: impl FnMut(u64)) -> Timed {
    let target = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
    let mut tried = timed(1, &mut work);
    while tried.ns < target / 8 && tried.count < 1 << 40 {
        tried = timed(tried.count * 2, &mut work);
    }
    for _ in 0..TRIES {
        let count = tried.count as f64 * target as f64 / tried.ns.max(1) as f64;
        tried = timed((count as u64).max(1), &mut work);
        if tried.ns > target / 2 {
            break;
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_alone_is_measured() {
        let mut numbers = Vec::new();
        let timed = for_about(Duration::from_millis(2), |count| {
            numbers.push(count);
            std::thread::sleep(Duration::from_micros(100 * count));
        });
        assert_eq!(numbers.last(), Some(&timed.count));
        assert!(numbers.len() > 1 && timed.ns > 0, "{numbers:?}");
    }

    #[test]
    fn a_rate_is_operations_in_a_second_by_what_each_is_worth() {
        let timed = Timed {
            count: 500,
            ns: 250_000_000,
        };
        let figure = timed.rate("x", "MB/s", 0.001);
        assert_eq!(figure.value, Some(2.0));
    }
}
