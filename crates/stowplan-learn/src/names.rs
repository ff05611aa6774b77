//! Names of a stack from the names of ROS: letters, digits, `_`, `-` and `.`, at most 64 bytes, unique.

use std::collections::{HashMap, HashSet};

/// Longest name of a stack.
const LONGEST: usize = 64;

/// The parts of a ROS name between its slashes.
pub(crate) fn parts(name: &str) -> Vec<&str> {
    name.split('/').filter(|part| !part.is_empty()).collect()
}

/// `text` with every character that a name cannot have replaced; never empty.
pub(crate) fn clean(text: &str) -> String {
    let kept: String = text
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => c,
            _ => '_',
        })
        .collect();
    let kept = kept.trim_start_matches(['_', '-', '.']);
    // What tells names of one kind apart stands at their ends.
    let cut = kept.len().saturating_sub(LONGEST);
    let kept = kept[cut..].trim_start_matches(['_', '-', '.']);
    if kept.is_empty() {
        "unnamed".to_owned()
    } else {
        kept.to_owned()
    }
}

/// Whether a topic name is one that a stack can have.
pub(crate) fn is_topic(name: &str) -> bool {
    name.len() <= 200
        && name.strip_prefix('/').is_some_and(|rest| {
            rest.split('/').all(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        })
}

/// A name that is not taken: `wish`, else with a number after it.
pub(crate) fn free(taken: &mut HashSet<String>, wish: &str) -> String {
    let mut name = clean(wish);
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let end = format!("_{number}");
        let mut base = clean(wish);
        base.truncate(LONGEST - end.len());
        name = format!("{base}{end}");
        number += 1;
    }
    name
}

/// For each full ROS name the shortest end of it that no other has, its parts joined by dots.
pub(crate) fn unique(full: &[String]) -> Vec<String> {
    let split: Vec<Vec<&str>> = full.iter().map(|name| parts(name)).collect();
    let end = |parts: &[&str], count: usize| parts[parts.len().saturating_sub(count)..].join(".");
    let longest = split.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut counts = vec![longest; full.len()];
    let mut open: Vec<usize> = (0..full.len()).collect();
    for count in 1..=longest {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for &index in &open {
            *seen.entry(end(&split[index], count)).or_default() += 1;
        }
        open.retain(|&index| {
            let alone = seen[&end(&split[index], count)] == 1;
            if alone {
                counts[index] = count;
            }
            !alone
        });
    }
    let mut taken = HashSet::new();
    split
        .iter()
        .zip(counts)
        .map(|(parts, count)| free(&mut taken, &end(parts, count)))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let full = owned(&[
            "/sensing/lidar/top/crop",
            "/sensing/lidar/left/crop",
            "/map/loader",
            "/_hidden",
            "/map/loader",
        ]);
        assert_eq!(
            unique(&full),
            [
                "top.crop",
                "left.crop",
                "map.loader",
                "hidden",
                "map.loader_2"
            ]
        );
    }

    #[test]
    fn names_of_a_stack_stay_as_they_are() {
        let stack = owned(&["/top.crop", "/left.crop", "/map.loader_2"]);
        assert_eq!(unique(&stack), ["top.crop", "left.crop", "map.loader_2"]);
    }

    proptest! {
        #[test]
        fn every_name_is_one_of_a_stack_and_none_comes_twice(full in prop::collection::vec("(/[a-z_é ]{0,40}){0,4}", 0..20)) {
            let names = unique(&full);
            let distinct: HashSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), full.len());
            for name in &names {
                prop_assert!(stowplan_model::Name::new(name.clone()).is_ok(), "{}", name);
            }
        }
    }
}
