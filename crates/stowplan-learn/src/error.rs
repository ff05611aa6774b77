//! What can be wrong with a file of another project: always with its place.

use std::fmt;

/// A file that cannot become a stack, or a part of one that cannot be carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// Name of the file, as it was given.
    pub file: String,
    /// Line and column from 1; `None` where only `path` is known.
    pub place: Option<(u64, u64)>,
    /// Where in the document, as `nodes[3].publishers[0]`; may be empty.
    pub path: String,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
}

impl ImportError {
    pub(crate) fn at(file: &str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            path: path.into(),
            message: message.into(),
        }
    }

    pub(crate) fn json(file: &str, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let message = match text.rfind(" at line ") {
            Some(end) => text[..end].to_owned(),
            None => text,
        };
        Self {
            place: Some((error.line() as u64, error.column() as u64)),
            ..Self::at(file, "", message)
        }
    }

    pub(crate) fn yaml(file: &str, error: &serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let message = match first.find(" at line ") {
            Some(end) => first[..end].to_owned(),
            None => first.to_owned(),
        };
        Self {
            place: error.location().map(|l| (l.line(), l.column())),
            ..Self::at(file, "", message)
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ImportError {}

/// What a stack does not have of the file that it is from, each thing once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<ImportError>);

impl Warnings {
    pub(crate) fn add(&mut self, warning: ImportError) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    pub(crate) fn all(self) -> Vec<ImportError> {
        self.0
    }
}
