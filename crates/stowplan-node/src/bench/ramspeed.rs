//! Bandwidth of caches and memory, as RAMspeed by R. Hollander and P. Bolotoff measures it: writing, reading, copying, scaling,
//! adding and both at once (triad), of integers and of floating-point numbers.
//!
//! A block is everything that an operation touches: copying has two halves, adding three thirds. One MB is 10^6 bytes.

use std::hint::black_box;
use std::ops::{Add, Mul};

use stowplan_wire::bench::BenchFigure;

use super::measure::{Timed, in_turn};
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// Blocks that lie in the first, second and third cache of most machines, and in RAM.
pub(super) const BLOCKS: [(usize, &str); 4] = [
    (16 << 10, "16 KiB"),
    (256 << 10, "256 KiB"),
    (4 << 20, "4 MiB"),
    (64 << 20, "64 MiB"),
];

const WORD: usize = 8;

/// Part of the time that a figure has: all 48 of them take about three times as long as another benchmark.
const PART: u32 = 16;

/// A number of the benchmark.
trait Number: Copy + Default + Add<Output = Self> + Mul<Output = Self> {
    const NAME: &'static str;
    const THREE: Self;
}

impl Number for u64 {
    const NAME: &'static str = "int";
    const THREE: Self = 3;
}

impl Number for f64 {
    const NAME: &'static str = "float";
    const THREE: Self = 3.0;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Write,
    Read,
    Copy,
    Scale,
    Add,
    Triad,
}

impl Operation {
    const ALL: [Self; 6] = [
        Self::Write,
        Self::Read,
        Self::Copy,
        Self::Scale,
        Self::Add,
        Self::Triad,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Copy => "copy",
            Self::Scale => "scale",
            Self::Add => "add",
            Self::Triad => "triad",
        }
    }

    /// Arrays that the block is divided into.
    const fn arrays(self) -> usize {
        match self {
            Self::Write | Self::Read => 1,
            Self::Copy | Self::Scale => 2,
            Self::Add | Self::Triad => 3,
        }
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let mut figures = Vec::new();
    // One and the same memory for both kinds of numbers, touched before anything is measured.
    let mut words = vec![1_u64; BLOCKS[BLOCKS.len() - 1].0 / WORD];
    all(args, &mut words, &mut figures);
    let mut words: Vec<f64> = words.into_iter().map(|_| 1.0).collect();
    all(args, &mut words, &mut figures);
    Ok(Found::of(figures)
        .with("threads", 1)
        .with("word", "8 bytes")
        .with("MB", "10^6 bytes"))
}

fn all<N: Number>(args: &BenchArgs, words: &mut [N], figures: &mut Vec<BenchFigure>) {
    let kinds: Vec<(usize, &str, Operation)> = BLOCKS
        .iter()
        .flat_map(|(bytes, name)| Operation::ALL.map(|operation| (*bytes, *name, operation)))
        .collect();
    let length = |bytes: usize, operation: Operation| bytes / WORD / operation.arrays();
    let timed = in_turn(kinds.len(), args.time / PART, |which, times| {
        let (bytes, _, operation) = kinds[which];
        let words = &mut words[..bytes / WORD];
        for _ in 0..times {
            once(operation, black_box(&mut *words), length(bytes, operation));
        }
    });
    let each = kinds.iter().zip(timed);
    figures.extend(each.map(|((bytes, name, operation), timed)| {
        figure::<N>(*operation, name, length(*bytes, *operation), timed)
    }));
}

fn figure<N: Number>(
    operation: Operation,
    block: &str,
    length: usize,
    timed: Timed,
) -> BenchFigure {
    let megabytes = moved(operation, length) as f64 / 1e6;
    let metric = format!("ram_{}_{}", N::NAME, operation.name());
    BenchFigure {
        subject: Some(block.to_owned()),
        ..timed.rate(&metric, "MB/s", megabytes)
    }
}

/// Bytes that an operation on arrays of this length reads and writes.
fn moved(operation: Operation, length: usize) -> usize {
    operation.arrays() * length * WORD
}

/// Once through the block.
#[inline(never)]
fn once<N: Number>(operation: Operation, words: &mut [N], length: usize) {
    let (a, rest) = words.split_at_mut(length);
    match operation {
        Operation::Write => a.fill(black_box(N::THREE)),
        Operation::Read => {
            black_box(sum(a));
        }
        Operation::Copy => rest[..length].copy_from_slice(a),
        Operation::Scale => {
            for (to, from) in rest[..length].iter_mut().zip(&*a) {
                *to = N::THREE * *from;
            }
        }
        Operation::Add | Operation::Triad => {
            let (b, c) = rest.split_at_mut(length);
            let both = a.iter().zip(&*b);
            if operation == Operation::Add {
                for (to, (a, b)) in c[..length].iter_mut().zip(both) {
                    *to = *a + *b;
                }
            } else {
                for (to, (a, b)) in c[..length].iter_mut().zip(both) {
                    *to = N::THREE * *a + *b;
                }
            }
        }
    }
}

/// Sum of all numbers, in eight strands so that no addition has to wait for the one before.
fn sum<N: Number>(numbers: &[N]) -> N {
    let mut sums = [N::default(); 8];
    let mut chunks = numbers.chunks_exact(8);
    for chunk in &mut chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum = *sum + *number;
        }
    }
    let rest = chunks.remainder().iter().chain(&sums);
    rest.fold(N::default(), |sum, number| sum + *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after<N: Number>(operation: Operation, numbers: &[N]) -> Vec<N> {
        let mut words = numbers.to_vec();
        let length = words.len() / operation.arrays();
        once(operation, &mut words, length);
        words
    }

    #[test]
    fn every_operation_does_what_its_name_says() {
        let from = [1, 2, 3, 4, 5, 6_u64];
        assert_eq!(after(Operation::Write, &from), [3; 6]);
        assert_eq!(after(Operation::Read, &from), from);
        assert_eq!(after(Operation::Copy, &from), [1, 2, 3, 1, 2, 3]);
        assert_eq!(after(Operation::Scale, &from), [1, 2, 3, 3, 6, 9]);
        assert_eq!(after(Operation::Add, &from), [1, 2, 3, 4, 4, 6]);
        assert_eq!(after(Operation::Triad, &from), [1, 2, 3, 4, 6, 10]);
        let numbers: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(sum(&numbers).to_bits(), 171_f64.to_bits());
    }

    #[test]
    fn what_is_moved_is_the_block() {
        for (operation, bytes) in [
            (Operation::Read, 4800),
            (Operation::Copy, 4800),
            (Operation::Triad, 4800),
        ] {
            assert_eq!(
                moved(operation, 600 / operation.arrays()),
                bytes,
                "{operation:?}"
            );
        }
    }
}
