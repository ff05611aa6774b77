//! Why a figure cannot be had.

use serde::{Deserialize, Serialize};

/// The input does not permit the computation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// There is nothing to compute from.
    #[error("no samples")]
    Empty,
    /// A value is infinite or not a number.
    #[error("sample {index} is {value}, not a finite number")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// A log ratio was asked of a value at or below zero.
    #[error("block {block} is {value}: a log ratio needs values above zero")]
    NotPositive {
        /// Position in the input, from 0.
        block: usize,
        /// The offending value.
        value: f64,
    },
    /// Two paired inputs differ in length.
    #[error("{reference} blocks of the reference against {candidate} of the candidate")]
    Unpaired {
        /// Values of the reference.
        reference: usize,
        /// Values of the candidate.
        candidate: usize,
    },
    /// The method needs more values.
    #[error("{what} needs at least {need} values, there are {have}")]
    TooFew {
        /// The method.
        what: &'static str,
        /// How many it needs.
        need: usize,
        /// How many there are.
        have: usize,
    },
    /// A parameter lies outside its range.
    #[error("{name} is {value}, expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
}

/// Why a figure is left out of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Unsupported {
    /// Too few samples carry the figure.
    #[error("needs {need} samples, there are {have}")]
    TooFewSamples {
        /// How many there are.
        have: u64,
        /// How many the figure needs.
        need: u64,
    },
    /// All samples are equal, so the shape of their distribution is undefined.
    #[error("all samples are equal")]
    NoVariation,
}

/// Checks that every value is finite.
pub(crate) fn finite(values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Checks that a level or probability lies strictly between 0 and 1.
pub(crate) fn open_unit(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(StatsError::Parameter {
            name,
            value,
            expected: "a number between 0 and 1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_offending_sample() {
        let error = finite(&[1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "sample 1 is NaN, not a finite number");
    }

    #[test]
    fn a_level_of_one_is_refused() {
        assert!(open_unit("level", 1.0).is_err());
        assert!(open_unit("level", f64::NAN).is_err());
        assert!(open_unit("level", 0.95).is_ok());
    }
}
