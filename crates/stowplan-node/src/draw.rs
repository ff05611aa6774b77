//! Seeded draws that are equal in every deployment: a draw depends on the block's seed, on what is
//! drawn and on its number, never on time, thread or order.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stowplan_wire::service::DistributionPlan;

/// What a draw is for; keeps the draws of one number apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Iterations of a callback, by callback id and call.
    Work,
    /// Size of a message, by publisher id and call of its callback.
    Size,
    /// Jitter of a timer, by callback id and release.
    Jitter,
    /// Tags of an image, by publisher id and number of its message.
    Image,
}

/// Draws number `number` of `subject`.
#[must_use]
pub fn draw(
    seed: u64,
    purpose: Purpose,
    subject: u32,
    number: u64,
    distribution: &DistributionPlan,
) -> f64 {
    if let DistributionPlan::Constant(value) = *distribution {
        return value;
    }
    let mut generator = generator(seed, purpose, subject, number);
    match *distribution {
        DistributionPlan::Constant(value) => value,
        DistributionPlan::Uniform { low, high } => low + generator.random::<f64>() * (high - low),
        DistributionPlan::LogNormal { median, sigma, max } => {
            // Box and Muller 1958; 1 - x because the logarithm of zero is not finite.
            let radius = (-2.0 * (1.0 - generator.random::<f64>()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * generator.random::<f64>()).cos();
            (median * (sigma * normal).exp()).min(max)
        }
    }
}

/// Where the randomness of draw number `number` of `subject` comes from.
pub fn generator(seed: u64, purpose: Purpose, subject: u32, number: u64) -> Pcg64Mcg {
    let key = (u128::from(seed) << 64)
        ^ (u128::from(mix(number)) << 32)
        ^ u128::from(mix((u64::from(subject) << 8) | purpose as u64));
    // Seeding from bytes mixes nothing, so the key is mixed before.
    let mut generator = Pcg64Mcg::from_seed(key.to_le_bytes());
    // The first numbers of neighbouring multiplicative states resemble each other.
    let _first: u64 = generator.random();
    generator
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A count from a draw: nearest whole number.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is wanted"
)]
pub fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG_NORMAL: DistributionPlan = DistributionPlan::LogNormal {
        median: 100.0,
        sigma: 0.5,
        max: 1_000.0,
    };

    #[test]
    fn a_draw_depends_on_its_key_alone() {
        let of = |seed, purpose, subject, number| draw(seed, purpose, subject, number, &LOG_NORMAL);
        let first = of(1, Purpose::Work, 2, 3);
        assert_eq!(first, of(1, Purpose::Work, 2, 3));
        for other in [
            of(2, Purpose::Work, 2, 3),
            of(1, Purpose::Size, 2, 3),
            of(1, Purpose::Work, 3, 3),
            of(1, Purpose::Work, 2, 4),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        let n = 20_000;
        let mean = |distribution: &DistributionPlan| {
            (0..n)
                .map(|i| draw(7, Purpose::Work, 5, i, distribution))
                .sum::<f64>()
                / n as f64
        };
        let uniform = mean(&DistributionPlan::Uniform {
            low: 10.0,
            high: 30.0,
        });
        // Five standard errors of the mean.
        assert!((uniform - 20.0).abs() < 5.0 * 5.78 / (n as f64).sqrt());
        let log_normal = mean(&LOG_NORMAL);
        assert!((log_normal - 100.0 * 0.125_f64.exp()).abs() < 5.0 * 60.0 / (n as f64).sqrt());
    }

    #[test]
    fn limits_hold() {
        let cut = DistributionPlan::LogNormal {
            median: 100.0,
            sigma: 2.0,
            max: 150.0,
        };
        assert!((0..1_000).all(|i| draw(1, Purpose::Size, 1, i, &cut) <= 150.0));
        assert_eq!(whole(2.5), 3);
        assert_eq!(whole(-1.0), 0);
    }
}
