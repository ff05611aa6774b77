//! Samples of durations whose memory can be kept from growing with their number.

use stowplan_stats::{Sorted, supports};

use crate::distribution::Distribution;

/// Samples of a callback that are always kept as they are.
const FEW: usize = 64;
/// Buckets per octave: the middle of a bucket is within 0.2 % of what it holds.
const PER_OCTAVE: u64 = 256;
const OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();

/// A sample of durations in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durations {
    count: u64,
    sum: i128,
    min: i64,
    max: i64,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Exact(Vec<i64>),
    Counted(Counts),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

/// What all samples of a survey may take together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Samples that may still be kept as they are.
    pub left: usize,
}

impl Default for Budget {
    /// 8 MB.
    fn default() -> Self {
        Self { left: 1 << 20 }
    }
}

impl Durations {
    /// Adds a sample. When the budget is used up, this one is counted in buckets.
    pub fn add(&mut self, ns: i64, budget: &mut Budget) {
        if self.count == 0 {
            (self.min, self.max) = (ns, ns);
        }
        self.count += 1;
        self.sum += i128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        match &mut self.values {
            Values::Exact(values) if budget.left > 0 || values.len() < FEW => {
                values.push(ns);
                budget.left = budget.left.saturating_sub(1);
            }
            Values::Exact(values) => {
                let mut counts = Counts::default();
                values.iter().for_each(|&value| counts.add(value));
                counts.add(ns);
                self.values = Values::Counted(counts);
            }
            Values::Counted(counts) => counts.add(ns),
        }
    }

    /// Durations at these shares (0 to 1) of the samples, after Hyndman and Fan 7; `None` without samples.
    pub fn quantiles(&self, shares: &[f64]) -> Option<Vec<f64>> {
        if self.count == 0 {
            return None;
        }
        match &self.values {
            Values::Exact(values) => {
                let sorted = Sorted::new(values.iter().map(|&ns| ns as f64).collect()).ok()?;
                Some(shares.iter().map(|&q| sorted.quantile(q)).collect())
            }
            Values::Counted(counts) => {
                let (min, max) = (self.min as f64, self.max as f64);
                let at = |&q: &f64| counts.quantile(q, self.count).clamp(min, max);
                Some(shares.iter().map(at).collect())
            }
        }
    }

    /// The distribution; `None` without samples.
    pub fn distribution(self) -> Option<Distribution> {
        let counts = match self.values {
            Values::Exact(values) => return Distribution::of(values),
            Values::Counted(counts) => counts,
        };
        let (min, max) = (self.min as f64, self.max as f64);
        let any = |q| counts.quantile(q, self.count).clamp(min, max);
        let quantile = |q| supports(self.count, q).map(|()| any(q));
        Some(Distribution {
            count: self.count,
            mean_ns: self.sum as f64 / self.count as f64,
            min_ns: self.min,
            median_ns: any(0.5),
            q50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: self.max,
            exact: false,
        })
    }
}

/// Buckets that are allocated together.
const BLOCK: usize = 32;

/// How many samples lie in each bucket. Buckets are of equal width in an octave.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// Octave, first bucket and counts of blocks that hold any, ascending.
    blocks: Vec<(u32, u32, Box<[u32; BLOCK]>)>,
}

impl Counts {
    fn add(&mut self, ns: i64) {
        let (octave, at) = bucket(ns.max(0).unsigned_abs());
        let (first, at) = ((at / BLOCK * BLOCK) as u32, at % BLOCK);
        let key = (octave, first);
        let index = match self.blocks.binary_search_by_key(&key, |b| (b.0, b.1)) {
            Ok(index) => index,
            Err(index) => {
                let empty = Box::new([0; BLOCK]);
                self.blocks.insert(index, (octave, first, empty));
                index
            }
        };
        let count = &mut self.blocks[index].2[at];
        *count = count.saturating_add(1);
    }

    /// After Hyndman and Fan 7, with samples spread evenly over their bucket.
    fn quantile(&self, q: f64, count: u64) -> f64 {
        let rank = q * (count - 1) as f64;
        let mut before = 0.0;
        let mut last = 0.0;
        for (octave, first, buckets) in &self.blocks {
            for (at, &inside) in buckets.iter().enumerate() {
                let inside = f64::from(inside);
                if inside > 0.0 && rank < before + inside {
                    let (low, width) = bounds(*octave, u64::from(*first) + at as u64);
                    return low + width * (rank - before + 0.5) / inside.max(1.0);
                }
                if inside > 0.0 {
                    let (low, width) = bounds(*octave, u64::from(*first) + at as u64);
                    last = low + width;
                }
                before += inside;
            }
        }
        last
    }
}

/// Octave and bucket in it. The first octave holds 0 to 255, one by one.
fn bucket(value: u64) -> (u32, usize) {
    if value < PER_OCTAVE {
        return (0, value as usize);
    }
    let octave = value.ilog2() - OCTAVE_BITS + 1;
    (octave, ((value >> (octave - 1)) - PER_OCTAVE) as usize)
}

/// Least value and width of a bucket.
fn bounds(octave: u32, at: u64) -> (f64, f64) {
    match octave.checked_sub(1) {
        None => (at as f64, 1.0),
        Some(shift) => (((at + PER_OCTAVE) << shift) as f64, (1_u64 << shift) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values() {
        for value in (0..2000).chain([1 << 20, (1 << 20) + 4096, u64::from(u32::MAX), 1 << 62]) {
            let (octave, at) = bucket(value);
            let (low, width) = bounds(octave, at as u64);
            let value = value as f64;
            assert!(low <= value && value < low + width, "{value}");
            assert!(width <= 1.0 || width / low <= 1.0 / 256.0);
        }
    }

    #[test]
    fn counted_samples_differ_little_from_exact_ones() {
        let mut none = Budget { left: 0 };
        let mut all = Budget::default();
        let (mut counted, mut exact) = (Durations::default(), Durations::default());
        let mut draw = 1_u64;
        for _ in 0..20_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let ns = 1_000 + (draw >> 40) as i64 % 5_000_000;
            counted.add(ns, &mut none);
            exact.add(ns, &mut all);
        }
        let (counted, exact) = (
            counted.distribution().unwrap(),
            exact.distribution().unwrap(),
        );
        assert!(exact.exact && !counted.exact);
        assert_eq!((counted.count, counted.min_ns), (exact.count, exact.min_ns));
        assert_eq!(
            (counted.max_ns, counted.mean_ns),
            (exact.max_ns, exact.mean_ns)
        );
        for (a, b) in [
            (counted.q50_ns.unwrap(), exact.q50_ns.unwrap()),
            (counted.p99_ns.unwrap(), exact.p99_ns.unwrap()),
        ] {
            assert!((a / b - 1.0).abs() < 0.004, "{a} and {b}");
        }
    }

    #[test]
    fn quantiles_of_few_samples_are_the_samples() {
        let mut durations = Durations::default();
        assert_eq!(durations.quantiles(&[0.5]), None);
        for ns in [40, 10, 30, 20] {
            durations.add(ns, &mut Budget::default());
        }
        let thirds = [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0];
        assert_eq!(
            durations.quantiles(&thirds).unwrap(),
            [10.0, 20.0, 30.0, 40.0]
        );
    }

    #[test]
    fn quantiles_of_counted_samples_differ_little() {
        let mut none = Budget { left: 0 };
        let mut durations = Durations::default();
        (0..=10_000).for_each(|ns| durations.add(1_000 + ns, &mut none));
        let found = durations.quantiles(&[0.0, 0.25, 1.0]).unwrap();
        for (found, exact) in found.into_iter().zip([1_000.0, 3_500.0, 11_000.0]) {
            assert!((found / exact - 1.0_f64).abs() < 0.004, "{found} {exact}");
        }
    }
}
