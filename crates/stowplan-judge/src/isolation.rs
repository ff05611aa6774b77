//! Which isolation a deployment's processes really had, from what they said of themselves.

use std::collections::BTreeMap;

use stowplan_results::DeploymentRecord;

/// Namespaces by feature.
pub(crate) const NAMESPACES: [(&str, &str); 6] = [
    ("mount", "ns.mnt"),
    ("pid", "ns.pid"),
    ("ipc", "ns.ipc"),
    ("uts", "ns.uts"),
    ("net", "ns.net"),
    ("user", "ns.user"),
];

/// Isolation features of `deployment` by name, read from the fingerprint of its processes beside that of plain
/// processes in one group. What the fingerprints cannot tell is left out.
#[must_use]
pub fn found(plain: &DeploymentRecord, deployment: &DeploymentRecord) -> BTreeMap<String, bool> {
    let of = |d: &'_ DeploymentRecord, key: &str| d.fingerprint.get(key).cloned();
    let pair = |key: &str| Some((of(plain, key)?, of(deployment, key)?));
    let mut found = BTreeMap::new();
    let mut put = |feature: &str, is: Option<bool>| {
        if let Some(is) = is {
            found.insert(feature.to_owned(), is);
        }
    };
    for (feature, key) in NAMESPACES {
        put(feature, pair(key).map(|(plain, own)| plain != own));
    }
    put("cgroup", in_groups_of_their_own(plain, deployment));
    let overlay = pair("program.mount").filter(|(plain, _)| plain != "overlay");
    put("overlay", overlay.map(|(_, own)| own == "overlay"));
    let read_only = of(deployment, "root.mount");
    put("read_only_root", read_only.map(|own| own.ends_with(" ro")));
    let seccomp = pair("seccomp.mode").filter(|(plain, _)| plain == "0");
    put("seccomp", seccomp.map(|(_, own)| own == "2"));
    // Where Stowplan itself has no more capabilities than a container, only the second tells.
    let fewer = ["cap.bounding", "no_new_privs"].into_iter();
    let fewer = fewer.filter_map(&pair).map(|(plain, own)| plain != own);
    put("capabilities", fewer.reduce(|a, b| a || b));
    found
}

/// Whether the CPU controller of cgroup v1 has services in groups below that of the run. In cgroup v2 plain
/// processes are in such groups too, for their accounting, and paths do not tell.
fn in_groups_of_their_own(plain: &DeploymentRecord, deployment: &DeploymentRecord) -> Option<bool> {
    let depth = |d: &DeploymentRecord| {
        let mut groups = d.fingerprint.iter();
        let of_cpu = |key: &str| {
            let controllers = key.strip_prefix("cgroup.");
            controllers.is_some_and(|all| all.split(',').any(|one| one == "cpu"))
        };
        let (_, path) = groups.find(|(key, _)| of_cpu(key))?;
        Some(Depth::of(path))
    };
    Some(depth(plain)?.below(&depth(deployment)?))
}

/// How deep a group lies, where all processes of a deployment share one.
enum Depth {
    One(usize),
    Several,
}

impl Depth {
    fn of(path: &str) -> Self {
        if path.starts_with('/') {
            Self::One(path.split('/').filter(|part| !part.is_empty()).count())
        } else {
            // "4 different values"
            Self::Several
        }
    }

    fn below(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(plain), Self::One(own)) => own > plain,
            (Self::One(_), Self::Several) => true,
            (Self::Several, _) => false,
        }
    }
}

/// Features in which a deployment of an ablation was not as it was asked for.
pub(crate) fn deviations(plain: &DeploymentRecord, deployment: &DeploymentRecord) -> Vec<String> {
    let found = found(plain, deployment);
    let differ = deployment.isolation.iter().filter_map(|(feature, asked)| {
        let is = *found.get(feature)?;
        (is != *asked).then(|| {
            let (asked, is) = (on(*asked), on(is));
            format!(
                "isolation feature '{feature}' was to be {asked} and was {is}, by its processes"
            )
        })
    });
    differ.collect()
}

fn on(is: bool) -> &'static str {
    if is { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(pairs: &[(&str, &str)]) -> DeploymentRecord {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        DeploymentRecord {
            fingerprint: pairs.iter().map(own).collect(),
            ..DeploymentRecord::default()
        }
    }

    fn plain() -> DeploymentRecord {
        deployment(&[
            ("ns.pid", "pid:[1]"),
            ("ns.uts", "uts:[2]"),
            ("cgroup.cpu,cpuacct", "/run"),
            ("program.mount", "ext4"),
            ("root.mount", "ext4 rw"),
            ("seccomp.mode", "0"),
            ("cap.bounding", "1ff"),
        ])
    }

    #[test]
    fn features_are_read_off_the_fingerprint() {
        let container = deployment(&[
            ("ns.pid", "4 different values"),
            ("ns.uts", "uts:[2]"),
            ("cgroup.cpu,cpuacct", "/run/sensing"),
            ("program.mount", "overlay"),
            ("root.mount", "overlay rw"),
            ("seccomp.mode", "2"),
            ("cap.bounding", "1ff"),
        ]);
        let expected = [
            ("capabilities", false),
            ("cgroup", true),
            ("overlay", true),
            ("pid", true),
            ("read_only_root", false),
            ("seccomp", true),
            ("uts", false),
        ];
        let expected = expected.map(|(feature, is)| (feature.to_owned(), is));
        assert_eq!(found(&plain(), &container), BTreeMap::from(expected));
        assert!(found(&plain(), &plain()).values().all(|is| !is));
    }

    #[test]
    fn what_fingerprints_cannot_tell_is_left_out() {
        let mut plain = plain();
        plain
            .fingerprint
            .insert("program.mount".into(), "overlay".into());
        plain.fingerprint.insert("seccomp.mode".into(), "2".into());
        plain.fingerprint.remove("cgroup.cpu,cpuacct");
        let same = found(&plain, &plain);
        for feature in ["overlay", "seccomp", "cgroup", "net"] {
            assert!(!same.contains_key(feature), "{feature}");
        }
    }

    #[test]
    fn what_was_not_as_asked_for_is_said() {
        let mut asked = plain();
        asked.isolation = BTreeMap::from([("pid".to_owned(), true), ("uts".to_owned(), false)]);
        assert_eq!(
            deviations(&plain(), &asked),
            ["isolation feature 'pid' was to be on and was off, by its processes"]
        );
    }
}
