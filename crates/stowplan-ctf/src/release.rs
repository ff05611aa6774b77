//! Gives pages of a mapped file back once they were read.

use memmap2::{Mmap, UncheckedAdvice};

/// So much of all files together may lie behind the reader before it is given back, bytes …
const BEHIND: usize = 4 << 20;
/// … but of each file at least so much. Giving back interrupts every other processor that reads.
const LEAST_STEP: usize = 32 << 10;
/// Multiples of this are given back. Where pages are larger, the one that the reader is in
/// goes with them, and comes back when it is touched.
const PAGE: usize = 4 << 10;
/// Largest page of the page cache. Seen with Linux 6.18: a touch maps all of it.
const LARGE_PAGE: usize = 2 << 20;

/// What lies behind the reader of a mapped file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind<'t> {
    map: &'t Mmap,
    /// Bytes that were given back.
    given: usize,
    /// How much may lie behind, bytes.
    step: usize,
}

impl<'t> Behind<'t> {
    /// If `data` is the content of `map`, which is one of `files`.
    pub fn new(map: &'t Mmap, data: &[u8], files: usize) -> Option<Self> {
        let same = std::ptr::eq(map.as_ptr(), data.as_ptr()) && map.len() == data.len();
        same.then_some(Self {
            map,
            given: 0,
            step: (BEHIND / files.max(1)).max(LEAST_STEP),
        })
    }

    /// The reader has gone on to `at` bytes: gives back what is behind, once that is enough.
    /// Returns the place up to which there is nothing to do.
    pub fn passed(&mut self, at: usize) -> usize {
        if at >= self.next() {
            self.give(at);
        }
        self.next()
    }

    /// The reader has looked into the file and comes back later. Where the page cache has large pages, a look maps
    /// megabytes.
    pub fn rest(&self) {
        self.give_back(0, self.map.len());
    }

    /// The reader is done with the file.
    pub fn all(&mut self) {
        self.give(self.map.len());
    }

    fn next(&self) -> usize {
        self.given.saturating_add(self.step)
    }

    /// Gives back what is before `to`, whole pages.
    fn give(&mut self, to: usize) {
        let to = to.min(self.map.len()) / PAGE * PAGE;
        if to > self.given {
            // What lay behind came back where it shares a large page with what was read since.
            self.give_back(self.given / LARGE_PAGE * LARGE_PAGE, to);
            self.given = to;
        }
    }

    fn give_back(&self, from: usize, to: usize) {
        // SAFETY: the map is a private mapping of a file that is only read: pages given
        // back are read from the file again when they are touched. Nothing was ever
        // written to them that could be lost.
        let given = unsafe {
            self.map
                .unchecked_advise_range(UncheckedAdvice::DontNeed, from, to - from)
        };
        // It is only for the sake of memory: where it fails, reading works without.
        drop(given);
    }
}
