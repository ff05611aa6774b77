//! Objects of JSON, with errors that name them.

use serde_json::{Map, Value};

use crate::error::{MetadataError, Place};
use crate::tsdl::EnvValue;

/// Parses a fragment that begins at `place`.
pub(super) fn parse(text: &str, place: Place) -> Result<Value, MetadataError> {
    // What follows a fragment is no part of its lines.
    serde_json::from_str(text.trim_end()).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        let message = error.to_string();
        // The place stands before the message.
        let message = message.split(" at line ").next().unwrap_or_default();
        let place = Place {
            line: place.line.saturating_add(line.saturating_sub(1)),
            column: u32::try_from(error.column()).unwrap_or(u32::MAX).max(1),
        };
        MetadataError::new(place, message)
    })
}

/// An object and what it is called.
#[derive(Clone)]
pub(super) struct Object<'j> {
    map: &'j Map<String, Value>,
    place: Place,
    name: String,
}

impl<'j> Object<'j> {
    pub fn new(value: &'j Value, place: Place, name: &str) -> Result<Self, MetadataError> {
        let map = value.as_object();
        let fault = || MetadataError::new(place, format!("{name}: not an object"));
        Ok(Self {
            map: map.ok_or_else(fault)?,
            place,
            name: name.to_owned(),
        })
    }

    /// The same, called otherwise; with its own name or number where it has one.
    pub fn named(&self, name: &str) -> Self {
        Self {
            name: label(self.map, name),
            ..self.clone()
        }
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn fault(&self, message: impl std::fmt::Display) -> MetadataError {
        MetadataError::new(self.place, format!("{}: {message}", self.name))
    }

    fn wrong(&self, key: &str, wanted: &str) -> MetadataError {
        self.fault(format!("{key} is not {wanted}"))
    }

    pub fn names(&self) -> impl Iterator<Item = &'j str> {
        self.map.keys().map(String::as_str)
    }

    pub fn value(&self, key: &str) -> Option<&'j Value> {
        self.map.get(key)
    }

    /// Something inside, which is called after this.
    pub fn inside(&self, value: &'j Value, name: &str) -> Result<Self, MetadataError> {
        Self::new(value, self.place, &format!("{}: {name}", self.name))
    }

    /// One of a list inside, with its own name where it has one.
    pub fn item(&self, value: &'j Value, name: &str) -> Result<Self, MetadataError> {
        let mut item = self.inside(value, name)?;
        item.name = format!("{}: {}", self.name, label(item.map, name));
        Ok(item)
    }

    pub fn object(&self, key: &str) -> Result<Option<Self>, MetadataError> {
        let value = self.map.get(key);
        value.map(|value| self.inside(value, key)).transpose()
    }

    pub fn list(&self, key: &str) -> Result<Option<&'j [Value]>, MetadataError> {
        let list = |value: &'j Value| {
            let list = value.as_array().map(Vec::as_slice);
            list.ok_or_else(|| self.wrong(key, "an array"))
        };
        self.map.get(key).map(list).transpose()
    }

    pub fn maybe_text(&self, key: &str) -> Result<Option<&'j str>, MetadataError> {
        let text = |value: &'j Value| value.as_str().ok_or_else(|| self.wrong(key, "a string"));
        self.map.get(key).map(text).transpose()
    }

    pub fn text(&self, key: &str) -> Result<&'j str, MetadataError> {
        self.maybe_text(key)?
            .ok_or_else(|| self.fault(format!("no {key}")))
    }

    pub fn maybe_number(&self, key: &str) -> Result<Option<i128>, MetadataError> {
        let read = |value| whole(value).ok_or_else(|| self.wrong(key, "a whole number"));
        self.map.get(key).map(read).transpose()
    }

    pub fn number(&self, key: &str) -> Result<i128, MetadataError> {
        self.maybe_number(key)?
            .ok_or_else(|| self.fault(format!("no {key}")))
    }

    /// The number of a class; `None` stands for 0.
    pub fn id(&self, key: &str) -> Result<Option<u64>, MetadataError> {
        let id = |id| u64::try_from(id).map_err(|_| self.wrong(key, "a number from 0"));
        self.maybe_number(key)?.map(id).transpose()
    }

    /// Sixteen numbers.
    pub fn uuid(&self, key: &str) -> Result<Option<[u8; 16]>, MetadataError> {
        let Some(list) = self.list(key)? else {
            return Ok(None);
        };
        let bytes = list.iter().map(|byte| u8::try_from(byte.as_u64()?).ok());
        let bytes: Option<Vec<u8>> = bytes.collect();
        let uuid = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        uuid.map(Some).ok_or_else(|| self.wrong(key, "a uuid"))
    }

    /// What identifies a trace or clock: `uid`, where it is the text of a uuid, or a `uuid`, as drafts of the format have it.
    pub fn identity(&self) -> Result<Option<[u8; 16]>, MetadataError> {
        if let Some(uuid) = self.uuid("uuid")? {
            return Ok(Some(uuid));
        }
        let uid = self.maybe_text("uid")?.map(|uid| uid.replace('-', ""));
        let digits = uid.filter(|uid| uid.len() == 32);
        let number = digits.and_then(|digits| u128::from_str_radix(&digits, 16).ok());
        Ok(number.map(u128::to_be_bytes))
    }

    /// An entry of the environment.
    pub fn env(&self, key: &str) -> Result<EnvValue, MetadataError> {
        match self.map.get(key) {
            Some(Value::String(text)) => Ok(EnvValue::Text(text.clone())),
            Some(Value::Number(number)) => Ok(number
                .as_i64()
                .map_or_else(|| EnvValue::Text(number.to_string()), EnvValue::Int)),
            _ => Err(self.wrong(key, "a number or a string")),
        }
    }
}

/// What an object is, and its own name or number.
fn label(map: &Map<String, Value>, name: &str) -> String {
    let own = map.get("name").and_then(Value::as_str);
    match (own, map.get("id")) {
        (Some(own), _) => format!("{name} `{own}`"),
        (None, Some(id)) => format!("{name} {id}"),
        (None, None) => name.to_owned(),
    }
}

/// A whole number.
pub(super) fn whole(value: &Value) -> Option<i128> {
    let number = value.as_number()?;
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}
