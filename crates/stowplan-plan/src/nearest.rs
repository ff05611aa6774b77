//! The nearest known name, for hints.

/// The name of `known` that is most like `word`, where one is like enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.6;
    let tail = |text: &str| -> String { text.chars().rev().take(80).collect() };
    let word = tail(word);
    known
        .into_iter()
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(&word, &tail(name)),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A hint that names the nearest of `known`, or lists them where they are few.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const FEW: usize = 16;
    let mut known: Vec<&str> = known.into_iter().collect();
    // Callers often hold their names in hash maps, and a message must not change from run to run.
    known.sort_unstable();
    match nearest(word, known.iter().copied()) {
        Some(name) => Some(format!("did you mean '{name}'?")),
        None if known.is_empty() || known.len() > FEW => None,
        None => Some(format!("known: {}", known.join(", "))),
    }
}

/// A hint that names the nearest of `known`, or lists all of them in their order.
pub fn hint_or_all(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(
        || format!("known: {}", known.join(", ")),
        |name| format!("did you mean '{name}'?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        let known = ["subscribes", "publishes", "process"];
        assert_eq!(nearest("subscibes", known), Some("subscribes"));
        assert_eq!(nearest("zzz", known), None);
    }

    #[test]
    fn few_names_are_listed_many_are_not() {
        assert_eq!(hint("zzz", ["a1", "b2"]).as_deref(), Some("known: a1, b2"));
        let many: Vec<String> = (0..20).map(|i| format!("name{i}")).collect();
        assert_eq!(hint("zzz", many.iter().map(String::as_str)), None);
    }
}
