//! Gives pages of a mapped file back once they were read.

use memmap2::{Mmap, UncheckedAdvice};

/// So much of each file may lie behind the reader before it is given back, bytes.
const STEP: usize = 32 << 10;
/// Multiples of this are given back. Where pages are larger, the one that the reader is in
/// goes with them, and comes back when it is touched.
const PAGE: usize = 4 << 10;

/// What lies behind the reader of a mapped file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind<'t> {
    map: &'t Mmap,
    /// Bytes that were given back.
    given: usize,
}

impl<'t> Behind<'t> {
    /// If `data` is the content of `map`.
    pub fn new(map: &'t Mmap, data: &[u8]) -> Option<Self> {
        let same = std::ptr::eq(map.as_ptr(), data.as_ptr()) && map.len() == data.len();
        same.then_some(Self { map, given: 0 })
    }

    /// The reader has gone on to `at` bytes: gives back what is behind. Returns the
    /// place up to which there is nothing to do.
    pub fn passed(&mut self, at: usize) -> usize {
        let to = at.min(self.map.len()) / PAGE * PAGE;
        if to > self.given {
            // SAFETY: the map is a private mapping of a file that is only read: pages given
            // back are read from the file again when they are touched. Nothing was ever
            // written to them that could be lost.
            let given = unsafe {
                self.map.unchecked_advise_range(
                    UncheckedAdvice::DontNeed,
                    self.given,
                    to - self.given,
                )
            };
            // It is only for the sake of memory: where it fails, reading works without.
            if given.is_ok() {
                self.given = to;
            }
        }
        to.max(self.given).saturating_add(STEP)
    }
}
