//! Failures as they cross the pipe: of a kind, and in words.

use serde::{Deserialize, Serialize};

/// Kinds of failures: what a caller decides by, who reads no message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// None of the others.
    #[default]
    Other,
    /// Something did not happen within its time.
    Timeout,
    /// The other side has ended, or cannot be reached: an agent, a daemon, a process.
    Gone,
    /// It is not allowed, or is taken by somebody else.
    Refused,
    /// What was named is not there.
    Absent,
    /// There is no room left, on a disk or in memory.
    Full,
}

impl FailureKind {
    /// The kind of an error of the operating system.
    #[must_use]
    pub fn of_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        match error.kind() {
            Io::TimedOut => Self::Timeout,
            Io::BrokenPipe
            | Io::ConnectionRefused
            | Io::ConnectionReset
            | Io::ConnectionAborted
            | Io::NotConnected
            | Io::UnexpectedEof => Self::Gone,
            Io::PermissionDenied | Io::AddrInUse | Io::ResourceBusy | Io::AlreadyExists => {
                Self::Refused
            }
            Io::NotFound => Self::Absent,
            Io::StorageFull | Io::QuotaExceeded | Io::OutOfMemory => Self::Full,
            _ => Self::Other,
        }
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Of which kind it is.
    pub kind: FailureKind,
    /// What failed and why, with the sources joined by `: `.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// The service it is about, where there is one.
    pub service: Option<String>,
    /// Log file of that service.
    pub log: Option<String>,
}
