//! Taking out of a text what differs from run to run.

/// Replaces times, sizes, pids, temporary paths and digests, so that a text can be compared with a committed
/// one: every number of two or more digits becomes `<n>`, with its decimal part; hex words of 16 and more
/// letters become `<hex>`.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let end = |word: &mut String, out: &mut String| {
        // A full stop after a word ends the sentence.
        let whole = word.trim_end_matches('.');
        if whole.len() >= 16 && whole.chars().all(|c| c.is_ascii_hexdigit()) {
            out.push_str("<hex>");
            out.push_str(&word[whole.len()..]);
        } else {
            out.push_str(&numbers(word));
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '.' {
            word.push(c);
        } else {
            end(&mut word, &mut out);
            out.push(c);
        }
    }
    end(&mut word, &mut out);
    out
}

fn numbers(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        let number = &rest[at..];
        let length = number
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(number.len());
        let (digits, tail) = number.split_at(length);
        let whole = digits.trim_end_matches('.');
        if whole.len() >= 2 {
            out.push_str("<n>");
        } else {
            out.push_str(whole);
        }
        out.push_str(&digits[whole.len()..]);
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_replaced_and_the_rest_is_kept() {
        assert_eq!(
            redact("ran 3 services in 12.5 ms (pid 4711), sha 0123456789abcdef0123."),
            "ran 3 services in <n> ms (pid <n>), sha 0123456789abcdef0123."
                .replace("0123456789abcdef0123.", "<hex>.")
        );
    }
}
