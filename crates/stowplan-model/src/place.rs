//! Places: where a deployment runs, as a path `[HOST/]ENGINE[:VARIANT][/ENGINE[:VARIANT]]…`.

use std::fmt;
use std::str::FromStr;

/// One step of a place: an engine or a host, with its variant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceStep {
    /// Engine name, or the name of a host where it is the first of several steps.
    pub engine: String,
    /// Variant after the colon, as in `bare:grouped`.
    pub variant: Option<String>,
}

/// Where a deployment runs: at least one step, outermost first (`qemu/docker`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    steps: Vec<PlaceStep>,
}

/// Why a text is not a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a place, write ENGINE, ENGINE:VARIANT or OUTER/INNER, for example 'bare:grouped' or 'oci'"
)]
pub struct PlaceError(String);

impl Place {
    /// The steps, outermost first; never empty.
    #[must_use]
    pub fn steps(&self) -> &[PlaceStep] {
        &self.steps
    }

    /// The step that starts the services.
    #[must_use]
    pub fn innermost(&self) -> &PlaceStep {
        &self.steps[self.steps.len() - 1]
    }

    /// Whether the services are plain processes on the local machine.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.steps.len() == 1 && self.steps[0].engine == "bare"
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let word = |w: &str| {
            let fits = !w.is_empty()
                && w.chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'));
            fits.then(|| w.to_owned())
                .ok_or_else(|| PlaceError(text.to_owned()))
        };
        let steps = text
            .split('/')
            .map(|step| match step.split_once(':') {
                None => Ok(PlaceStep {
                    engine: word(step)?,
                    variant: None,
                }),
                Some((engine, variant)) => Ok(PlaceStep {
                    engine: word(engine)?,
                    variant: Some(word(variant)?),
                }),
            })
            .collect::<Result<Vec<_>, PlaceError>>()?;
        Ok(Self { steps })
    }
}

impl fmt::Display for PlaceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.engine)?;
        self.variant
            .as_ref()
            .map_or(Ok(()), |variant| write!(f, ":{variant}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_and_print_the_same() {
        for text in ["bare:flat", "oci", "qemu/docker", "board/qemu:tcg/oci"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "/", "bare:", ":flat", "a b", "oci//x"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn bare_is_bare_only_alone() {
        assert!("bare:flat".parse::<Place>().unwrap().is_bare());
        assert!(!"qemu/bare".parse::<Place>().unwrap().is_bare());
    }
}
