//! A share of a whole, as a number or in percent.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};
use stowplan_model::units;

use crate::scalar::scalar;

/// A share above 0 and at most 1: `3%` or `0.03`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareSpec(pub f64);

impl<'de> Deserialize<'de> for ShareSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a share such as '3%' or '0.03'", |text| {
            units::parse_share(text).map(Self)
        })
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
