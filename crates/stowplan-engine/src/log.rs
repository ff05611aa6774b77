//! The log of a service.

use std::fs::{File, OpenOptions};

use crate::EngineError;

/// Opens the log of a service for what is added to it; makes it where there is none.
///
/// # Errors
/// When it cannot be written.
pub fn open_log(path: &str) -> Result<File, EngineError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|e| EngineError::new(format!("cannot write the log {path}")).because(e))
}
