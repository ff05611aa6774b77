//! Moments, quantiles, intervals and comparisons.
