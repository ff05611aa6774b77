//! Connections with wildcards: which ports they pair.
//!
//! Source: `match_and_pair_wildcard_ports` of the designer's `link_manager.py`. `*`, `^` and `+` stand for any
//! text, each for its own: what one stands for in the first pattern, it stands for in the second.

use std::collections::BTreeMap;

use regex::Regex;

use super::tree::PortId;

const WILDCARDS: [char; 3] = ['*', '^', '+'];

/// Whether a text has a wildcard.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(WILDCARDS)
}

/// The keys, as `INSTANCE.PORT`, of the ports that a pair of patterns connects.
pub(super) fn pairs<'a>(
    (from, to): (&str, &str),
    sources: &'a BTreeMap<String, PortId>,
    targets: &'a BTreeMap<String, PortId>,
) -> Vec<(&'a PortId, &'a PortId)> {
    let (Some(from_of), Some(to_of)) = (Pattern::new(from), Pattern::new(to)) else {
        return Vec::new();
    };
    let matched = sources.iter().filter(|(key, _)| from_of.matches(key));
    let mut pairs = Vec::new();
    for (source, id) in matched {
        if is_pattern(from) && is_pattern(to) {
            pairs.extend(
                targets
                    .get(&from_of.put_into(to, source))
                    .map(|to| (id, to)),
            );
        } else {
            let targets = targets.iter().filter(|(key, _)| to_of.matches(key));
            pairs.extend(targets.map(|(_, to)| (id, to)));
        }
    }
    pairs
}

struct Pattern {
    regex: Regex,
    wildcards: Vec<char>,
}

impl Pattern {
    /// `None` if it is too long for a regular expression.
    fn new(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split(WILDCARDS).map(regex::escape).collect();
        let regex = Regex::new(&format!("^{}$", parts.join("(.*?)"))).ok()?;
        let wildcards = text.chars().filter(|c| WILDCARDS.contains(c)).collect();
        Some(Self { regex, wildcards })
    }

    fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Another pattern with what this one's wildcards stand for in a text that it matches.
    fn put_into(&self, other: &str, text: &str) -> String {
        let mut stands_for: Vec<(char, &str)> = match self.regex.captures(text) {
            Some(captures) => {
                let texts = captures
                    .iter()
                    .skip(1)
                    .flatten()
                    .map(|found| found.as_str());
                self.wildcards.iter().copied().zip(texts).collect()
            }
            None => Vec::new(),
        };
        let mut put = String::new();
        for c in other.chars() {
            match stands_for.iter().position(|(wildcard, _)| *wildcard == c) {
                Some(at) => put.push_str(stands_for.remove(at).1),
                None => put.push(c),
            }
        }
        put
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(from: &str, to: &str, sources: &[&str], targets: &[&str]) -> Vec<(usize, usize)> {
        let map = |keys: &[&str]| -> BTreeMap<String, PortId> {
            let keys = keys.iter().enumerate();
            keys.map(|(at, key)| ((*key).to_owned(), (at, true, String::new())))
                .collect()
        };
        let (sources, targets) = (map(sources), map(targets));
        let found = pairs((from, to), &sources, &targets);
        found.into_iter().map(|(a, b)| (a.0, b.0)).collect()
    }

    #[test]
    fn a_wildcard_on_both_sides_pairs_ports_of_one_name() {
        let found = paired(".*", "a.*", &[".x", ".y", "b.x"], &["a.x", "a.z", "c.y"]);
        assert_eq!(found, [(0, 0)]);
    }

    #[test]
    fn a_wildcard_on_one_side_pairs_all_with_the_other() {
        assert_eq!(
            paired("a.*", "b.in", &["a.x", "a.y"], &["b.in", "b.out"]),
            [(0, 0), (1, 0)]
        );
        assert_eq!(
            paired("a.x", "*.in", &["a.x"], &["b.in", "c.in"]),
            [(0, 0), (0, 1)]
        );
    }

    #[test]
    fn each_wildcard_stands_for_its_own_text() {
        // The example of the designer's source.
        assert_eq!(
            paired(
                "input.*_^",
                "^.input_*",
                &["input.pcl_upper_right"],
                &["upper_right.input_pcl", "upper.input_pcl"]
            ),
            [(0, 0)]
        );
    }
}
