//! What can be wrong with a file: always with its name, line and column.

use std::fmt;
use std::path::PathBuf;

/// One thing that is wrong with a file, at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File name as the user gave it.
    pub file: String,
    /// Line from 1, or 0 where the place is not known.
    pub line: u64,
    /// Column from 1, or 0 where the place is not known.
    pub column: u64,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// What may put it right.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message)?,
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.message)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Why a file could not become a stack, an experiment or a partition table.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A name is neither that of something shipped nor that of a file.
    #[error("no {what} '{name}' is shipped, and there is no such file\n  hint: {hint}")]
    Unknown {
        /// `stack` or `partition`.
        what: &'static str,
        /// The name.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// Busy neighbours have no name that is theirs alone.
    #[error(
        "stack '{stack}' has a node, module, process or service 'neighbours', which is what busy neighbours are called\n  hint: rename it, or leave 'neighbours' out"
    )]
    Neighbours {
        /// The stack.
        stack: String,
    },
    /// A rate is given to what is not one timer.
    #[error("'{timer}' is not one timer of stack '{stack}'\n  hint: {hint}")]
    Timer {
        /// The stack.
        stack: String,
        /// What was named.
        timer: String,
        /// What may have been meant.
        hint: String,
    },
    /// The file has problems; never empty.
    #[error("{}", Problems(.0))]
    Invalid(Vec<Problem>),
}

struct Problems<'a>(&'a [Problem]);

impl fmt::Display for Problems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        for (index, problem) in self.0.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, "\nand {more} more"),
            _ => Ok(()),
        }
    }
}

impl SpecError {
    /// The problems of the file, in its order; empty when it could not be read at all.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Read { .. }
            | Self::Unknown { .. }
            | Self::Neighbours { .. }
            | Self::Timer { .. } => &[],
            Self::Invalid(problems) => problems,
        }
    }
}
