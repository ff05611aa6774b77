//! Quantities in a file: a plain value, a distribution, or an assumption with its range.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use stowplan_model::Distribution;
use stowplan_model::units::{self, WorkAmount};

use crate::scalar::scalar;

/// The unit of an assumed value, as numbers are given in [`crate::Assumption`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds; rates are given as periods.
    Nanoseconds,
    /// Iterations of the work kernel.
    Iterations,
}

/// A number as it stands in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    pub value: u64,
    /// Whether it is a time in nanoseconds that a calibration makes iterations.
    pub in_time: bool,
}

/// How a unit is read and described.
pub(crate) trait Measure: fmt::Debug + Clone {
    const UNIT: Unit;
    const NAME: &'static str;
    const EXAMPLE: &'static str;
    /// Examples for editors and the reference.
    const EXAMPLES: &'static [&'static str] = &[Self::EXAMPLE];
    /// Whether ends of a range may come in either order, because a high rate is a short period.
    const EITHER_ORDER: bool = matches!(Self::UNIT, Unit::Nanoseconds);
    fn parse(text: &str) -> Result<Amount, units::UnitError>;
}

macro_rules! measure {
    ($(#[$doc:meta])* $name:ident, $unit:ident, $text:literal, $example:literal, $parse:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name;
        impl Measure for $name {
            const UNIT: Unit = Unit::$unit;
            const NAME: &'static str = $text;
            const EXAMPLE: &'static str = $example;
            fn parse(text: &str) -> Result<Amount, units::UnitError> {
                $parse(text).map(|value| Amount { value, in_time: false })
            }
        }
    };
}

measure!(
    /// Sizes.
    Bytes, Bytes, "Size", "64KiB", units::parse_bytes
);
measure!(
    /// Durations.
    Duration, Nanoseconds, "Duration", "20ms", units::parse_duration_ns
);
measure!(
    /// Rates or periods.
    Period, Nanoseconds, "Period", "10Hz", units::parse_period_ns
);

/// Kernel iterations, or the time that they take.
#[derive(Debug, Clone)]
pub(crate) struct Iterations;

impl Measure for Iterations {
    const UNIT: Unit = Unit::Iterations;
    const NAME: &'static str = "Iterations";
    const EXAMPLE: &'static str = "250k";
    const EXAMPLES: &'static [&'static str] = &["250k", "5ms"];

    fn parse(text: &str) -> Result<Amount, units::UnitError> {
        let (value, in_time) = match units::parse_work(text)? {
            WorkAmount::Iterations(value) => (value, false),
            WorkAmount::Nanoseconds(value) => (value, true),
        };
        Ok(Amount { value, in_time })
    }
}

/// The range of an assumption and its reason, in the unit's own numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub low: f64,
    pub high: f64,
    pub because: String,
}

/// A quantity; with `SPREAD` it may be a distribution, without it is one value.
#[derive(Debug, Clone)]
pub(crate) struct Quantity<M, const SPREAD: bool> {
    pub value: Distribution,
    pub assumed: Option<Range>,
    /// Whether its numbers are times in nanoseconds that a calibration makes iterations.
    pub in_time: bool,
    measure: PhantomData<M>,
}

/// One value.
pub(crate) type Fixed<M> = Quantity<M, false>;
/// One value or a distribution.
pub(crate) type Spread<M> = Quantity<M, true>;

impl<M: Measure, const SPREAD: bool> Quantity<M, SPREAD> {
    /// Reads a plain value.
    pub fn from_text(text: &str) -> Result<Self, units::UnitError> {
        let amount = M::parse(text)?;
        let value = Distribution::Constant(to_f64(amount.value));
        Ok(Self::plain(value, amount.in_time))
    }

    fn plain(value: Distribution, in_time: bool) -> Self {
        Self {
            value,
            assumed: None,
            in_time,
            measure: PhantomData,
        }
    }

    /// The one value that it is, or the mean of its distribution.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "values are parsed as u64, so neither negative nor beyond it"
    )]
    pub fn whole(&self) -> u64 {
        self.value.mean() as u64
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "quantities above 2^53 need not be exact"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}

/// A single value without a range, for ends of ranges.
#[derive(Debug, Clone)]
struct One<M> {
    value: f64,
    in_time: bool,
    measure: PhantomData<M>,
}

impl<'de, M: Measure> Deserialize<'de> for One<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = format!("one value such as '{}'", M::EXAMPLE);
        scalar(deserializer, &expected, |text| {
            M::parse(text).map(|amount| Self {
                value: to_f64(amount.value),
                in_time: amount.in_time,
                measure: PhantomData,
            })
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "M: Measure")]
struct LogNormal<M> {
    median: One<M>,
    sigma: f64,
    max: One<M>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "M: Measure")]
struct Fields<M> {
    uniform: Option<[One<M>; 2]>,
    log_normal: Option<LogNormal<M>>,
    assumed: Option<Box<Spread<M>>>,
    low: Option<One<M>>,
    high: Option<One<M>>,
    because: Option<String>,
}

impl<M: Measure> Fields<M> {
    fn build<E: de::Error, const SPREAD: bool>(self) -> Result<Quantity<M, SPREAD>, E> {
        let plain = self.low.is_none() && self.high.is_none() && self.because.is_none();
        let in_time = self.in_time()?;
        match (self.uniform, self.log_normal, self.assumed) {
            (Some([low, high]), None, None) if plain => spread(
                Distribution::Uniform {
                    low: low.value,
                    high: high.value,
                },
                in_time,
            ),
            (None, Some(l), None) if plain => spread(
                Distribution::LogNormal {
                    median: l.median.value,
                    sigma: l.sigma,
                    max: l.max.value,
                },
                in_time,
            ),
            (None, None, Some(value)) => match (self.low, self.high, self.because) {
                (Some(low), Some(high), Some(because)) => assumption(
                    *value,
                    Range {
                        low: low.value,
                        high: high.value,
                        because,
                    },
                ),
                _ => Err(E::custom(
                    "an assumption needs its range and reason: { assumed: VALUE, low: VALUE, high: VALUE, because: \"…\" }",
                )),
            },
            _ => Err(E::custom(format!(
                "this is not a quantity, write for example '{}', {{ uniform: [LOW, HIGH] }} or {{ assumed: VALUE, low: VALUE, high: VALUE, because: \"…\" }}",
                M::EXAMPLE
            ))),
        }
    }

    /// Whether all its numbers are times; an error where some are.
    fn in_time<E: de::Error>(&self) -> Result<bool, E> {
        let uniform = self.uniform.iter().flatten();
        let log_normal = self.log_normal.iter().flat_map(|l| [&l.median, &l.max]);
        let range = self.low.iter().chain(&self.high);
        let ones = uniform.chain(log_normal).chain(range);
        let assumed = self.assumed.iter().map(|assumed| assumed.in_time);
        let mut all = ones.map(|one| one.in_time).chain(assumed);
        let first = all.next().unwrap_or(false);
        if all.all(|one| one == first) {
            return Ok(first);
        }
        Err(E::custom(
            "iterations and times stand side by side here, write all of them in one unit",
        ))
    }
}

fn one_value<M: Measure, E: de::Error>() -> E {
    E::custom(format!(
        "this must be one value, for example '{}'",
        M::EXAMPLE
    ))
}

fn spread<M: Measure, E: de::Error, const SPREAD: bool>(
    value: Distribution,
    in_time: bool,
) -> Result<Quantity<M, SPREAD>, E> {
    if SPREAD {
        Ok(Quantity::plain(value, in_time))
    } else {
        Err(one_value::<M, E>())
    }
}

fn assumption<M: Measure, E: de::Error, const SPREAD: bool>(
    inner: Spread<M>,
    mut range: Range,
) -> Result<Quantity<M, SPREAD>, E> {
    if inner.assumed.is_some() {
        return Err(E::custom("an assumption cannot stand in an assumption"));
    }
    if !SPREAD && !matches!(inner.value, Distribution::Constant(_)) {
        return Err(one_value::<M, E>());
    }
    if M::EITHER_ORDER && range.low > range.high {
        std::mem::swap(&mut range.low, &mut range.high);
    }
    let mean = inner.value.mean();
    if !(range.low <= mean && mean <= range.high) {
        return Err(E::custom(
            "the assumed value is not between 'low' and 'high'",
        ));
    }
    Ok(Quantity {
        assumed: Some(range),
        ..Quantity::plain(inner.value, inner.in_time)
    })
}

impl<'de, M: Measure, const SPREAD: bool> Deserialize<'de> for Quantity<M, SPREAD> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

/// Visits a quantity; elements that accept more than a quantity use it for their scalars.
pub(crate) struct QuantityVisitor<M, const SPREAD: bool>(PhantomData<M>);

impl<'de, M: Measure, const SPREAD: bool> Visitor<'de> for QuantityVisitor<M, SPREAD> {
    type Value = Quantity<M, SPREAD>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a value such as '{}', or an assumption with its range",
            M::EXAMPLE
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Quantity::from_text(text).map_err(E::custom)
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
        Fields::<M>::deserialize(MapAccessDeserializer::new(map))?.build()
    }
}

impl<M: Measure, const SPREAD: bool> JsonSchema for Quantity<M, SPREAD> {
    fn schema_name() -> Cow<'static, str> {
        let spread = if SPREAD { "OrSpread" } else { "" };
        format!("{}{spread}", M::NAME).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = serde_json::json!({ "type": ["string", "number"], "examples": M::EXAMPLES });
        let uniform = serde_json::json!({
            "type": "object", "additionalProperties": false, "required": ["uniform"],
            "properties": { "uniform": { "type": "array", "items": one, "minItems": 2, "maxItems": 2 } }
        });
        let log_normal = serde_json::json!({
            "type": "object", "additionalProperties": false, "required": ["log_normal"],
            "properties": { "log_normal": {
                "type": "object", "additionalProperties": false, "required": ["median", "sigma", "max"],
                "properties": { "median": one, "sigma": { "type": "number" }, "max": one }
            } }
        });
        let value = if SPREAD {
            serde_json::json!({ "oneOf": [one, uniform, log_normal] })
        } else {
            one.clone()
        };
        let assumption = serde_json::json!({
            "type": "object", "additionalProperties": false,
            "required": ["assumed", "low", "high", "because"],
            "properties": { "assumed": value, "low": one, "high": one, "because": { "type": "string" } }
        });
        if SPREAD {
            schemars::json_schema!({ "oneOf": [one, uniform, log_normal, assumption] })
        } else {
            schemars::json_schema!({ "oneOf": [one, assumption] })
        }
    }
}
