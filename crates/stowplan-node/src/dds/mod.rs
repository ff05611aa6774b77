//! CycloneDDS behind safe types. All calls into C are in this module.
//!
//! Entities are named by CycloneDDS's own integer handles, which it checks on every call: a handle of a
//! deleted entity gives an error, never undefined behaviour. So the types here are plain values, and
//! everything is deleted at once with its [`Participant`].

mod cache;
mod participant;
mod qos;
mod reader;
mod status;
mod waitset;
mod writer;

use std::ffi::CStr;

use cyclors::{dds_return_t, dds_strretcode};

pub use participant::{Participant, Topic, text};
pub use qos::{Durability, History, Qos, Reliability};
pub use reader::Reader;
pub use status::{Hooks, Matching};
pub use waitset::{Condition, Guard, WaitSet};
pub use writer::Writer;

/// A call that CycloneDDS refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("DDS: {what}: {reason}")]
pub struct DdsError {
    /// What was asked for.
    pub what: String,
    /// The library's own words.
    pub reason: String,
}

/// A handle or count, or the error that its negative value stands for.
fn check(code: dds_return_t, what: impl FnOnce() -> String) -> Result<dds_return_t, DdsError> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: the function returns a pointer to a static string for every number.
    let reason = unsafe { CStr::from_ptr(dds_strretcode(code)) };
    Err(DdsError {
        what: what(),
        reason: reason.to_string_lossy().into_owned(),
    })
}

/// The time that CycloneDDS stamps messages with: CLOCK_REALTIME, nanoseconds.
#[must_use]
pub fn time() -> i64 {
    // SAFETY: no arguments, no state.
    unsafe { cyclors::dds_time() }
}

/// Global identifier of a participant or an endpoint as ROS 2 Jazzy records it: 16 bytes, filled up with zeros.
fn gid(entity: cyclors::dds_entity_t) -> Result<[u8; 24], DdsError> {
    let mut guid = cyclors::dds_guid_t { v: [0; 16] };
    // SAFETY: `guid` is a valid place for the result.
    let code = unsafe { cyclors::dds_get_guid(entity, &raw mut guid) };
    check(code, || "read the identifier of an entity".into())?;
    let mut gid = [0; 24];
    gid[..16].copy_from_slice(&guid.v);
    Ok(gid)
}
