//! Why a bag cannot be replayed.

use std::path::{Path, PathBuf};

/// Why a bag cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[error("cannot replay {}: {cause}", path.display())]
pub struct ReplayError {
    /// The bag, or the file of it that is at fault.
    pub path: PathBuf,
    /// What is wrong, as a lowercase fragment.
    pub cause: String,
    /// What may put it right.
    pub hint: Option<String>,
    /// What the system or the reader said.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ReplayError {
    pub(crate) fn new(path: &Path, cause: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            cause: cause.into(),
            hint: None,
            source: None,
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn because(
        self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }
}
