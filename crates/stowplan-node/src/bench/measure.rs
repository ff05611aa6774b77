//! How long a number of operations takes, where the number is such that it takes a given time.

use std::time::Duration;

use stowplan_wire::bench::BenchFigure;

use crate::record::now;

/// Operations, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timed {
    pub(super) count: u64,
    pub(super) ns: u64,
    /// Where it is the median of pieces: operations in a second of all of them.
    pub(super) whole: Option<f64>,
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
            whole: self.whole.map(|per_second| per_second * scale),
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
        whole: None,
    }
}

/// All that threads did, in a time that gives the sum of their rates: one that is done earlier does not count as waiting.
pub(super) fn each_for_itself(threads: &[Timed]) -> Timed {
    let count = threads.iter().map(|own| own.count).sum();
    let per_second: f64 = threads.iter().map(|own| own.per_second()).sum();
    Timed {
        count,
        ns: (count as f64 * 1e9 / per_second) as u64,
        whole: threads.iter().map(|own| own.whole).sum(),
    }
}

/// All that threads did, in the time until the last was done.
pub(super) fn until_the_last(threads: &[Timed]) -> Timed {
    let slowest = threads.iter().filter_map(|own| own.whole);
    let slowest = slowest.min_by(f64::total_cmp);
    Timed {
        count: threads.iter().map(|own| own.count).sum(),
        ns: threads.iter().map(|own| own.ns).max().unwrap_or(0),
        whole: slowest.map(|per_second| per_second * threads.len() as f64),
    }
}

/// Length of a piece: shorter than a time slice, so that on a busy machine some are not interrupted.
const PIECE: Duration = Duration::from_millis(2);

/// Times that a number is tried, of which the shortest counts.
const TRIES: usize = 3;

/// Does `work` for about the given time in pieces of one number of operations: the piece that took the median time. The number is
/// found by doubling, which warms up as well. No clock is read within a piece.
pub(super) fn for_about(time: Duration, mut work: impl FnMut(u64)) -> Timed {
    turns(1, time, |_, count| timed(count, &mut work)).remove(0)
}

/// Lets threads do `work` at the same time for about the given time, each in pieces of one number of operations: the median piece of
/// each. They are started once: a new thread can be on the CPU of another for some time.
pub(super) fn by_threads(
    threads: usize,
    time: Duration,
    work: impl Fn(usize, u64) + Sync,
) -> Vec<Timed> {
    let count = number(PIECE.min(time), &mut |count| {
        timed(count, |count| work(0, count)).ns
    });
    let own = |thread| {
        let begin = now();
        let mut pieces = Vec::new();
        while pieces.is_empty() || now() - begin < nanos(time) {
            pieces.push(timed(count, |count| work(thread, count)));
        }
        median(pieces)
    };
    let own = &own;
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || own(thread)))
            .collect();
        let ended = started.into_iter().map(|thread| thread.join());
        ended.map(|own| own.expect("no work panics")).collect()
    })
}

/// The same of `works` kinds of work that take turns, each for about the given time: what disturbs the machine for a moment meets
/// few pieces of each. Each piece has its operation once before it, because the others had the caches.
pub(super) fn in_turn(
    works: usize,
    time: Duration,
    mut work: impl FnMut(usize, u64),
) -> Vec<Timed> {
    turns(works, time, |which, count| {
        work(which, 1);
        timed(count, |count| work(which, count))
    })
}

fn turns(
    works: usize,
    time: Duration,
    mut measured: impl FnMut(usize, u64) -> Timed,
) -> Vec<Timed> {
    let piece = PIECE.min(time);
    let number = |which| number(piece, &mut |count| measured(which, count).ns);
    let counts: Vec<u64> = (0..works).map(number).collect();
    let mut pieces = vec![Vec::new(); works];
    let begin = now();
    while pieces[0].is_empty() || now() - begin < nanos(time) * works as u64 {
        for (which, (count, pieces)) in counts.iter().zip(&mut pieces).enumerate() {
            pieces.push(measured(which, *count));
        }
    }
    pieces.into_iter().map(median).collect()
}

/// The piece with the median rate; the slower of the two in the middle.
pub(super) fn median(mut pieces: Vec<Timed>) -> Timed {
    let count: u64 = pieces.iter().map(|piece| piece.count).sum();
    let ns: u64 = pieces.iter().map(|piece| piece.ns).sum();
    pieces.sort_unstable_by(|a, b| b.per_second().total_cmp(&a.per_second()));
    Timed {
        whole: Some(count as f64 * 1e9 / ns.max(1) as f64),
        ..pieces[pieces.len() / 2]
    }
}

/// How many operations take about so long, at least one.
fn number(time: Duration, took: &mut impl FnMut(u64) -> u64) -> u64 {
    let target = nanos(time);
    let mut shortest = |count: u64| {
        let tries = (0..TRIES).map(|_| took(count));
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
    use std::sync::atomic::{AtomicU64, Ordering};

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
    fn every_thread_has_its_median_piece() {
        let done = AtomicU64::new(0);
        let own = by_threads(2, Duration::from_millis(5), |thread, count| {
            std::thread::sleep(Duration::from_micros(100 * count * (1 + thread as u64)));
            done.fetch_add(count, Ordering::Relaxed);
        });
        let [first, second] = own[..] else {
            panic!("{own:?}");
        };
        assert_eq!(first.count, second.count);
        assert!(second.ns >= 200_000 * second.count);
        assert!(done.into_inner() >= first.count + second.count);
    }

    fn timed_of(count: u64, ns: u64, whole: Option<f64>) -> Timed {
        Timed { count, ns, whole }
    }

    #[test]
    fn the_faster_of_two_threads_waits_for_the_other_or_does_not() {
        let own = [timed_of(6, 1000, Some(5e6)), timed_of(6, 3000, Some(1e6))];
        assert_eq!(each_for_itself(&own), timed_of(12, 1500, Some(6e6)));
        assert_eq!(until_the_last(&own), timed_of(12, 3000, Some(2e6)));
    }

    #[test]
    fn the_median_is_that_of_rates_and_not_of_times() {
        let pieces = [(10, 10), (300, 100), (8, 40)];
        let pieces = pieces.map(|(count, ns)| timed_of(count, ns, None));
        let whole = Some(318e9 / 150.0);
        assert_eq!(median(pieces.to_vec()), timed_of(10, 10, whole));
    }

    #[test]
    fn a_rate_is_operations_in_a_second_by_what_each_is_worth() {
        let timed = Timed {
            count: 500,
            ns: 250_000_000,
            whole: None,
        };
        let figure = timed.rate("x", "MB/s", 0.001);
        assert_eq!(figure.value, Some(2.0));
    }
}
