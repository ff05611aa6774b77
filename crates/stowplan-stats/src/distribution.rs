//! The distributions that intervals and power rest on.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

fn student(df: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, df).expect("degrees of freedom are positive wherever a spread exists")
}

/// Quantile `p` of Student's t with `df` (positive) degrees of freedom.
pub(crate) fn t_quantile(p: f64, df: f64) -> f64 {
    student(df).inverse_cdf(p)
}

/// Probability that Student's t with `df` degrees of freedom exceeds `t`.
pub(crate) fn t_above(t: f64, df: f64) -> f64 {
    student(df).sf(t)
}

/// Probability that a standard normal lies at or below `x`.
pub(crate) fn normal_below(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// Expectation of `value` over u = s/σ, the estimated over the true standard
/// deviation of `df` degrees of freedom, up to u = `end` (Simpson's rule).
///
/// `value` has to be smooth on `0..end`; beyond it counts as zero.
pub(crate) fn over_spread(df: f64, end: f64, value: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 200;
    // Nine standard deviations of u to each side hold all but 1e-15.
    let reach = 9.0 / df.sqrt();
    let low = (1.0 - reach).max(0.0);
    let high = (1.0 + reach).min(end);
    if high <= low {
        return 0.0;
    }
    let log_constant = std::f64::consts::LN_2 + df / 2.0 * (df / 2.0).ln() - ln_gamma(df / 2.0);
    let density = |u: f64| {
        let power = if df == 1.0 { 0.0 } else { (df - 1.0) * u.ln() };
        (log_constant + power - df * u * u / 2.0).exp()
    };
    let width = (high - low) / STEPS as f64;
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let u = low + width * i as f64;
            let weight = match i {
                0 | STEPS => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(u) * value(u)
        })
        .sum();
    sum * width / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: scipy.stats.t.ppf and 2·scipy.stats.t.sf(2, df).
    #[test]
    fn students_t_agrees_with_scipy() {
        for (df, q95, q975, q995, p) in [
            (
                1.0,
                6.313_751_514_675_037,
                12.706_204_736_174_694,
                63.656_741_162_871_526,
                0.295_167_235_300_866_5,
            ),
            (
                5.0,
                2.015_048_373_333_023_3,
                2.570_581_835_636_314_6,
                4.032_142_983_555_228,
                0.101_939_478_829_858_35,
            ),
            (
                9.0,
                1.833_112_932_656_237,
                2.262_157_162_798_205,
                3.249_835_541_592_126,
                0.076_552_823_770_701_02,
            ),
            (
                19.0,
                1.729_132_811_521_368_2,
                2.093_024_054_408_308_7,
                2.860_934_606_464_979_4,
                0.060_002_036_386_098_34,
            ),
            (
                100.0,
                1.660_234_326_085_339_2,
                1.983_971_518_523_551_8,
                2.625_890_521_438_017_3,
                0.048_212_178_731_133_65,
            ),
        ] {
            for (level, expected) in [(0.95, q95), (0.975, q975), (0.995, q995)] {
                let got = t_quantile(level, df);
                assert!(
                    (got - expected).abs() < 1e-8 * expected,
                    "{df} {level} {got}"
                );
            }
            assert!((2.0 * t_above(2.0, df) - p).abs() < 1e-10, "{df}");
        }
    }

    #[test]
    fn spread_density_is_one_in_total_with_a_mean_square_of_one() {
        for df in [1.0, 2.0, 5.0, 9.0, 50.0, 5_000.0] {
            assert!(
                (over_spread(df, f64::INFINITY, |_| 1.0) - 1.0).abs() < 1e-6,
                "{df}"
            );
            assert!(
                (over_spread(df, f64::INFINITY, |u| u * u) - 1.0).abs() < 1e-6,
                "{df}"
            );
        }
    }
}
