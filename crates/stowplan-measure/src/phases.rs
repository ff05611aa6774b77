//! Timer phases: a factor of the experiment, equal in every deployment of a block (docs/measuring.md §3).

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stowplan_model::PhaseSpan;

/// The draw that the phases of a block belong to: as many blocks as the phases are spread over, and which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseDraw {
    /// Seed of the draw.
    pub seed: u64,
    /// Number of the block in it, from 0.
    pub block: u32,
    /// Number of blocks in it.
    pub blocks: u32,
}

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

/// The phase of a timer in nanoseconds, less than its period (which is not 0): `share` of the whole period or of
/// `span`, and later by what is injected.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a period in ns fits u64"
)]
pub fn timer_phase_ns(share: f64, period_ns: u64, span: Option<&PhaseSpan>, later_ns: u64) -> u64 {
    let (from_ns, length_ns) = span.map_or((0, period_ns), |s| (s.from_ns, s.length_ns));
    let drawn = from_ns + (share * length_ns as f64) as u64;
    (drawn + later_ns) % period_ns.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_model::{CallbackRef, Name};

    #[test]
    fn a_phase_lies_in_its_span_and_is_later_by_what_is_injected() {
        assert_eq!(timer_phase_ns(0.25, 1_000, None, 0), 250);
        assert_eq!(timer_phase_ns(0.25, 1_000, None, 800), 50, "next period");
        let span = PhaseSpan {
            callback: CallbackRef {
                node: Name::new("n").unwrap(),
                callback: Name::new("timer").unwrap(),
            },
            from_ns: 700,
            length_ns: 400,
        };
        assert_eq!(timer_phase_ns(0.5, 1_000, Some(&span), 0), 900);
        assert_eq!(timer_phase_ns(1.0, 1_000, Some(&span), 0), 100);
        assert_eq!(timer_phase_ns(0.5, 1_000, Some(&span), 150), 50);
        assert_eq!(timer_phase_ns(0.5, 0, None, 0), 0, "no period, no phase");
    }

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
