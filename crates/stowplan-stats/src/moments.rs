//! Moments of samples in one numerically stable pass.

use crate::Unsupported;

/// Running moments up to the fourth order, minimum and maximum.
///
/// Updates after Pébay (2008), Sandia report SAND2008-6212, which lose no
/// digits on large means with small spread, unlike sums of powers. Partial
/// results of several streams can be merged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    n: u64,
    mean: f64,
    /// Sum of squared deviations from the mean; `m3` and `m4` likewise.
    m2: f64,
    m3: f64,
    m4: f64,
    min: f64,
    max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            n: 0,
            mean: 0.0,
            m2: 0.0,
            m3: 0.0,
            m4: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Moments {
    /// Adds one sample. The caller sees to it that it is finite.
    pub fn push(&mut self, value: f64) {
        let before = self.n as f64;
        self.n += 1;
        let n = self.n as f64;
        let delta = value - self.mean;
        let delta_n = delta / n;
        let delta_n2 = delta_n * delta_n;
        let term = delta * delta_n * before;
        self.mean += delta_n;
        self.m4 += term * delta_n2 * (n * n - 3.0 * n + 3.0) + 6.0 * delta_n2 * self.m2
            - 4.0 * delta_n * self.m3;
        self.m3 += term * delta_n * (n - 2.0) - 3.0 * delta_n * self.m2;
        self.m2 += term;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all samples of another stream.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = *other;
            return;
        }
        let (a, b) = (self.n as f64, other.n as f64);
        let n = a + b;
        let delta = other.mean - self.mean;
        let delta2 = delta * delta;
        let m4 = self.m4
            + other.m4
            + delta2 * delta2 * a * b * (a * a - a * b + b * b) / (n * n * n)
            + 6.0 * delta2 * (a * a * other.m2 + b * b * self.m2) / (n * n)
            + 4.0 * delta * (a * other.m3 - b * self.m3) / n;
        let m3 = self.m3
            + other.m3
            + delta * delta2 * a * b * (a - b) / (n * n)
            + 3.0 * delta * (a * other.m2 - b * self.m2) / n;
        self.m2 += other.m2 + delta2 * a * b / n;
        self.m3 = m3;
        self.m4 = m4;
        self.mean += delta * b / n;
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many samples were added.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Arithmetic mean, in the unit of the samples.
    pub fn mean(&self) -> Result<f64, Unsupported> {
        self.at_least(1).map(|()| self.mean)
    }

    /// Smallest sample.
    pub fn min(&self) -> Result<f64, Unsupported> {
        self.at_least(1).map(|()| self.min)
    }

    /// Largest sample.
    pub fn max(&self) -> Result<f64, Unsupported> {
        self.at_least(1).map(|()| self.max)
    }

    /// Standard deviation with n−1 in the denominator, in the unit of the samples.
    pub fn std(&self) -> Result<f64, Unsupported> {
        self.at_least(2)
            .map(|()| (self.m2 / (self.n as f64 - 1.0)).sqrt())
    }

    /// Adjusted Fisher–Pearson skewness G1, as `scipy.stats.skew(bias=False)`
    /// and `pandas.Series.skew`.
    pub fn skewness(&self) -> Result<f64, Unsupported> {
        self.at_least(3)?;
        self.varied()?;
        let n = self.n as f64;
        let g1 = n.sqrt() * self.m3 / (self.m2 * self.m2.sqrt());
        Ok((n * (n - 1.0)).sqrt() / (n - 2.0) * g1)
    }

    /// Adjusted Fisher–Pearson excess kurtosis G2 (0 for a normal distribution),
    /// as `scipy.stats.kurtosis(bias=False)` and `pandas.Series.kurt`.
    pub fn kurtosis(&self) -> Result<f64, Unsupported> {
        self.at_least(4)?;
        self.varied()?;
        let n = self.n as f64;
        let g2 = n * self.m4 / (self.m2 * self.m2) - 3.0;
        Ok((n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * g2 + 6.0))
    }

    fn at_least(&self, need: u64) -> Result<(), Unsupported> {
        if self.n >= need {
            Ok(())
        } else {
            Err(Unsupported::TooFewSamples { have: self.n, need })
        }
    }

    fn varied(&self) -> Result<(), Unsupported> {
        // m2 can underflow to zero although min and max differ.
        if self.max > self.min && self.m2 > 0.0 {
            Ok(())
        } else {
            Err(Unsupported::NoVariation)
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        let mut moments = Self::default();
        for sample in samples {
            moments.push(sample);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 10] = [2.1, 3.4, 1.9, 8.7, 4.4, 5.0, 2.2, 12.5, 3.3, 4.1];

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    /// Source: numpy.mean, numpy.std(ddof=1), scipy.stats.skew and
    /// kurtosis with bias=False (scipy 1.x) on the same ten numbers.
    #[test]
    fn agrees_with_scipy() {
        let m: Moments = X.into_iter().collect();
        assert_eq!(m.n(), 10);
        assert!(near(m.mean().unwrap(), 4.76));
        assert!(near(m.std().unwrap(), 3.363_926_277_432_369_7));
        assert!(near(m.skewness().unwrap(), 1.678_027_152_452_189_5));
        assert!(near(m.kurtosis().unwrap(), 2.474_974_729_136_667));
        assert_eq!((m.min().unwrap(), m.max().unwrap()), (1.9, 12.5));
    }

    /// By hand: 1, 2, 3, 4, 5 has variance 2.5, no skew, G2 = −1.2.
    #[test]
    fn agrees_with_hand_calculation() {
        let m: Moments = (1..=5).map(f64::from).collect();
        assert!(near(m.std().unwrap(), 2.5_f64.sqrt()));
        assert!(near(m.skewness().unwrap(), 0.0));
        assert!(near(m.kurtosis().unwrap(), -1.2));
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        let shifted: Moments = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]
            .into_iter()
            .collect();
        // By hand: deviations −6, −3, 3, 6 give 90 / 3; sums of squares lose it.
        assert!(near(shifted.std().unwrap().powi(2), 30.0));
    }

    #[test]
    fn missing_figures_say_why() {
        let one: Moments = [3.0].into_iter().collect();
        assert_eq!(
            one.std(),
            Err(Unsupported::TooFewSamples { have: 1, need: 2 })
        );
        let flat: Moments = [0.1; 50].into_iter().collect();
        assert_eq!(flat.std(), Ok(0.0));
        assert_eq!(flat.skewness(), Err(Unsupported::NoVariation));
        assert_eq!(
            Moments::default().mean(),
            Err(Unsupported::TooFewSamples { have: 0, need: 1 })
        );
    }

    proptest! {
        #[test]
        fn merging_equals_pushing(
            a in prop::collection::vec(-1e3..1e3f64, 0..40),
            b in prop::collection::vec(-1e3..1e3f64, 4..40),
        ) {
            let mut merged: Moments = a.iter().copied().collect();
            merged.merge(&b.iter().copied().collect());
            let whole: Moments = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged.n(), whole.n());
            prop_assert!((merged.mean().unwrap() - whole.mean().unwrap()).abs() < 1e-9);
            prop_assert!((merged.std().unwrap() - whole.std().unwrap()).abs() < 1e-7);
            if let (Ok(x), Ok(y)) = (merged.kurtosis(), whole.kurtosis()) {
                prop_assert!((x - y).abs() < 1e-6);
            }
            if let (Ok(x), Ok(y)) = (merged.skewness(), whole.skewness()) {
                prop_assert!((x - y).abs() < 1e-6);
            }
        }
    }
}
