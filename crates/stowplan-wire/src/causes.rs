//! An error and its causes as one line, for people and for the other programs.

use std::error::Error;

/// The error and its causes, joined by `: `. What was said already, by an effect that repeats its cause, is left out.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{what}")]
    struct Layer {
        what: &'static str,
        source: Option<Box<Layer>>,
    }

    fn layers(all: &[&'static str]) -> Layer {
        let (&what, rest) = all.split_first().unwrap();
        let source = (!rest.is_empty()).then(|| Box::new(layers(rest)));
        Layer { what, source }
    }

    #[test]
    fn every_cause_is_said_once() {
        for (causes, line) in [
            (&["cannot start"][..], "cannot start"),
            (
                &["cannot start", "no such file"],
                "cannot start: no such file",
            ),
            (
                &["cannot start: no such file", "no such file"],
                "cannot start: no such file",
            ),
            (
                &[
                    "no such file",
                    "client error",
                    "no such file",
                    "no such file",
                ],
                "no such file: client error",
            ),
        ] {
            assert_eq!(chain(&layers(causes)), line);
        }
    }
}
