//! Files in which the kernel says one thing.

use std::fs;

/// Its text; `None` where it is empty or cannot be read.
pub(crate) fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The word in square brackets of a sysfs choice (`always [madvise] never`).
pub(crate) fn chosen(text: &str) -> String {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(word, _)| word)
        .to_owned()
}
