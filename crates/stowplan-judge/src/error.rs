//! Why a result cannot be judged.

use stowplan_results::ResultsError;
use stowplan_stats::StatsError;

/// A failure to judge a result.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The result cannot be read.
    #[error("the result cannot be read")]
    Results(#[from] ResultsError),
    /// A figure cannot be computed.
    #[error("cannot compute {what}")]
    Stats {
        /// Figure, deployment and chain.
        what: String,
        /// Why.
        #[source]
        source: StatsError,
    },
    /// The deployment that was named as reference did not run.
    #[error("no finished run of '{id}', so it cannot be the reference")]
    NoReference {
        /// Its id.
        id: String,
        /// Deployments that have finished runs.
        have: Vec<String>,
    },
    /// The later of two results does not have the reference of the earlier one.
    #[error("the later result does not have the reference of the earlier one, '{id}'")]
    ReferenceGone {
        /// Its id.
        id: String,
        /// Deployments that the later one has.
        have: Vec<String>,
    },
    /// Results of two machines cannot be compared.
    #[error("the results are of different machines: {old} and {new}")]
    OtherMachine {
        /// Machine of the first.
        old: String,
        /// Machine of the second.
        new: String,
    },
    /// Two results are of different stacks.
    #[error("the results are of different stacks: {old} and {new}")]
    OtherStack {
        /// Stack of the one.
        old: String,
        /// Stack of the other.
        new: String,
    },
    /// The reference of two results is not one and the same.
    #[error("the results cannot be compared, they differ in the {what}: {old} and {new}")]
    OtherReference {
        /// What differs.
        what: String,
        /// How it is in the one.
        old: String,
        /// How it is in the other.
        new: String,
        /// What the user can do about it.
        hint: &'static str,
    },
    /// Two results have no deployment but the reference in common.
    #[error("the results have only their reference, {reference}, in common")]
    NothingInCommon {
        /// Its label.
        reference: String,
    },
}

impl JudgeError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Results(error) => error.hint(),
            Self::NoReference { have, .. } if have.is_empty() => {
                Some("no run of this experiment finished".to_owned())
            }
            Self::NoReference { have, .. } => Some(format!("name one of: {}", have.join(", "))),
            Self::ReferenceGone { have, .. } => {
                Some(format!("its deployments are: {}", have.join(", ")))
            }
            Self::NothingInCommon { .. } => Some(
                "each deployment is held against the reference of its own experiment: name the place or partition in question \
                 beside one that stays as it is"
                    .to_owned(),
            ),
            Self::OtherStack { .. } => {
                Some("compare two results of one stack, measured in the same way".to_owned())
            }
            Self::OtherReference { hint, .. } => Some((*hint).to_owned()),
            Self::Stats { .. } | Self::OtherMachine { .. } => None,
        }
    }

    pub(crate) fn stats(what: impl Into<String>) -> impl FnOnce(StatsError) -> Self {
        let what = what.into();
        move |source| Self::Stats { what, source }
    }
}
