//! Waiting for conditions, as rmw_cyclonedds does.

use cyclors::*;

use super::{DdsError, Participant, check};

/// Something that a [`WaitSet`] can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition(pub(super) dds_entity_t);

/// A condition that the program itself triggers.
#[derive(Debug, Clone, Copy)]
pub struct Guard(dds_entity_t);

impl Guard {
    /// A guard condition that is not triggered.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn new(participant: &Participant) -> Result<Self, DdsError> {
        // SAFETY: plain values.
        let guard = unsafe { dds_create_guardcondition(participant.entity) };
        check(guard, || "create a guard condition".into()).map(Self)
    }

    /// As a condition to wait for.
    #[must_use]
    pub fn condition(self) -> Condition {
        Condition(self.0)
    }

    /// Triggers it: whoever waits for it wakes.
    pub fn trigger(self) {
        // SAFETY: plain values; the library checks the handle.
        unsafe { dds_set_guardcondition(self.0, true) };
    }

    /// Resets it.
    pub fn reset(self) {
        let mut triggered = false;
        // SAFETY: `triggered` is a valid place for the result.
        unsafe { dds_take_guardcondition(self.0, &raw mut triggered) };
    }
}

/// A set of conditions with a number each.
#[derive(Debug)]
pub struct WaitSet(dds_entity_t);

impl WaitSet {
    /// An empty set.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn new(participant: &Participant) -> Result<Self, DdsError> {
        // SAFETY: plain values.
        let set = unsafe { dds_create_waitset(participant.entity) };
        check(set, || "create a waitset".into()).map(Self)
    }

    /// Adds a condition; [`WaitSet::wait`] gives `number` while it holds.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn attach(&self, condition: Condition, number: usize) -> Result<(), DdsError> {
        // SAFETY: plain values.
        let code = unsafe { dds_waitset_attach(self.0, condition.0, number.cast_signed()) };
        check(code, || "attach to a waitset".into()).map(drop)
    }

    /// Removes a condition.
    pub fn detach(&self, condition: Condition) {
        // SAFETY: plain values; what is not attached is refused.
        unsafe { dds_waitset_detach(self.0, condition.0) };
    }

    /// Waits until a condition holds or `timeout_ns` have passed (`i64::MAX` waits without limit)
    /// and returns the numbers of those that hold, at most as many as fit `numbers`.
    pub fn wait<'a>(&self, numbers: &'a mut [isize], timeout_ns: i64) -> &'a [isize] {
        // SAFETY: the slice is valid for its length; `dds_attach_t` is `intptr_t`.
        let held = unsafe {
            dds_waitset_wait(
                self.0,
                numbers.as_mut_ptr(),
                numbers.len(),
                timeout_ns.max(0),
            )
        };
        // An error can only be a set that was deleted with its participant: nothing holds then.
        let held = usize::try_from(held).unwrap_or(0).min(numbers.len());
        &numbers[..held]
    }
}
