//! Moments, quantiles, intervals and comparisons.
//!
//! Pure functions: nothing here reads a file, a clock or a source of
//! randomness. What draws at random takes a seed and gives the same figures
//! for the same seed.
//!
//! Two levels are kept apart. *Samples* (thousands within a run) are described:
//! [`Summary`], [`Sketch`], [`Histogram`]. *Runs* (one value per block and
//! deployment) are compared: [`compare`]. Samples of a run are never used to
//! state the uncertainty between deployments, because they are not independent.
#![forbid(unsafe_code)]

mod across_experiments;
mod attribute;
mod binomial;
mod bootstrap;
mod compare;
mod distribution;
mod error;
mod histogram;
mod holm;
mod interval;
mod margins;
mod moments;
mod pilot;
mod power;
mod quantile;
mod sign_flip;
mod sketch;
mod spread;
mod summary;
mod verdict;
mod williams;

pub use across_experiments::{AcrossComparison, apply_holm_across, compare_across};
pub use attribute::{Attribution, attribute};
pub use binomial::binomial_quantile;
pub use bootstrap::{BOOTSTRAP_RESAMPLES, MIN_BOOTSTRAP_PAIRS, studentised_bootstrap};
pub use compare::{PairedComparison, Rule, compare};
pub use error::{StatsError, Unsupported};
pub use histogram::Histogram;
pub use holm::{apply_holm, holm};
pub use interval::{Estimate, Interval, t_interval};
pub use margins::Margins;
pub use moments::Moments;
pub use pilot::{PILOT_BLOCKS, planned_blocks};
pub use power::{
    MAX_BLOCKS, TARGET_POWER, blocks_for, blocks_for_difference, blocks_for_equivalence,
    half_width, power_of_difference, power_of_equivalence,
};
pub use quantile::{MIN_BEYOND, Sorted, supports};
pub use sign_flip::{EXACT_PAIRS, MONTE_CARLO_FLIPS, SignFlip, sign_flip};
pub use sketch::{DEFAULT_POINTS, Sketch, SketchPoint};
pub use spread::{SpreadComparison, compare_spread};
pub use summary::{Figure, Missing, Summary};
pub use verdict::{ALPHA, DEFAULT_DELTA, Delta, Direction, MIN_BLOCKS, Reason, Scale, Verdict};
pub use williams::williams;
