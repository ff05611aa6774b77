//! How often something of known probability happens.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::StatsError;
use crate::error::open_unit;

/// Rounding of the distribution function must not decide.
const ROUNDING: f64 = 1e-9;

/// The fewest events that are not exceeded with probability `level` in `n` independent trials, in each of which one
/// happens with probability `p`: the quantile of the binomial distribution. Both lie between 0 and 1.
pub fn binomial_quantile(n: u64, p: f64, level: f64) -> Result<u64, StatsError> {
    open_unit("probability of an event", p)?;
    open_unit("level", level)?;
    let events = Binomial::new(p, n).map_err(|_| StatsError::Parameter {
        name: "probability of an event",
        value: p,
        expected: "between 0 and 1",
    })?;
    let enough = |k: &u64| events.cdf(*k) >= level - ROUNDING;
    Ok((0..=n).find(enough).unwrap_or(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By exact sums of binomial terms: P(X ≤ 5) = 0.9568 and P(X ≤ 6) = 0.9863 for 40 trials at 6.5 %;
    /// 0.9401 and 0.9929 for X ≤ 1 and X ≤ 2 of 20 at 2 %; 0.9520 and 0.9861 for X ≤ 4 and X ≤ 5 of 40 at 5 %.
    #[test]
    fn quantiles_are_those_of_exact_sums() {
        let at = |n, p| binomial_quantile(n, p, 0.98).unwrap();
        assert_eq!((at(40, 0.065), at(20, 0.02), at(40, 0.05)), (6, 2, 5));
        assert_eq!((at(2, 0.065), at(2, 0.02), at(2, 0.05)), (1, 1, 1));
        assert_eq!(at(1, 0.02), 0, "0.98 is just reached");
        assert_eq!(at(0, 0.5), 0);
    }

    #[test]
    fn probabilities_are_checked() {
        assert!(binomial_quantile(4, 0.0, 0.98).is_err());
        assert!(binomial_quantile(4, 0.5, 1.0).is_err());
    }
}
