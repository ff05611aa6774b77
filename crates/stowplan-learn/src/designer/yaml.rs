//! A YAML file as a tree whose parts know where they stand, so that what variants put together from several
//! files is told with its own place.

use std::fmt;
use std::rc::Rc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::error::ImportError;

/// Where something stands: file, line and column from 1.
#[derive(Debug, Clone)]
pub(super) struct Place {
    file: Rc<str>,
    line: u64,
    column: u64,
}

impl Place {
    /// What is wrong here, or not carried over.
    pub fn says(&self, message: impl Into<String>) -> ImportError {
        ImportError {
            place: Some((self.line, self.column)),
            ..ImportError::at(&self.file, "", message)
        }
    }
}

/// A scalar with its place.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub value: String,
    pub place: Place,
}

/// A part of a file.
#[derive(Debug, Clone)]
pub(super) enum Yaml {
    /// Nothing, as in `once:`.
    Nothing(Place),
    /// A scalar.
    Text(Text),
    /// A sequence.
    List(Place, Vec<Self>),
    /// A mapping in the order of the file.
    Map(Place, Vec<(Text, Self)>),
}

impl Yaml {
    /// Reads a file; `file` stands in messages.
    pub fn read(text: &str, file: &str) -> Result<Self, ImportError> {
        let budget = serde_saphyr::budget! {
            max_depth: 32,
            max_documents: 1,
        };
        let options = serde_saphyr::options! {
            budget: budget,
            with_snippet: false,
        };
        let shape: Spanned<Shape> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| ImportError::yaml(file, &error))?;
        Ok(Self::of(shape, &Rc::from(file)))
    }

    fn of(shape: Spanned<Shape>, file: &Rc<str>) -> Self {
        let place = |location: serde_saphyr::Location| Place {
            file: Rc::clone(file),
            line: location.line(),
            column: location.column(),
        };
        let at = place(shape.referenced);
        match shape.value {
            Shape::Nothing => Self::Nothing(at),
            Shape::Text(value) => Self::Text(Text { value, place: at }),
            Shape::List(items) => {
                let items = items.into_iter().map(|item| Self::of(item, file));
                Self::List(at, items.collect())
            }
            Shape::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    let place = place(key.referenced);
                    let value = Self::of(value, file);
                    let key = key.value;
                    (Text { value: key, place }, value)
                });
                Self::Map(at, entries.collect())
            }
        }
    }

    /// Where it begins.
    pub fn place(&self) -> &Place {
        match self {
            Self::Text(text) => &text.place,
            Self::Nothing(place) | Self::List(place, _) | Self::Map(place, _) => place,
        }
    }

    /// Whether both say the same, wherever they stand; maps in whatever order.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing(_), Self::Nothing(_)) => true,
            (Self::Text(a), Self::Text(b)) => a.value == b.value,
            (Self::List(_, a), Self::List(_, b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Self::Map(_, a), Self::Map(_, b)) => a.len() == b.len() && self.has_all(b),
            _ => false,
        }
    }

    /// Whether it is a map with all of these entries.
    pub fn has_all(&self, entries: &[(Text, Self)]) -> bool {
        entries
            .iter()
            .all(|(key, value)| self.get(&key.value).is_some_and(|own| own.same(value)))
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(_, entries) => {
                let entry = entries.iter().find(|(own, _)| own.value == key);
                entry.map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

/// What YAML has, before the name of the file is known.
enum Shape {
    Nothing,
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Shape::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Shape::Map(entries))
    }
}
