//! Which distribution of ROS 2 a trace comes from.

use std::collections::BTreeSet;

use crate::contents::Contents;
use crate::graph::Graph;

/// By what processes say, then by their version of tracetools, then by the kinds of events. `Err` with the reason, where nothing
/// tells.
pub(crate) fn distributions(
    graph: &Graph,
    contents: &Contents,
) -> Result<Vec<&'static str>, String> {
    let processes = || graph.processes.iter();
    let named: BTreeSet<&'static str> = processes()
        .filter_map(|(_, process)| known_distribution(process.distribution.as_deref()?))
        .collect();
    if !named.is_empty() {
        return Ok(named.into_iter().collect());
    }
    let versions: BTreeSet<&str> = processes()
        .filter_map(|(_, process)| process.tracetools_version.as_deref())
        .collect();
    if versions.is_empty() {
        return by_events(contents);
    }
    let mut names: Vec<&str> = versions.iter().filter_map(|v| distribution(v)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        let versions: Vec<&str> = versions.into_iter().collect();
        return Err(format!(
            "tracetools {} is of no distribution known here",
            versions.join(", ")
        ));
    }
    Ok(names)
}

fn by_events(contents: &Contents) -> Result<Vec<&'static str>, String> {
    if contents.declares_publish_stamp {
        Ok(vec!["jazzy"])
    } else if contents.declares_take {
        Ok(vec!["humble"])
    } else if contents
        .by_event
        .keys()
        .any(|name| name.starts_with("ros2:"))
    {
        Ok(vec!["galactic"])
    } else {
        Err("the trace has no ros2 events".to_owned())
    }
}

/// Distributions of ROS 2, the oldest first.
const DISTRIBUTIONS: [&str; 7] = [
    "foxy", "galactic", "humble", "iron", "jazzy", "kilted", "rolling",
];

fn known_distribution(name: &str) -> Option<&'static str> {
    DISTRIBUTIONS.into_iter().find(|known| *known == name)
}

/// The distribution that ships a version of tracetools (branches of ros2_tracing).
fn distribution(version: &str) -> Option<&'static str> {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    Some(match (major, minor) {
        (0 | 1, _) => "foxy",
        (2, _) => "galactic",
        (3 | 4, _) => "humble",
        (5 | 6, _) => "iron",
        (7, _) | (8, 0..=3) => "jazzy",
        (8, 4..=7) => "kilted",
        _ => "rolling",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_name_their_distribution() {
        for (version, name) in [
            ("1.0.5", "foxy"),
            ("2.3.0", "galactic"),
            ("4.1.1", "humble"),
            ("6.3.1", "iron"),
            ("8.2.3", "jazzy"),
            ("8.6.0", "kilted"),
            ("9.1.0", "rolling"),
        ] {
            assert_eq!(distribution(version), Some(name));
        }
        assert_eq!(distribution("git"), None);
    }
}
