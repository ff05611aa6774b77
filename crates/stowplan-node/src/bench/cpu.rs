//! Prime numbers up to 10,000 by trial division, as `sysbench cpu` counts them: one event is all of them once.

use std::hint::black_box;

use super::measure::for_about;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;

/// `--cpu-max-prime` of sysbench by default.
const MAX_PRIME: u64 = 10_000;

/// Odd primes below that: 1,229 primes less the two.
const PRIMES: u64 = 1228;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let found = primes(MAX_PRIME);
    if found != PRIMES {
        let what = format!("there are {PRIMES} odd primes below {MAX_PRIME}, not {found}");
        return Err(failed("cpu", what));
    }
    let timed = for_about(args.time, |events| {
        for _ in 0..events {
            black_box(primes(black_box(MAX_PRIME)));
        }
    });
    Ok(Found::of(vec![timed.rate("cpu_primes", "events/s", 1.0)])
        .with("threads", 1)
        .with("max-prime", MAX_PRIME))
}

/// How many numbers from 3 up to `most` no smaller one divides.
#[inline(never)]
fn primes(most: u64) -> u64 {
    let mut count = 0;
    for number in 3..most {
        let root = (number as f64).sqrt();
        let mut divisor = 2_u64;
        while divisor as f64 <= root && !number.is_multiple_of(divisor) {
            divisor += 1;
        }
        count += u64::from(divisor as f64 > root);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted_without_the_two() {
        for (most, count) in [(3, 0), (10, 3), (100, 24), (1000, 167), (MAX_PRIME, PRIMES)] {
            assert_eq!(primes(most), count, "below {most}");
        }
    }
}
