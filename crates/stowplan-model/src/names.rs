//! The one rule for names of nodes, processes, services, modules and callbacks.

use std::fmt;

/// A name that can stand in a file name, a cgroup and a container name:
/// letters, digits, `_`, `-` and `.`, beginning with a letter or digit, at most 64 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("the name is empty")]
    Empty,
    /// The text is longer than 64 bytes.
    #[error("the name '{0}' is longer than 64 bytes")]
    TooLong(String),
    /// The text holds a character that a file or cgroup name should not have.
    #[error(
        "the name '{name}' has the character '{character}', names have letters, digits, '_', '-' and '.'"
    )]
    Character {
        /// The text as given.
        name: String,
        /// The first character that does not fit.
        character: char,
    },
}

impl Name {
    /// Checks `text` and makes it a name.
    ///
    /// # Errors
    /// When `text` is empty, longer than 64 bytes, or has a character outside the rule.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        let Some(first) = text.chars().next() else {
            return Err(NameError::Empty);
        };
        if text.len() > 64 {
            return Err(NameError::TooLong(text));
        }
        let bad = text
            .chars()
            .find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .or((!first.is_ascii_alphanumeric()).then_some(first));
        match bad {
            Some(character) => Err(NameError::Character {
                name: text,
                character,
            }),
            None => Ok(Self(text)),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_a_file_name_can_have() {
        assert_eq!(
            Name::new("lidar_top-1.a").unwrap().as_str(),
            "lidar_top-1.a"
        );
    }

    #[test]
    fn refuses_what_a_path_would_mean() {
        assert!(matches!(
            Name::new("a/b"),
            Err(NameError::Character { character: '/', .. })
        ));
        assert!(matches!(
            Name::new(".."),
            Err(NameError::Character { character: '.', .. })
        ));
        assert_eq!(Name::new(""), Err(NameError::Empty));
        assert!(matches!(
            Name::new("x".repeat(65)),
            Err(NameError::TooLong(_))
        ));
    }
}
