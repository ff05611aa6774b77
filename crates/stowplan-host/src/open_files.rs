//! The limit of open files: an agent of a thousand services needs more than a login gives, the services must have
//! what a login gives.

use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::HostError;

/// Environment variable by which a program of the same kind, started by this one, learns the limit it had.
pub const VARIABLE: &str = "STOWPLAN_OPEN_FILES";

/// The soft limit that this process was started with, once it has been raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit of this process to the hard one; gives the limit it had.
///
/// # Errors
/// When the kernel refuses.
pub fn raise() -> Result<Option<u64>, HostError> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised)
        .map_err(|e| HostError::new("cannot raise the limit of open files").because(e))?;
    if let Some(before) = limit.current {
        // Raised twice, the first value is the one that counts.
        let _ = BEFORE.set(before);
    }
    Ok(limit.current)
}

/// Gives a process that this one forked the limit that this one was started with.
///
/// # Errors
/// When the process is gone.
pub fn restore(pid: u32) -> Result<(), HostError> {
    match BEFORE.get() {
        Some(before) => set(Pid::from_raw(pid.cast_signed()), *before),
        None => Ok(()),
    }
}

/// Gives this process the limit that [`VARIABLE`] tells, where it is set.
///
/// # Errors
/// When the kernel refuses.
pub fn restore_own() -> Result<(), HostError> {
    let told = std::env::var(VARIABLE).ok();
    match told.and_then(|text| text.parse().ok()) {
        Some(before) => set(None, before),
        None => Ok(()),
    }
}

fn set(pid: Option<Pid>, soft: u64) -> Result<(), HostError> {
    let limit = Rlimit {
        current: Some(soft),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    prlimit(pid, Resource::Nofile, limit)
        .map(|_| ())
        .map_err(|e| HostError::new("cannot restore the limit of open files").because(e))
}
