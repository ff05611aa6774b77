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
    (3..most).map(|number| u64::from(is_prime(number))).sum()
}

/// What gcc makes of the loop of sysbench: whether two divides a number is seen in its last bit, and all others are tried.
#[inline]
fn is_prime(number: u64) -> bool {
    let root = (number as f64).sqrt();
    if root < 2.0 {
        return true;
    }
    let mut divided = number.is_multiple_of(2);
    let mut divisor = 2_u64;
    while !divided {
        divisor += 1;
        // Of signed numbers: a processor has an instruction for that.
        if divisor.cast_signed() as f64 > root {
            return true;
        }
        divided = rest(number, divisor) == 0;
    }
    false
}

/// The rest of a division of 64 bits. gcc divides so, with which sysbench is built. LLVM adds a division of 32 bits for numbers that fit,
/// which takes less time.
#[cfg(target_arch = "x86_64")]
#[inline]
fn rest(number: u64, divisor: u64) -> u64 {
    let rest;
    // SAFETY: it divides registers. The divisor is not zero, and the upper half of what is divided is, so the result fits.
    unsafe {
        std::arch::asm!(
            "div {}",
            in(reg) divisor,
            inlateout("rax") number => _,
            inlateout("rdx") 0_u64 => rest,
            options(pure, nomem, nostack),
        );
    }
    rest
}

#[cfg(not(target_arch = "x86_64"))]
const fn rest(number: u64, divisor: u64) -> u64 {
    number % divisor
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
