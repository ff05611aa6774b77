//! Known differences that are put into a deployment on purpose, to test the instrument itself.

use crate::names::Name;
use crate::stack::CallbackRef;

/// A known difference from the same deployment without it. What is measured with one says something about the
/// instrument and nothing about the stack.
#[derive(Debug, Clone, PartialEq)]
pub enum Injection {
    /// Each execution of a callback does so many times its counted iterations.
    Work {
        /// The callback.
        callback: CallbackRef,
        /// Factor on the iterations of every draw, greater than 0.
        factor: f64,
    },
    /// A timer is released later within its period, so that data waits for it longer.
    Phase {
        /// The callback of the timer.
        callback: CallbackRef,
        /// How much later, in nanoseconds and less than the period.
        later_ns: u64,
    },
}

impl Injection {
    /// Factor on the iterations of this callback; 1 where nothing is injected into them.
    #[must_use]
    pub fn work_factor(&self, node: &Name, callback: &Name) -> f64 {
        match self {
            Self::Work {
                callback: at,
                factor,
            } if at.is(node, callback) => *factor,
            _ => 1.0,
        }
    }

    /// How much later the timer of this callback is released, in nanoseconds.
    #[must_use]
    pub fn later_ns(&self, node: &Name, callback: &Name) -> u64 {
        match self {
            Self::Phase {
                callback: at,
                later_ns,
            } if at.is(node, callback) => *later_ns,
            _ => 0,
        }
    }

    /// The callback that it is put into.
    #[must_use]
    pub fn callback(&self) -> &CallbackRef {
        match self {
            Self::Work { callback, .. } | Self::Phase { callback, .. } => callback,
        }
    }
}

/// The part of a timer's period that the phases of an experiment are drawn from, instead of from all of it. It is
/// the same for every deployment, as the phases are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpan {
    /// The callback of the timer.
    pub callback: CallbackRef,
    /// Where it begins, in nanoseconds after arming and less than the period.
    pub from_ns: u64,
    /// How long it is, in nanoseconds; it may go beyond the end of the period and goes on at its beginning then.
    pub length_ns: u64,
}
