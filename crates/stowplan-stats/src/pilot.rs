//! How many blocks an experiment has, fixed once by its first ones.

use crate::margins::Margins;
use crate::power::blocks_for;

/// Blocks whose spread fixes the number of all (docs/measuring.md §5).
pub const PILOT_BLOCKS: usize = 10;

/// The number of blocks that a pilot of `pilot` blocks asks for, whose paired differences spread by `std`:
/// [`blocks_for`] that spread, at least the pilot's own and at most `most`.
///
/// Only the spread is looked at, never the mean, and only once; the pilot's blocks count.
#[must_use]
pub fn planned_blocks(std: f64, pilot: usize, margins: Margins, alpha: f64, most: usize) -> usize {
    let wanted = blocks_for(std, margins, alpha).unwrap_or(usize::MAX);
    wanted.max(pilot).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the table of `power`: spread 1 at a margin of 0.5 needs 34 blocks for the difference, and
    /// equivalence more.
    #[test]
    fn the_spread_decides_between_the_pilot_and_the_cap() {
        let margins = Margins::absolute(0.5);
        let planned = |std, most| planned_blocks(std, PILOT_BLOCKS, margins, 0.05, most);
        assert_eq!(planned(0.01, 60), 10, "the pilot suffices");
        let wanted = blocks_for(1.0, margins, 0.05).unwrap();
        assert!(wanted >= 34);
        assert_eq!(planned(1.0, 200), wanted);
        assert_eq!(planned(1.0, 20), 20, "the cap");
        assert_eq!(planned(1e6, 60), 60, "out of reach");
        let of_four = planned_blocks(1.0, PILOT_BLOCKS, margins, 0.05 / 4.0, 200);
        assert!(of_four > wanted, "Holm's correction costs blocks");
    }
}
