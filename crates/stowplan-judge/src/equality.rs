//! In what the processes of a deployment differ from those of the reference, and what of it nobody asked for (docs/measuring.md §3).

use std::collections::{BTreeMap, BTreeSet};

use stowplan_results::{DeploymentRecord, OF_A_START};

use crate::format::dash;
use crate::isolation::NAMESPACES;

/// What a container has by being one, by the isolation feature that gives it. Where that is switched off, the value is to
/// be as without a container.
const OF_CONTAINERS: [(&str, Option<&str>); 10] = [
    ("cap.", Some("capabilities")),
    ("dds.", Some("net")),
    ("engine.", None),
    ("files.shared", None),
    ("net.", Some("net")),
    ("no_new_privs", Some("capabilities")),
    ("program.mount", None),
    ("root.mount", None),
    ("seccomp.", Some("seccomp")),
    ("speculation.", Some("seccomp")),
];

/// Weights and quotas of the CPU controller, from the group of a service up to the root.
const LEVELS: &str = "cpu.levels";

/// Name, value of the reference and own value of every setting that differs.
#[must_use]
pub fn differences(
    reference: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> Vec<[String; 3]> {
    let mut names: Vec<&String> = reference.keys().chain(own.keys()).collect();
    names.sort();
    names.dedup();
    let shown =
        |of: &BTreeMap<String, String>, name: &str| of.get(name).cloned().unwrap_or_else(dash);
    names
        .into_iter()
        .filter(|name| reference.get(*name) != own.get(*name))
        .map(|name| [name.clone(), shown(reference, name), shown(own, name)])
        .collect()
}

/// What differs and was not asked for, in one line; `None` where everything was.
pub(crate) fn unasked(reference: &DeploymentRecord, own: &DeploymentRecord) -> Option<String> {
    if reference.id == own.id || reference.fingerprint.is_empty() || own.fingerprint.is_empty() {
        return None;
    }
    let all = differences(&reference.fingerprint, &own.fingerprint);
    let unasked = all
        .into_iter()
        .filter(|[name, ..]| !(is_asked(name, reference) || is_asked(name, own)));
    let texts: Vec<String> = unasked
        .map(|[name, of_reference, is]| {
            let nothing = |text: String| {
                if text == dash() {
                    "not there".to_owned()
                } else {
                    text
                }
            };
            format!(
                "{name} is {} and not {}",
                nothing(is),
                nothing(of_reference)
            )
        })
        .collect();
    (!texts.is_empty()).then(|| {
        format!(
            "{}: not as in {}, and nobody asked for it: {}",
            own.label,
            reference.label,
            texts.join("; ")
        )
    })
}

/// Groups of a control that lie otherwise than those of the engine, in one line: what is told as isolation then has
/// group scheduling in it.
pub(crate) fn other_groups(control: &DeploymentRecord, own: &DeploymentRecord) -> Option<String> {
    let of = |d: &DeploymentRecord| d.fingerprint.get(LEVELS).cloned();
    let (there, here) = (of(control)?, of(own)?);
    (levels(&there) != levels(&here)).then(|| {
        format!(
            "{}: its groups lie otherwise than those of {} ({LEVELS} is {here} and not {there}): what is told as isolation has \
             group scheduling in it",
            own.label, control.label
        )
    })
}

/// From the group of a service up to the root: `100 in 100` has two. Services may differ: `100 | 100 in 100`.
fn levels(told: &str) -> BTreeSet<usize> {
    let values = told.split(" | ");
    values.map(|value| value.split(" in ").count()).collect()
}

/// Whether each start has the value of `name` anew.
#[must_use]
pub fn is_of_a_start(name: &str) -> bool {
    OF_A_START.iter().any(|begin| name.starts_with(begin))
}

/// Whether a deployment may have another value of `name` by its start, its place, or what was asked for it.
fn is_asked(name: &str, deployment: &DeploymentRecord) -> bool {
    if is_of_a_start(name) {
        return true;
    }
    let limits = || deployment.limits.values();
    match name {
        LEVELS => {
            !deployment.is_flat()
                || limits().any(|l| l.cpu_weight.is_some() || l.cpu_quota.is_some())
        }
        "memory.limit_bytes" | "memory.swap_bytes" => limits().any(|l| l.memory_bytes.is_some()),
        "sched.affinity" => limits().any(|l| l.cpuset.is_some()),
        "sched.policy" | "sched.rt_priority" => limits().any(|l| l.scheduling.is_some()),
        _ => !deployment.is_plain() && is_of_containers(name, deployment),
    }
}

fn is_of_containers(name: &str, deployment: &DeploymentRecord) -> bool {
    let is_on = |feature: &str| deployment.isolation.get(feature).copied();
    if name.starts_with("ns.") {
        let feature = NAMESPACES.iter().find(|(_, key)| *key == name);
        return feature.is_none_or(|(feature, _)| is_on(feature) != Some(false));
    }
    let entry = OF_CONTAINERS
        .iter()
        .find(|(begin, _)| name.starts_with(begin));
    entry.is_some_and(|(_, feature)| match *feature {
        // Containers share the network of the run unless they are to have their own.
        Some("net") => is_on("net") == Some(true),
        Some(feature) => is_on(feature) != Some(false),
        None => true,
    })
}

#[cfg(test)]
mod tests {
    use stowplan_results::{LimitsRecord, PlaceRecord};

    use super::*;

    fn deployment(place: &str, fingerprint: &[(&str, &str)]) -> DeploymentRecord {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        DeploymentRecord {
            id: place.to_owned(),
            label: place.to_owned(),
            place: place.to_owned(),
            facts: Some(PlaceRecord::of_older_result(place)),
            fingerprint: fingerprint.iter().map(own).collect(),
            ..DeploymentRecord::default()
        }
    }

    const PLAIN: [(&str, &str); 6] = [
        ("cap.effective", "1ff"),
        ("cpu.levels", "100"),
        ("ns.pid", "pid:[1]"),
        ("rlimit.open_files", "1024 4096"),
        ("sched.affinity", "0-1"),
        ("session", "7"),
    ];
    const CONTAINER: [(&str, &str); 7] = [
        ("cap.effective", "ff"),
        ("cpu.levels", "100 in 100"),
        ("engine.runtime", "runc"),
        ("ns.pid", "pid:[2]"),
        ("rlimit.open_files", "1048576 1048576"),
        ("sched.affinity", "0"),
        ("session", "1"),
    ];

    #[test]
    fn what_a_container_is_was_asked_for_and_the_rest_is_told() {
        let plain = deployment("bare:flat", &PLAIN);
        let mut container = deployment("docker", &CONTAINER);
        assert_eq!(
            unasked(&plain, &container).as_deref(),
            Some(
                "docker: not as in bare:flat, and nobody asked for it: rlimit.open_files is 1048576 1048576 and not \
                 1024 4096; sched.affinity is 0 and not 0-1"
            )
        );
        let limits = LimitsRecord {
            cpuset: Some(vec![0]),
            ..LimitsRecord::default()
        };
        container.limits.insert("all".to_owned(), limits);
        let text = unasked(&plain, &container).unwrap();
        assert!(!text.contains("sched.affinity"), "{text}");
        container.isolation.insert("pid".to_owned(), false);
        let text = unasked(&plain, &container).unwrap();
        assert!(text.contains("ns.pid is pid:[2] and not pid:[1]"), "{text}");
    }

    #[test]
    fn groups_of_another_shape_are_no_control() {
        let at = |place, levels| deployment(place, &[("cpu.levels", levels)]);
        let own = at("lxd", "39 (at most 0.2 CPUs) in 100");
        // Weights and quotas were asked for; only where the groups lie is not.
        assert_eq!(
            other_groups(&at("bare:grouped-lxd", "100 in 100"), &own),
            None
        );
        let text = other_groups(&at("bare:grouped", "100 in 100 in 100"), &own).unwrap();
        let told = "lxd: its groups lie otherwise than those of bare:grouped (cpu.levels is 39 (at most 0.2 CPUs) in 100 and \
                    not 100 in 100 in 100)";
        assert!(text.starts_with(told), "{text}");
        assert_eq!(other_groups(&deployment("bare:grouped", &[]), &own), None);
        let some = at("lxd", "100 in 100 | 100 in 100 in 100");
        assert!(other_groups(&at("bare:grouped", "100 in 100 in 100"), &some).is_some());
    }

    #[test]
    fn settings_that_differ_are_named() {
        let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let found = differences(
            &of(&[("nice", "0"), ("seccomp", "none")]),
            &of(&[("nice", "0"), ("seccomp", "filter"), ("weight", "39")]),
        );
        assert_eq!(
            found,
            [["seccomp", "none", "filter"], ["weight", "–", "39"]].map(|r| r.map(str::to_owned))
        );
    }

    #[test]
    fn plain_processes_may_not_differ_by_what_containers_have() {
        let plain = deployment("bare:flat", &PLAIN);
        let mut grouped = deployment("bare:grouped", &PLAIN);
        grouped
            .fingerprint
            .insert("cpu.levels".to_owned(), "39 in 100".to_owned());
        assert_eq!(unasked(&plain, &grouped), None);
        grouped.fingerprint.remove("cap.effective");
        assert_eq!(
            unasked(&plain, &grouped).as_deref(),
            Some(
                "bare:grouped: not as in bare:flat, and nobody asked for it: cap.effective is not there and not 1ff"
            )
        );
        assert_eq!(unasked(&plain, &plain), None);
    }
}
