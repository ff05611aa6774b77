//! Blocks of 1 KiB written and read word by word, as `sysbench memory` does by default. They stay in the first-level cache:
//! this is the cost of the loop, not of RAM, which `ramspeed` is for.

use std::ptr;

use super::measure::in_turn;
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--memory-block-size` of sysbench by default.
const BLOCK: usize = 1024;

const WORDS: usize = BLOCK / size_of::<usize>();

/// MiB of a block.
const MIB: f64 = BLOCK as f64 / (1 << 20) as f64;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let mut block = Box::new([0_usize; WORDS]);
    let mut sum = 0_usize;
    let names = ["memory_write", "memory_read"];
    let both = in_turn(names.len(), args.time / 2, |which, blocks| {
        for _ in 0..blocks {
            match which {
                0 => write(&mut block[..]),
                _ => sum = sum.wrapping_add(read(&block[..])),
            }
        }
    });
    std::hint::black_box(sum);
    let figures = both.iter().zip(names);
    let figures = figures.map(|(timed, name)| timed.rate(name, "MiB/s", MIB));
    Ok(Found::of(figures.collect())
        .with("threads", 1)
        .with("block", format!("{BLOCK} bytes")))
}

/// Stores every word by itself, and how many words are left.
#[inline(never)]
fn write(block: &mut [usize]) {
    let mut left = block.len();
    for word in block {
        // SAFETY: a reference is valid for writes.
        unsafe { ptr::write_volatile(word, left) };
        left -= 1;
        keep();
    }
}

/// Loads every word by itself; their sum.
#[inline(never)]
fn read(block: &[usize]) -> usize {
    let mut sum = 0_usize;
    for word in block {
        // SAFETY: a reference is valid for reads.
        sum = sum.wrapping_add(unsafe { ptr::read_volatile(word) });
        keep();
    }
    sum
}

/// Nothing, which keeps a loop as it is: the original's is not unrolled.
#[inline]
fn keep() {
    // SAFETY: there is no instruction.
    unsafe { std::arch::asm!("", options(nomem, nostack, preserves_flags)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_block_is_written_and_read() {
        let mut block = [0; WORDS];
        write(&mut block);
        assert_eq!(block, std::array::from_fn(|word| WORDS - word));
        assert_eq!(read(&block), WORDS * (WORDS + 1) / 2);
    }
}
