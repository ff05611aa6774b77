//! A value that YAML gives as text or as a number, and that is parsed from text in either case.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, Visitor};

/// Reads one value; `expected` says what it is to be, as in `a share such as '3%'`.
pub(crate) fn scalar<'de, D, T, E>(
    deserializer: D,
    expected: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
{
    deserializer.deserialize_any(Scalar {
        expected,
        parse,
        parsed: PhantomData,
    })
}

struct Scalar<'a, P, T, E> {
    expected: &'a str,
    parse: P,
    parsed: PhantomData<Result<T, E>>,
}

impl<P, T, E> Visitor<'_> for Scalar<'_, P, T, E>
where
    P: FnOnce(&str) -> Result<T, E>,
    E: fmt::Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<R: de::Error>(self, text: &str) -> Result<T, R> {
        (self.parse)(text).map_err(R::custom)
    }

    fn visit_u64<R: de::Error>(self, value: u64) -> Result<T, R> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<R: de::Error>(self, value: i64) -> Result<T, R> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<R: de::Error>(self, value: f64) -> Result<T, R> {
        self.visit_str(&value.to_string())
    }
}
