//! Reading and writing one file in blocks, one after another or in random order, as `sysbench fileio` does; with and without
//! fsync(2), through the page cache and past it.
//!
//! Each figure has what the kernel counted at block devices beside it, so that a page cache cannot pass for a disk.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stowplan_wire::bench::{BenchFigure, Direction, FileAccess, Moved};

use super::measure::Timed;
use super::storage::{Aligned, DeviceBytes, device_bytes, folder, forget, open, resident};
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;
use crate::record::now;

/// `--file-block-size` and `--file-fsync-freq` of sysbench by default.
const BLOCK: usize = 16 << 10;
const FSYNC_EVERY: u64 = 100;

/// What is measured, in this order: what is read is what was written before.
const ALL: [(Direction, FileAccess); 6] = [
    (Direction::Write, FileAccess::Buffered),
    (Direction::Write, FileAccess::Synced),
    (Direction::Write, FileAccess::Direct),
    (Direction::Read, FileAccess::Buffered),
    (Direction::Read, FileAccess::Cold),
    (Direction::Read, FileAccess::Direct),
];

/// Order of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    measure(args, Order::Sequential)
}

pub(super) fn run_random(args: &BenchArgs) -> Result<Found, NodeError> {
    measure(args, Order::Random)
}

fn measure(args: &BenchArgs, order: Order) -> Result<Found, NodeError> {
    let (folder, storage) = folder(args)?;
    let path = folder.join(format!("file-{}", std::process::id()));
    let made = fill(&path, args.bytes);
    let made = made.map_err(|error| failed(&args.name, format!("{}: {error}", path.display())));
    let mut figures = Vec::new();
    if made.is_ok() {
        for (direction, access) in ALL {
            let own = match direction {
                Direction::Read => args.read.as_deref().unwrap_or(&path),
                Direction::Write => &path,
            };
            figures.push(one(args, order, own, direction, access));
        }
    }
    // What is in the way of removing it was in the way of making it.
    let _ = fs::remove_file(&path);
    made?;
    let found = Found {
        storage: Some(storage),
        ..Found::of(figures)
    };
    Ok(found
        .with("block", format!("{BLOCK} bytes"))
        .with("file", format!("{} bytes", args.bytes))
        .with(
            "fsync",
            format!("after every {FSYNC_EVERY} blocks and at the end"),
        ))
}

/// Makes the file, so that nothing of it is still to be allocated when it is written again.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let file = open(path, true, false)?;
    let mut block = Aligned::new(BLOCK);
    for number in 0..bytes / BLOCK as u64 {
        file.write_all_at(block.get(), number * BLOCK as u64)?;
    }
    file.sync_all()
}

/// One figure; why there is none, where something failed.
fn one(
    args: &BenchArgs,
    order: Order,
    path: &Path,
    direction: Direction,
    access: FileAccess,
) -> BenchFigure {
    let metric = match (order, direction) {
        (Order::Sequential, Direction::Read) => "file_seq_read",
        (Order::Sequential, Direction::Write) => "file_seq_write",
        (Order::Random, Direction::Read) => "file_rnd_read",
        (Order::Random, Direction::Write) => "file_rnd_write",
    };
    let result = pass(args, order, path, direction, access);
    let (timed, moved) = match result {
        Ok((timed, moved)) => (Ok(timed), Some(moved)),
        Err(error) => (Err(error), None),
    };
    let empty = Timed {
        count: 0,
        ns: 0,
        whole: None,
    };
    let rate = timed.as_ref().copied().unwrap_or(empty);
    let figure = rate.rate(metric, "MB/s", BLOCK as f64 / 1e6);
    BenchFigure {
        subject: Some(access.word().to_owned()),
        value: figure.value.filter(|_| timed.is_ok()),
        reason: timed
            .err()
            .map(|error| format!("{}: {error}", path.display())),
        moved,
        ..figure
    }
}

/// Blocks of a file until the time is over; a cold file once at most.
fn pass(
    args: &BenchArgs,
    order: Order,
    path: &Path,
    direction: Direction,
    access: FileAccess,
) -> io::Result<(Timed, Moved)> {
    let writes = direction == Direction::Write;
    let file = open(path, writes, access == FileAccess::Direct)?;
    let all = file.metadata()?.len().min(args.bytes) / BLOCK as u64;
    if all == 0 {
        return Err(io::Error::other("the file is shorter than a block"));
    }
    let resident = match direction {
        Direction::Write => None,
        Direction::Read => Some(ready(&file, access, all * BLOCK as u64)?),
    };
    let most = if access == FileAccess::Cold {
        all
    } else {
        u64::MAX
    };
    let end = u64::try_from(args.time.as_nanos() / ALL.len() as u128).unwrap_or(u64::MAX);
    let mut block = Aligned::new(BLOCK);
    let mut numbers = Numbers::new(order, all, access == FileAccess::Cold);
    let before = device_bytes();
    let begin = now();
    let mut count = 0;
    while count == 0 || (count < most && now() - begin < end) {
        let at = numbers.next() * BLOCK as u64;
        if writes {
            file.write_all_at(block.get(), at)?;
        } else {
            file.read_exact_at(block.get(), at)?;
        }
        count += 1;
        if access == FileAccess::Synced && count % FSYNC_EVERY == 0 {
            file.sync_all()?;
        }
    }
    if access == FileAccess::Synced {
        file.sync_all()?;
    }
    let ns = now() - begin;
    let after = device_bytes();
    let moved = Moved {
        direction,
        access,
        bytes: count * BLOCK as u64,
        from_device: between(before, after, |bytes| bytes.read),
        to_device: between(before, after, |bytes| bytes.written),
        resident,
    };
    if writes {
        // What is dirty would be written while the next figure is measured.
        file.sync_all()?;
    }
    Ok((
        Timed {
            count,
            ns,
            whole: None,
        },
        moved,
    ))
}

fn between(
    before: Option<DeviceBytes>,
    after: Option<DeviceBytes>,
    of: fn(DeviceBytes) -> u64,
) -> Option<u64> {
    Some(of(after?).saturating_sub(of(before?)))
}

/// Brings the file into the page cache, or out of it; the share of it that is there.
fn ready(file: &File, access: FileAccess, bytes: u64) -> io::Result<f64> {
    if access == FileAccess::Buffered {
        let mut block = vec![0; BLOCK];
        for number in 0..bytes / BLOCK as u64 {
            file.read_exact_at(&mut block, number * BLOCK as u64)?;
        }
    } else {
        forget(file)?;
    }
    resident(file, bytes)
}

/// Numbers of blocks.
enum Numbers {
    InOrder(std::iter::Cycle<std::ops::Range<u64>>),
    /// Drawn anew each time.
    Drawn {
        all: u64,
        draw: Pcg64Mcg,
    },
    /// Each once, in an order that is drawn: a block that was read is in the page cache.
    Shuffled(Vec<u64>),
}

impl Numbers {
    fn new(order: Order, all: u64, once: bool) -> Self {
        let mut draw = Pcg64Mcg::seed_from_u64(1);
        match order {
            Order::Sequential => Self::InOrder((0..all).cycle()),
            Order::Random if once => {
                let mut numbers: Vec<u64> = (0..all).collect();
                numbers.shuffle(&mut draw);
                Self::Shuffled(numbers)
            }
            Order::Random => Self::Drawn { all, draw },
        }
    }

    fn next(&mut self) -> u64 {
        match self {
            Self::InOrder(numbers) => numbers.next().unwrap_or(0),
            Self::Drawn { all, draw } => draw.random_range(0..*all),
            Self::Shuffled(numbers) => numbers.pop().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::args;

    fn files(folder: &Path, name: &str) -> BenchArgs {
        BenchArgs {
            folder: Some(folder.to_owned()),
            disk: Some("volume".to_owned()),
            ..args(name)
        }
    }

    #[test]
    fn bytes_that_are_counted_are_those_of_the_blocks() {
        let folder = tempfile::tempdir().unwrap();
        for (name, order) in [
            ("file-sequential", run as fn(&_) -> _),
            ("file-random", run_random),
        ] {
            let found = order(&files(folder.path(), name)).unwrap();
            assert_eq!(found.figures.len(), ALL.len());
            for figure in found.figures {
                let Some(moved) = figure.moved else {
                    // Not every file system takes O_DIRECT.
                    assert_eq!(figure.subject.as_deref(), Some("O_DIRECT"), "{figure:?}");
                    continue;
                };
                assert_eq!(moved.bytes, figure.count * BLOCK as u64);
                assert!(moved.bytes > 0);
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = run(&files(Path::new("/nowhere/at/all"), "file-sequential"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }

    #[test]
    fn a_warm_file_is_in_the_page_cache_and_a_forgotten_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fill(&path, 1 << 20).unwrap();
        let file = open(&path, false, false).unwrap();
        let there = ready(&file, FileAccess::Buffered, 1 << 20).unwrap();
        assert!((there - 1.0).abs() < f64::EPSILON, "{there}");
        assert!(ready(&file, FileAccess::Cold, 1 << 20).unwrap() <= there);
    }

    #[test]
    fn blocks_come_in_order_and_begin_again() {
        let mut numbers = Numbers::new(Order::Sequential, 3, false);
        let five: Vec<u64> = (0..5).map(|_| numbers.next()).collect();
        assert_eq!(five, [0, 1, 2, 0, 1]);
        let mut numbers = Numbers::new(Order::Random, 7, false);
        assert!((0..100).all(|_| numbers.next() < 7));
    }

    #[test]
    fn no_block_of_a_cold_file_is_read_twice() {
        let mut numbers = Numbers::new(Order::Random, 500, true);
        let drawn: Vec<u64> = (0..500).map(|_| numbers.next()).collect();
        let mut sorted = drawn.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..500));
        assert_ne!(sorted, drawn);
    }
}
