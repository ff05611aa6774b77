//! Values of two deployments, paired by block.

use std::collections::BTreeMap;

use crate::metrics::Values;

/// The values of the blocks in which both deployments have one.
pub(crate) struct Blocks {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

impl Blocks {
    /// Of two deployments by id.
    pub(crate) fn of_values(values: &Values, a: &str, b: &str) -> Self {
        Self::that(values, a, b, |_| true)
    }

    /// Only of some blocks.
    pub(crate) fn that(values: &Values, a: &str, b: &str, counts: impl Fn(u32) -> bool) -> Self {
        Self::paired(values.get(a), values.get(b), counts)
    }

    /// Of two series of values by block.
    pub(crate) fn paired(
        a: Option<&BTreeMap<u32, f64>>,
        b: Option<&BTreeMap<u32, f64>>,
        counts: impl Fn(u32) -> bool,
    ) -> Self {
        let mut blocks = Self {
            a: Vec::new(),
            b: Vec::new(),
        };
        if let (Some(a), Some(b)) = (a, b) {
            for (block, value) in a {
                if let Some(other) = b.get(block)
                    && counts(*block)
                {
                    blocks.a.push(*value);
                    blocks.b.push(*other);
                }
            }
        }
        blocks
    }

    /// Paired by block, in the unit of the metric.
    pub(crate) fn differences(&self) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(a, b)| b - a).collect()
    }
}
