//! A command line as words without blanks, for engines that know no other end of a word: `stowplan-agent exec WORD…` is
//! told the words and becomes the program.

use std::fmt::Write;

/// What an empty argument is written as.
const EMPTY: &str = "%";

/// An argument as a word: letters, digits and what paths have stand for themselves, every other byte is `%` and its two
/// hexadecimal digits.
#[must_use]
pub fn encode(argument: &str) -> String {
    if argument.is_empty() {
        return EMPTY.to_owned();
    }
    let mut word = String::new();
    for byte in argument.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-+:@=,".contains(&byte) {
            word.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(word, "%{byte:02X}");
        }
    }
    word
}

/// The bytes of an argument that [`encode`] made `word` of; `None` where it made none such.
#[must_use]
pub fn decode(word: &str) -> Option<Vec<u8>> {
    if word == EMPTY {
        return Some(Vec::new());
    }
    let mut parts = word.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        for argument in ["", "/bin/sh", "echo \"a b\" > ü%\n\t'$1'; #", "%", "100%25"] {
            let word = encode(argument);
            assert!(word.bytes().all(|byte| byte.is_ascii_graphic()), "{word}");
            assert!(
                !word.is_empty() && !word.contains(['#', '"', '\'']),
                "{word}"
            );
            assert_eq!(decode(&word).unwrap(), argument.as_bytes(), "{word}");
        }
        assert_eq!(encode("/srv/a b"), "/srv/a%20b");
    }

    #[test]
    fn what_is_no_word_is_none() {
        for word in ["a%", "%4", "%zz", "%ü"] {
            assert_eq!(decode(word), None, "{word}");
        }
    }
}
