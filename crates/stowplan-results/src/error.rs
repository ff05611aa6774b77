//! Why a result cannot be written or read.

use std::path::{Path, PathBuf};

/// A failure to write or read a result.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The operating system refused.
    #[error("{doing} {}", path.display())]
    Io {
        /// What was being done, as `write`.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A Parquet file is broken.
    #[error("{} is not a readable Parquet file", path.display())]
    Parquet {
        /// File.
        path: PathBuf,
        /// Why.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// A table does not hold the columns it should.
    #[error("column '{column}' of {}: {problem}", path.display())]
    Column {
        /// File.
        path: PathBuf,
        /// Column.
        column: String,
        /// What is wrong.
        problem: String,
    },
    /// A JSON file is broken.
    #[error("{} is not a valid document", path.display())]
    Json {
        /// File.
        path: PathBuf,
        /// Why, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// The document is of another format or of a later version.
    #[error("{} has format '{found}', expected '{expected}'", path.display())]
    Format {
        /// File.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What this version reads.
        expected: String,
    },
    /// The folder holds no result.
    #[error("{} holds no result: there is no experiment.json", path.display())]
    NotAResult {
        /// Folder.
        path: PathBuf,
    },
    /// Another process writes into the same folder.
    #[error("{} is being written by another process", path.display())]
    InUse {
        /// Folder.
        path: PathBuf,
    },
    /// A run names a deployment that the experiment does not have.
    #[error("run {run} in {} is of deployment '{deployment}', which experiment.json does not name", path.display())]
    UnknownDeployment {
        /// Folder.
        path: PathBuf,
        /// Run.
        run: u32,
        /// Deployment.
        deployment: String,
    },
}

impl ResultsError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::StorageFull => Some(
                    "free space on this disk; finished runs are kept and --resume goes on".into(),
                ),
                std::io::ErrorKind::PermissionDenied => {
                    Some("write the result into a folder of yours with --out".into())
                }
                _ => None,
            },
            Self::Parquet { path, .. } | Self::Column { path, .. } => {
                let part = path
                    .parent()
                    .is_some_and(|p| p.ends_with("parts") || p.to_string_lossy().contains("parts"));
                part.then(|| {
                    "remove this part: its run counts as not done and --resume repeats it".into()
                })
            }
            Self::Json { .. } => Some("restore the file from a copy".into()),
            Self::Format { .. } => {
                Some("read it with the version of Stowplan that wrote it, or a later one".into())
            }
            Self::NotAResult { .. } => {
                Some("name a folder under results/, as printed at the end of a run".into())
            }
            Self::InUse { .. } => Some("wait for it to end, or stop it".into()),
            Self::UnknownDeployment { .. } => None,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }

    pub(crate) fn column(path: &Path, column: &str, problem: impl Into<String>) -> Self {
        Self::Column {
            path: path.to_owned(),
            column: column.to_owned(),
            problem: problem.into(),
        }
    }
}
