//! What a deployment's processes say of their environment.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_measure::Measured;
use stowplan_wire::announce::Announcement;

/// Values that are given anew at every start: paths with the run's name, numbers that the kernel draws, and the copy of
/// the program where an engine makes one for each service (which program it is, its digest says).
const OF_A_START: [&str; 9] = [
    "autogroup",
    "cgroup.",
    "environ.bytes",
    "ns.",
    "process_group",
    "program.device",
    "program.inode",
    "session",
    "stdio.",
];

/// What the processes of a deployment say of their environment, and the engine and the kernel of them: values that all
/// share, and how many different ones there are where they do not.
pub(crate) fn fingerprint(measured: &Measured) -> BTreeMap<String, String> {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for announced in &measured.announcements {
        if let Announcement::Fingerprint { values, .. } = &announced.announcement {
            for (key, value) in values {
                seen.entry(key).or_default().insert(value);
            }
        }
    }
    seen.into_iter()
        .map(|(key, values)| {
            let mut values = values.into_iter();
            let first = values.next().unwrap_or_default().to_owned();
            let others = values.count();
            (
                key.to_owned(),
                if others == 0 {
                    first
                } else {
                    format!("{} different values", others + 1)
                },
            )
        })
        .chain(measured.label.clone())
        .collect()
}

/// Which values differ from those of the deployment's first run, as `KEY: THEN, now NOW`. `None` if none does, or if there are
/// no earlier ones.
pub(crate) fn changed(
    first: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Option<String> {
    if first.is_empty() {
        return None;
    }
    let keys: BTreeSet<&String> = first.keys().chain(now.keys()).collect();
    let lasting = |key: &str| !OF_A_START.iter().any(|begin| key.starts_with(begin));
    let found = |of: &BTreeMap<String, String>, key: &str| {
        of.get(key).map_or("nothing", String::as_str).to_owned()
    };
    let differ = keys
        .into_iter()
        .filter(|key| lasting(key) && first.get(*key) != now.get(*key));
    let told: Vec<String> = differ
        .map(|key| format!("{key}: {}, now {}", found(first, key), found(now, key)))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        values.iter().map(own).collect()
    }

    #[test]
    fn a_changed_environment_is_told_and_what_each_start_has_anew_is_not() {
        let first = of(&[("ns.net", "net:[1]"), ("thp", "1"), ("uid", "0")]);
        let now = of(&[("ns.net", "net:[2]"), ("thp", "0"), ("gid", "0")]);
        assert_eq!(
            changed(&first, &now).as_deref(),
            Some("gid: nothing, now 0; thp: 1, now 0; uid: 0, now nothing")
        );
        let again = of(&[("ns.net", "net:[3]"), ("thp", "1"), ("uid", "0")]);
        assert_eq!(changed(&first, &again), None);
        assert_eq!(changed(&of(&[]), &now), None, "the first run");
    }
}
