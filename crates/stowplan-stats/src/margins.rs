//! Which differences are too small to matter.

/// What counts as too small a difference to matter, on the scale on which
/// differences are taken: log ratios, or the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margins {
    /// Lower margin, negative.
    pub low: f64,
    /// Upper margin, positive.
    pub high: f64,
}

impl Margins {
    /// −`delta` to `delta`, in the unit of the metric.
    #[must_use]
    pub fn absolute(delta: f64) -> Self {
        Self {
            low: -delta,
            high: delta,
        }
    }

    /// A relative change of ±`delta` (0.02 is 2 %) as log ratios.
    #[must_use]
    pub fn relative(delta: f64) -> Self {
        Self {
            low: (-delta).ln_1p(),
            high: delta.ln_1p(),
        }
    }

    /// Whether a difference is larger than the margin on its side.
    #[must_use]
    pub fn exceeded_by(&self, difference: f64) -> bool {
        difference < self.low || difference > self.high
    }

    pub(crate) const NONE: Self = Self {
        low: 0.0,
        high: 0.0,
    };
}
