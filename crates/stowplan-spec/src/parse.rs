//! From text to the file's types, with the parser's errors as problems.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;
use stowplan_plan::nearest;

use crate::error::{Problem, SpecError};

/// Reads `text` as a `T`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SpecError> {
    let budget = serde_saphyr::budget! {
        max_depth: 32,
        max_documents: 1,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        let location = error.location();
        let (message, hint) = say(error);
        SpecError::Invalid(vec![Problem {
            file: file.to_owned(),
            line: location.map_or(0, |l| l.line()),
            column: location.map_or(0, |l| l.column()),
            message,
            hint,
        }])
    })
}

/// What went wrong in the words of this project, and the nearest right name.
fn say(error: &Error) -> (String, Option<String>) {
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => (format!("unknown key '{field}'"), keys(field, expected)),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => (
            format!("unknown value '{variant}'"),
            keys(variant, expected),
        ),
        Error::SerdeMissingField { field, .. } => (format!("the key '{field}' is missing"), None),
        Error::DuplicateMappingKey { key: Some(key), .. } => (
            format!("the key '{key}' is here a second time"),
            Some("names are unique in their map".into()),
        ),
        Error::Message { msg, .. } => (msg.clone(), None),
        Error::AliasError { error, .. } => say(error),
        other => (without_place(&other.to_string()), None),
    }
}

fn keys(word: &str, expected: &[&'static str]) -> Option<String> {
    nearest::nearest(word, expected.iter().copied())
        .map(|name| format!("did you mean '{name}'?"))
        .or_else(|| (!expected.is_empty()).then(|| format!("known: {}", expected.join(", "))))
}

/// The parser appends its own place, which stands before the message already.
fn without_place(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    match text.find(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}
