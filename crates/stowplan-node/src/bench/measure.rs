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

/// Length of a piece: shorter than a time slice, so that on a busy machine some are not interrupted.
const PIECE: Duration = Duration::from_millis(2);

/// Times that a number is tried, of which the shortest counts.
const TRIES: usize = 3;

/// Does `work` for about the given time in pieces of one number of operations: the piece that took the median time. The number is
/// found by doubling, which warms up as well. No clock is read within a piece.
pub(super) fn for_about(time: Duration, mut work: impl FnMut(u64)) -> Timed {
    let count = number(PIECE.min(time), &mut work);
    let (target, mut all) = (nanos(time), 0);
    let mut pieces = Vec::new();
    while pieces.is_empty() || all < target {
        let piece = timed(count, &mut work);
        all += piece.ns;
        pieces.push(piece);
    }
    median(pieces)
}

/// The one of some pieces that took the median time; the later of the two in the middle.
pub(super) fn median(mut pieces: Vec<Timed>) -> Timed {
    pieces.sort_unstable_by_key(|piece| piece.ns);
    pieces[pieces.len() / 2]
}

/// The same in one piece, for operations of several threads that have to be started first.
pub(super) fn at_once(time: Duration, mut work: impl FnMut(u64)) -> Timed {
    let count = number(time, &mut work);
    timed(count, work)
}

/// How many operations take about so long, at least one.
fn number(time: Duration, work: &mut impl FnMut(u64)) -> u64 {
    let target = nanos(time);
    let mut shortest = |count: u64| {
        let tries = (0..TRIES).map(|_| timed(count, &mut *work).ns);
        tries.min().unwrap_or(0).max(1)
    };
    let mut count = 1;
    let mut ns = shortest(count);
    while ns < target / 8 && count < 1 << 40 {
        count *= 2;
        ns = shortest(count);
    }
    let wanted = count as f64 * target as f64 / ns as f64;
    (wanted as u64).max(1)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_number_are_measured_and_the_median_counts() {
        let mut numbers = Vec::new();
        let timed = for_about(Duration::from_millis(20), |count| {
            numbers.push(count);
            std::thread::sleep(Duration::from_micros(100 * count));
        });
        let last = numbers.iter().rev();
        let pieces = last.take_while(|number| **number == timed.count).count();
        assert!(
            pieces > 0 && timed.ns >= 100_000 * timed.count,
            "{numbers:?}"
        );
    }

    #[test]
    fn what_is_done_at_once_is_measured_in_its_last_number() {
        let mut numbers = Vec::new();
        let timed = at_once(Duration::from_millis(2), |count| {
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
