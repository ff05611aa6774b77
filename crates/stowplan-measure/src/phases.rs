//! Timer phases: a factor of the experiment, equal in every deployment of a block (MEASURING §3).

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The phase of a timer in one block, as a share of its period in `[0, 1)`.
///
/// The period is cut into as many strata as there are blocks; each block gets a stratum of
/// its own by a permutation that depends on `seed` and `callback` alone, and a place inside
/// the stratum. So phases are spread evenly over the period across the blocks, are the same
/// for every deployment of a block, and those of two timers are independent.
///
/// # Panics
/// When `block` is not less than `blocks`.
#[must_use]
pub fn phase_share(seed: u64, callback: u32, block: u32, blocks: u32) -> f64 {
    assert!(block < blocks, "block {block} of {blocks}");
    let mut draw = Pcg64::new(u128::from(seed), u128::from(callback));
    let mut strata: Vec<u32> = (0..blocks).collect();
    strata.shuffle(&mut draw);
    let stratum = strata[block as usize];
    let mut inside = Pcg64::seed_from_u64(seed ^ (u64::from(callback) << 32) ^ u64::from(block));
    (f64::from(stratum) + inside.random::<f64>()) / f64::from(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_a_stratum_of_its_own() {
        for callback in 0..20 {
            let mut strata: Vec<u32> = (0..8)
                .map(|block| (phase_share(7, callback, block, 8) * 8.0).floor() as u32)
                .collect();
            strata.sort_unstable();
            assert_eq!(strata, (0..8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_phase_and_another_another() {
        assert_eq!(phase_share(7, 3, 1, 6), phase_share(7, 3, 1, 6));
        assert_ne!(phase_share(7, 3, 1, 6), phase_share(8, 3, 1, 6));
        assert_ne!(phase_share(7, 3, 1, 6), phase_share(7, 4, 1, 6));
    }
}
