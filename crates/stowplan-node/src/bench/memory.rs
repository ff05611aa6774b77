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
        for number in 0..blocks {
            match which {
                0 => write(&mut block, number as usize),
                _ => sum = sum.wrapping_add(read(&block)),
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

/// Stores every word by itself.
#[inline(never)]
fn write(block: &mut [usize; WORDS], value: usize) {
    for word in block {
        // SAFETY: a reference is valid for writes.
        unsafe { ptr::write_volatile(word, value) };
    }
}

/// Loads every word by itself; their sum.
#[inline(never)]
fn read(block: &[usize; WORDS]) -> usize {
    let mut sum = 0_usize;
    for word in block {
        // SAFETY: a reference is valid for reads.
        sum = sum.wrapping_add(unsafe { ptr::read_volatile(word) });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_block_is_written_and_read() {
        let mut block = [0; WORDS];
        write(&mut block, 3);
        assert_eq!(block, [3; WORDS]);
        assert_eq!(read(&block), 3 * 1024 / 8);
    }
}
