//! The fields of a map: whoever reads them says which are known, and every other is named in a warning.

use super::yaml::{Place, Text, Yaml};
use crate::error::{ImportError, Warnings};

/// A map that is being read.
pub(super) struct Fields<'a> {
    place: &'a Place,
    entries: &'a [(Text, Yaml)],
    known: Vec<bool>,
}

impl<'a> Fields<'a> {
    /// The fields of a map; of nothing, none.
    pub fn of(yaml: &'a Yaml) -> Result<Self, ImportError> {
        let entries: &[(Text, Yaml)] = match yaml {
            Yaml::Nothing(_) => &[],
            Yaml::Map(_, entries) => entries,
            Yaml::Text(_) | Yaml::List(..) => return Err(yaml.place().says("expected a map")),
        };
        Ok(Self {
            place: yaml.place(),
            entries,
            known: vec![false; entries.len()],
        })
    }

    /// The value of the first of these names that is there.
    pub fn take(&mut self, names: &[&str]) -> Option<&'a Yaml> {
        let mut entries = self.entries.iter();
        let at = entries.position(|(key, _)| names.contains(&key.value.as_str()))?;
        self.known[at] = true;
        Some(&self.entries[at].1)
    }

    /// A scalar; `None` where it is not there or says nothing.
    pub fn text(&mut self, names: &[&str]) -> Result<Option<&'a Text>, ImportError> {
        match self.take(names) {
            None | Some(Yaml::Nothing(_)) => Ok(None),
            Some(Yaml::Text(text)) => Ok(Some(text)),
            Some(other) => Err(other
                .place()
                .says(format!("'{}' is not a single value", names[0]))),
        }
    }

    /// A scalar that has to be there.
    pub fn needed(&mut self, names: &[&str]) -> Result<Text, ImportError> {
        let text = self.text(names)?.cloned();
        text.ok_or_else(|| self.place.says(format!("missing field '{}'", names[0])))
    }

    /// `true` or `false`; the latter where it is not there.
    pub fn flag(&mut self, name: &str) -> Result<bool, ImportError> {
        match self.text(&[name])? {
            None => Ok(false),
            Some(text) => match text.value.as_str() {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(text
                    .place
                    .says(format!("'{name}' is neither true nor false"))),
            },
        }
    }

    /// A list of what `read` makes of each item; empty where it is not there.
    pub fn list<T>(
        &mut self,
        names: &[&str],
        read: impl FnMut(&'a Yaml) -> Result<T, ImportError>,
    ) -> Result<Vec<T>, ImportError> {
        match self.take(names) {
            None | Some(Yaml::Nothing(_)) => Ok(Vec::new()),
            Some(Yaml::List(_, items)) => items.iter().map(read).collect(),
            Some(other) => Err(other.place().says(format!("'{}' is not a list", names[0]))),
        }
    }

    /// Fields that are known and say nothing about nodes, topics and processes.
    pub fn ignore(&mut self, names: &[&str]) {
        for (at, (key, _)) in self.entries.iter().enumerate() {
            self.known[at] |= names.contains(&key.value.as_str());
        }
    }

    /// Names of the fields that nobody knew.
    pub fn rest(self) -> impl Iterator<Item = &'a Text> {
        let fields = self.entries.iter().zip(self.known);
        fields.filter_map(|((key, _), known)| (!known).then_some(key))
    }

    /// Warns of every field that nobody knew.
    pub fn finish(self, warnings: &mut Warnings) {
        for key in self.rest() {
            let message = format!("unknown field '{}' is left out", key.value);
            warnings.add(key.place.says(message));
        }
    }
}

/// A scalar of a list.
pub(super) fn text_of(yaml: &Yaml) -> Result<Text, ImportError> {
    match yaml {
        Yaml::Text(text) => Ok(text.clone()),
        other => Err(other.place().says("expected a single value")),
    }
}
