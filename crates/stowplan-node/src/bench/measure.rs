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

/// The same for operations of several threads, which have to be started first.
pub(super) const LONG_PIECE: Duration = Duration::from_millis(20);

/// Times that a number is tried, of which the shortest counts.
const TRIES: usize = 3;

/// Does `work` for about the given time in pieces of one number of operations: the piece that took the median time. The number is
/// found by doubling, which warms up as well. No clock is read within a piece.
pub(super) fn for_about(time: Duration, work: impl FnMut(u64)) -> Timed {
    in_pieces(PIECE, time, work)
}

/// The same in pieces of about this length.
pub(super) fn in_pieces(piece: Duration, time: Duration, mut work: impl FnMut(u64)) -> Timed {
    turns(1, piece, time, |_, count| work(count)).remove(0)
}

/// The same of `works` kinds of work that take turns, each for about the given time: what disturbs the machine for a moment meets
/// few pieces of each. Each piece has its operation once before it, because the others had the caches.
pub(super) fn in_turn(works: usize, time: Duration, work: impl FnMut(usize, u64)) -> Vec<Timed> {
    turns(works, PIECE, time, work)
}

fn turns(
    works: usize,
    piece: Duration,
    time: Duration,
    mut work: impl FnMut(usize, u64),
) -> Vec<Timed> {
    let piece = piece.min(time);
    let number = |which| number(piece, &mut |count| work(which, count));
    let counts: Vec<u64> = (0..works).map(number).collect();
    let mut pieces = vec![Vec::new(); works];
    let begin = now();
    while pieces[0].is_empty() || now() - begin < nanos(time) * works as u64 {
        for (which, (count, pieces)) in counts.iter().zip(&mut pieces).enumerate() {
            if works > 1 {
                work(which, 1);
            }
            pieces.push(timed(*count, |count| work(which, count)));
        }
    }
    pieces.into_iter().map(median).collect()
}

/// The piece with the median rate; the slower of the two in the middle.
pub(super) fn median(mut pieces: Vec<Timed>) -> Timed {
    pieces.sort_unstable_by(|a, b| b.per_second().total_cmp(&a.per_second()));
    pieces[pieces.len() / 2]
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
    fn works_take_turns_and_each_has_a_figure_of_its_own() {
        let mut calls = Vec::new();
        let both = in_turn(2, Duration::from_millis(10), |which, count| {
            calls.push((which, count));
            let micros = [100, 400][which] * count;
            std::thread::sleep(Duration::from_micros(micros));
        });
        assert!(both[0].ns >= 100_000 * both[0].count);
        assert!(both[1].ns >= 400_000 * both[1].count);
        let turn = [(0, 1), (0, both[0].count), (1, 1), (1, both[1].count)];
        assert!(calls.ends_with(&turn), "{calls:?}");
    }

    #[test]
    fn the_median_is_that_of_rates_and_not_of_times() {
        let pieces = [(10, 10), (300, 100), (8, 40)].map(|(count, ns)| Timed { count, ns });
        assert_eq!(median(pieces.to_vec()), Timed { count: 10, ns: 10 });
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
