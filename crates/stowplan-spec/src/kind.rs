//! A value written out, or the name of one under `kinds:`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

/// What can be given by the name of a kind; some also as a plain number with a unit.
pub(crate) trait Kind: Sized {
    /// Reads a scalar that begins with a digit or sign; `None` where this kind has no scalar form.
    fn from_number(text: &str) -> Option<Result<Self, stowplan_model::units::UnitError>>;
}

/// A value, or the name of a kind.
#[derive(Debug, Clone)]
pub(crate) enum KindOr<T> {
    /// The name of an entry under `kinds:`.
    Named(String),
    /// The value itself.
    Here(T),
}

impl<'de, T: Kind + Deserialize<'de>> Deserialize<'de> for KindOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor(PhantomData))
    }
}

struct KindVisitor<T>(PhantomData<T>);

impl<'de, T: Kind + Deserialize<'de>> Visitor<'de> for KindVisitor<T> {
    type Value = KindOr<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a kind or a value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            return Ok(KindOr::Named(text.to_owned()));
        }
        match T::from_number(text) {
            Some(value) => value.map(KindOr::Here).map_err(E::custom),
            None => Ok(KindOr::Named(text.to_owned())),
        }
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(KindOr::Here)
    }
}

impl<T: JsonSchema> JsonSchema for KindOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("KindOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [{ "type": ["string", "number"] }, value] })
    }
}
