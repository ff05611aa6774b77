//! From text to the file's types, with the parser's errors as problems.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;
use stowplan_plan::nearest;

use crate::error::{Problem, SpecError};

/// What to write where a map is due.
const MAP: &str = "write keys with their values, as { key: value }";

/// Reads `text` as a `T`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SpecError> {
    parse_or(text, file, MAP)
}

/// As [`parse`], with a hint of its own where a map is due.
pub(crate) fn parse_or<T: DeserializeOwned>(
    text: &str,
    file: &str,
    map: &str,
) -> Result<T, SpecError> {
    let budget = serde_saphyr::budget! {
        max_depth: 32,
        max_documents: 1,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        let location = error.location();
        let rest = location.map_or("", |l| rest(text, l.line(), l.column()));
        let (message, hint) = say(error, rest, map);
        SpecError::Invalid(vec![Problem {
            file: file.to_owned(),
            line: location.map_or(0, |l| l.line()),
            column: location.map_or(0, |l| l.column()),
            message,
            hint,
        }])
    })
}

/// What went wrong in the words of this project, and the nearest right thing. `rest` is the text from its place on.
fn say(error: &Error, rest: &str, map: &str) -> (String, Option<String>) {
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => (format!("unknown key '{field}'"), keys(field, expected)),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => (
            format!("unknown value '{variant}'"),
            keys(variant, expected),
        ),
        Error::SerdeMissingField { field, .. } => (format!("the key '{field}' is missing"), None),
        Error::DuplicateMappingKey { key: Some(key), .. } => (
            format!("the key '{key}' is here a second time"),
            Some("names are unique in their map".into()),
        ),
        Error::Unexpected { expected, .. } => shape(expected, rest, map),
        Error::Eof { .. } => (
            "the file is empty".into(),
            Some("'stowplan new NAME' writes files to begin with".into()),
        ),
        Error::Message { msg, .. } => (msg.clone(), unclosed(msg, rest)),
        Error::AliasError { error, .. } => say(error, rest, map),
        Error::InvalidScalar { ty, .. } => (scalar(ty, value(rest)), None),
        other => (without_place(&other.to_string()), None),
    }
}

/// The text from this place on; lines and columns count from 1.
fn rest(text: &str, line: u64, column: u64) -> &str {
    let skip = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
    let before = text.split_inclusive('\n').take(skip(line)).map(str::len);
    let from_line = &text[before.sum()..];
    let mut characters = from_line.char_indices();
    characters
        .nth(skip(column))
        .map_or("", |(at, _)| &from_line[at..])
}

/// One shape of value stands where another is due.
fn shape(expected: &str, rest: &str, map: &str) -> (String, Option<String>) {
    let due = match expected {
        "mapping start" => "a map",
        "sequence start" => "a list",
        other => return (format!("expected {other}"), None),
    };
    let found = match rest.chars().next() {
        Some('[' | '-') => "a list",
        Some('{') => "a map",
        _ => "one value",
    };
    let hint = if due == "a map" {
        map.to_owned()
    } else {
        format!("write {}", listed(rest))
    };
    (format!("{due} is due here, not {found}"), Some(hint))
}

/// What is wrong with a value that is to be of this type.
fn scalar(ty: &str, value: &str) -> String {
    let due = match ty {
        "boolean" => "'true' or 'false'".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" | "u64" | "usize" => "a whole number of at least 0".to_owned(),
        "floating point" => "a number".to_owned(),
        other => format!("of type {other}"),
    };
    format!("'{value}' is not {due}")
}

/// The value at the beginning of `rest`.
fn value(rest: &str) -> &str {
    let end = rest.find([',', '}', ']', '\n', '#', '{', ':']);
    rest[..end.unwrap_or(rest.len())].trim()
}

/// The value at the beginning of `rest` as a list; a span of a few numbers, as 0-3, as each of them.
fn listed(rest: &str) -> String {
    const FEW: u32 = 16;
    let value = value(rest);
    let span = value.split_once('-').and_then(|(first, last)| {
        let ends = first.parse::<u32>().ok()?..=last.parse().ok()?;
        (ends.end().checked_sub(*ends.start())? < FEW).then_some(ends)
    });
    match span {
        Some(ends) => {
            let each: Vec<String> = ends.map(|number| number.to_string()).collect();
            format!("[{}]", each.join(", "))
        }
        None if value.is_empty() => "[first, second]".to_owned(),
        None => format!("[{value}]"),
    }
}

/// What is missing after a value to which the parser added what follows it, as '5M act' of `{ work: 5M` and a next
/// line, or of `work: 5M act: 3`.
fn unclosed(message: &str, rest: &str) -> Option<String> {
    let (value, what) = message.strip_prefix('\'')?.split_once('\'')?;
    let (first, next) = value.split_once(' ')?;
    let is_refused = what.starts_with(" is not a ");
    let after = rest.strip_prefix(first)?.trim_start_matches(' ');
    let goes_on = after.starts_with(['\n', '\r']);
    let is_key = after
        .strip_prefix(next)
        .is_some_and(|after| after.starts_with(':'));
    (is_refused && (goes_on || is_key))
        .then(|| format!("is a '}}' or a ',' missing after '{first}'?"))
}

fn keys(word: &str, expected: &[&'static str]) -> Option<String> {
    if matches!(word, "cpu" | "cpus") && expected.contains(&"cpu_quota") {
        let both = "'cpu_quota: 0.5' is a share of CPU time, 'cpuset: [0]' is which CPUs";
        return Some(both.to_owned());
    }
    (!expected.is_empty()).then(|| nearest::hint_or_all(word, expected))
}

/// The parser appends its own place, which stands before the message already.
fn without_place(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    match text.find(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_as_the_list_that_it_may_mean() {
        for (rest, list) in [
            ("0-0 }", "[0]"),
            ("0-3\nnext", "[0, 1, 2, 3]"),
            ("7", "[7]"),
            ("sense, x", "[sense]"),
            ("0-4000000000", "[0-4000000000]"),
            ("3-1", "[3-1]"),
            ("{ a: 1 }", "[first, second]"),
        ] {
            assert_eq!(listed(rest), list, "{rest}");
        }
    }

    #[test]
    fn the_rest_of_a_text_begins_at_its_place() {
        let text = "a: ü1\n  b: 2\n";
        assert_eq!(rest(text, 1, 4), "ü1\n  b: 2\n");
        assert_eq!(rest(text, 1, 5), "1\n  b: 2\n");
        assert_eq!(rest(text, 2, 6), "2\n");
        for (line, column) in [(2, 60), (9, 9), (u64::MAX, u64::MAX)] {
            assert_eq!(rest(text, line, column), "");
        }
    }

    #[test]
    fn only_a_value_that_goes_on_into_the_next_key_is_unclosed() {
        let message = "'5M act' is not a count, write '5M'";
        for rest in ["5M\n    act: {", "5M act: 3", "5M \r\n act:"] {
            assert!(unclosed(message, rest).is_some(), "{rest}");
        }
        for rest in ["5M act }", "5M act", ""] {
            assert_eq!(unclosed(message, rest), None, "{rest}");
        }
    }
}
