//! Distributions of message sizes, work and jitter, as data.
//!
//! The node program draws from them with its own seeded generator, so that equal
//! seeds give equal draws in every deployment.

/// A distribution of a non-negative quantity. The unit is that of the field it stands in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same value.
    Constant(f64),
    /// Uniform over `[low, high]`.
    Uniform {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Log-normal with the given median and σ of the logarithm, cut at `max`.
    LogNormal {
        /// Median of the uncut distribution.
        median: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Greatest value; a larger draw becomes this.
        max: f64,
    },
}

impl Distribution {
    /// The mean. For the log-normal, the mean of the uncut distribution or `max`,
    /// whichever is less: exact where the cut is rarely reached.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { low, high } => f64::midpoint(low, high),
            Self::LogNormal { median, sigma, max } => {
                (median * (sigma * sigma / 2.0).exp()).min(max)
            }
        }
    }

    /// The median. For the log-normal, that of the uncut distribution or `max`, whichever is less.
    #[must_use]
    pub fn median(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { low, high } => f64::midpoint(low, high),
            Self::LogNormal { median, max, .. } => median.min(max),
        }
    }

    /// The greatest value that a draw can take.
    #[must_use]
    pub fn max(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { high, .. } => high,
            Self::LogNormal { max, .. } => max,
        }
    }

    /// The same distribution with every value multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match *self {
            Self::Constant(value) => Self::Constant(value * factor),
            Self::Uniform { low, high } => Self::Uniform {
                low: low * factor,
                high: high * factor,
            },
            Self::LogNormal { median, sigma, max } => Self::LogNormal {
                median: median * factor,
                sigma,
                max: max * factor,
            },
        }
    }

    /// The same distribution with values that are whole numbers.
    #[must_use]
    pub fn rounded(&self) -> Self {
        match *self {
            Self::Constant(value) => Self::Constant(value.round()),
            Self::Uniform { low, high } => Self::Uniform {
                low: low.round(),
                high: high.round(),
            },
            Self::LogNormal { median, sigma, max } => Self::LogNormal {
                median: median.round(),
                sigma,
                max: max.round(),
            },
        }
    }

    /// Whether every parameter is finite, not negative, and in order.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let fine = |x: f64| x.is_finite() && x >= 0.0;
        match *self {
            Self::Constant(value) => fine(value),
            Self::Uniform { low, high } => fine(low) && fine(high) && low <= high,
            Self::LogNormal { median, sigma, max } => {
                fine(median) && fine(sigma) && fine(max) && median <= max
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_the_textbook_ones() {
        assert_eq!(Distribution::Constant(3.0).mean(), 3.0);
        assert_eq!(
            Distribution::Uniform {
                low: 1.0,
                high: 4.0
            }
            .mean(),
            2.5
        );
        let log_normal = Distribution::LogNormal {
            median: 2.0,
            sigma: 0.5,
            max: 100.0,
        };
        assert!((log_normal.mean() - 2.0 * 0.125_f64.exp()).abs() < 1e-12);
    }

    #[test]
    fn scaling_scales_mean_and_max() {
        let d = Distribution::LogNormal {
            median: 2.0,
            sigma: 0.5,
            max: 10.0,
        };
        assert!((d.scaled(3.0).mean() - 3.0 * d.mean()).abs() < 1e-12);
        assert_eq!(d.scaled(3.0).max(), 30.0);
    }

    #[test]
    fn order_and_sign_are_checked() {
        assert!(
            !Distribution::Uniform {
                low: 2.0,
                high: 1.0
            }
            .is_valid()
        );
        assert!(!Distribution::Constant(-1.0).is_valid());
        assert!(!Distribution::Constant(f64::NAN).is_valid());
    }
}
