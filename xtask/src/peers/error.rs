//! What can go wrong while a peer is built or run.

use std::io;
use std::time::Duration;

/// Why a row has no figures.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// A file or a process could not be used.
    #[error("cannot {what}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("`{command}` ended with {status}; the end of its output:\n{output}")]
    Failed {
        /// Program and arguments.
        command: String,
        /// Exit status.
        status: String,
        /// Last lines of output and errors.
        output: String,
    },
    /// A program did not end in time.
    #[error("`{command}` did not end within {limit:?}; the end of its output:\n{output}")]
    TooLong {
        /// Program and arguments.
        command: String,
        /// Longest time it had.
        limit: Duration,
        /// Last lines of output and errors.
        output: String,
    },
    /// A program printed something else than it was expected to.
    #[error("{what}:\n{output}")]
    Output {
        /// What is wrong.
        what: String,
        /// What it printed.
        output: String,
    },
    /// Something that the row needs is not on the machine.
    #[error("{what} is missing\nhint: {hint}")]
    Missing {
        /// What.
        what: String,
        /// How to get it.
        hint: String,
    },
    /// What a way to start services needs is not on the machine, or does not work there.
    #[error("{reason}\nhint: {hint}")]
    Absent {
        /// Why.
        reason: String,
        /// What to install or change.
        hint: String,
    },
    /// SIGINT or SIGTERM came.
    #[error("interrupted; what was started has been removed")]
    Interrupted,
    /// The image of the services cannot be built.
    #[error(transparent)]
    Image(#[from] stowplan_image::ImageError),
    /// An engine or its agent failed.
    #[error(transparent)]
    Engine(#[from] stowplan_engine::EngineError),
    /// The agent's machine could not do something.
    #[error(transparent)]
    Host(#[from] stowplan_host::HostError),
    /// The values cannot be compared.
    #[error(transparent)]
    Stats(#[from] stowplan_stats::StatsError),
}

impl PeersError {
    /// For `map_err`: what was tried when an I/O error came.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Output of a program that makes no sense.
    pub fn output(what: impl Into<String>, output: &str) -> Self {
        Self::Output {
            what: what.into(),
            output: tail(output).to_owned(),
        }
    }

    /// The error with its causes and, where there is one, a hint.
    pub fn report(&self) -> String {
        let hint = match self {
            Self::Engine(error) => error.hint.as_ref(),
            Self::Host(error) => error.hint.as_ref(),
            _ => None,
        };
        let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
        format!("{}{hint}", stowplan_host::chain(self))
    }

    /// Something to install or build.
    pub fn missing(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Missing {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// The last lines of an output.
pub fn tail(output: &str) -> &str {
    const LINES: usize = 30;
    output
        .trim_end()
        .rmatch_indices('\n')
        .nth(LINES - 1)
        .map_or(output, |(at, _)| &output[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_cause_and_hint() {
        let error = PeersError::io("read x")(io::ErrorKind::NotFound.into());
        assert_eq!(error.report(), "cannot read x: entity not found");
        let error =
            PeersError::from(stowplan_engine::EngineError::new("no engine").hint("make one"));
        assert_eq!(error.report(), "no engine\nhint: make one");
    }

    #[test]
    fn the_tail_is_whole_lines() {
        let output: String = (0..40).map(|line| format!("{line}\n")).collect();
        assert!(tail(&output).starts_with("10\n"), "{}", tail(&output));
        assert_eq!(tail("one\ntwo\n"), "one\ntwo\n");
    }
}
