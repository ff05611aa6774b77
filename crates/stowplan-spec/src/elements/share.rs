//! A share of a whole, as a number or in percent.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use stowplan_model::units;

/// A share above 0 and at most 1: `3%` or `0.03`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareSpec(pub f64);

impl<'de> Deserialize<'de> for ShareSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShareVisitor;
        impl Visitor<'_> for ShareVisitor {
            type Value = ShareSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as '3%' or '0.03'")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                units::parse_share(text).map(ShareSpec).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                self.visit_str(&value.to_string())
            }
        }
        deserializer.deserialize_any(ShareVisitor)
    }
}

impl JsonSchema for ShareSpec {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A share above 0 and at most 1, as 3% or 0.03.",
            "anyOf": [
                { "type": "string", "pattern": "^[0-9._]+ *%?$" },
                { "type": "number", "exclusiveMinimum": 0, "maximum": 1 }
            ]
        })
    }
}
