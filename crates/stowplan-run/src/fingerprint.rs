//! What a deployment's processes say of their environment.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_measure::Measured;
use stowplan_results::OF_A_START;
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::host::{CpuLevel, LimitsReadBack};

/// Settings and their values.
pub(crate) type Values = BTreeMap<String, String>;

/// Whether services map the same start-up files, of one inode each, so that what one has read is there for the next.
const SHARED_FILES: &str = "files.shared";

/// Of one deployment, beside these: the run's name is in its environment, and namespaces are made for it.
const OF_A_RUN: [&str; 2] = ["environ.bytes", "ns."];

/// What the processes of a deployment say of their environment, and the engine and the kernel of them: the values, and of
/// those that each start has anew how many there are.
pub(crate) fn fingerprint(measured: &Measured) -> Values {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for announced in measured.announcements() {
        if let Announcement::Fingerprint { values, .. } = &announced.announcement {
            for (key, value) in values {
                seen.entry(key).or_default().insert(value.clone());
            }
        }
    }
    let limits = measured.hosts.iter().flat_map(|host| &host.limits);
    for (key, value) in limits.flat_map(|(_, has)| of_group(has)) {
        seen.entry(key).or_default().insert(value);
    }
    if let Some(shared) = shared_files(measured.announcements()) {
        let told = if shared { "yes" } else { "no" };
        seen.entry(SHARED_FILES)
            .or_default()
            .insert(told.to_owned());
    }
    seen.into_iter()
        .map(|(key, values)| (key.to_owned(), in_words(key, values)))
        .chain(measured.hosts.iter().flat_map(|host| host.label.clone()))
        .collect()
}

/// Two deployments with as many different values are not equal for that: the values are told, but for those that are never
/// the same twice.
fn in_words(key: &str, values: BTreeSet<String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    if values.len() > 1 && !lasts(key) {
        return format!("{} different values", values.len());
    }
    values.join(" | ")
}

/// Whether the values of a key stay as they are from one start of a deployment to the next.
fn lasts(key: &str) -> bool {
    let mut of_one = OF_A_START.iter().chain(&OF_A_RUN);
    !of_one.any(|begin| key.starts_with(begin))
}

/// Whether all node programs are one file, by what each says of the program it executes; `None` where none says it. On an
/// overlay every mount has a device number of its own, but the inode is that of the layer, whose pages all share.
fn shared_files<'a>(announcements: impl Iterator<Item = &'a Announced>) -> Option<bool> {
    let files: BTreeSet<(Option<&String>, &String)> = announcements
        .filter_map(|announced| {
            let Announcement::Fingerprint { values, .. } = &announced.announcement else {
                return None;
            };
            let on_overlay = values
                .get("program.mount")
                .is_some_and(|kind| kind == "overlay");
            let device = values.get("program.device").filter(|_| !on_overlay);
            Some((device, values.get("program.inode")?))
        })
        .collect();
    (!files.is_empty()).then_some(files.len() == 1)
}

/// What the kernel has of a service's control group, beside what its processes see.
fn of_group(has: &LimitsReadBack) -> [(&'static str, String); 3] {
    let levels: Vec<String> = has.cpu_levels.iter().map(CpuLevel::to_string).collect();
    let none = || "none".to_owned();
    let memory = has.memory_bytes.as_ref().map_or_else(none, u64::to_string);
    let swap = match has.swap_bytes {
        None => none(),
        Some(LimitsReadBack::UNLIMITED) => "unlimited".to_owned(),
        Some(bytes) => bytes.to_string(),
    };
    let levels = if levels.is_empty() {
        none()
    } else {
        levels.join(" in ")
    };
    [
        ("cpu.levels", levels),
        ("memory.limit_bytes", memory),
        ("memory.swap_bytes", swap),
    ]
}

/// The machine's settings under names that no process has.
pub(crate) fn of_machine(settings: &Values) -> Values {
    let named = settings.iter();
    let named = named.map(|(key, value)| (format!("machine.{key}"), value.clone()));
    named.collect()
}

/// Which values differ from those of the deployment's first run, as `KEY: THEN, now NOW`. `None` if none does, or if there are
/// no earlier ones.
pub(crate) fn changed(first: &Values, now: &Values) -> Option<String> {
    if first.is_empty() {
        return None;
    }
    let keys: BTreeSet<&String> = first.keys().chain(now.keys()).collect();
    let found = |of: &Values, key: &str| of.get(key).map_or("nothing", String::as_str).to_owned();
    let differ = keys
        .into_iter()
        .filter(|key| lasts(key) && first.get(*key) != now.get(*key));
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
    fn different_values_are_told_unless_each_start_has_its_own() {
        let values = |of: &[&str]| of.iter().map(|v| (*v).to_owned()).collect();
        assert_eq!(in_words("sched.nice", values(&["0"])), "0");
        assert_eq!(in_words("sched.nice", values(&["5", "0"])), "0 | 5");
        assert_eq!(in_words("ns.pid", values(&["pid:[1]"])), "pid:[1]");
        let own = values(&["pid:[1]", "pid:[2]"]);
        assert_eq!(in_words("ns.pid", own), "2 different values");
    }

    #[test]
    fn files_are_shared_where_all_programs_are_one_file() {
        let program = |mount, device, inode| Announced {
            host: "here".to_owned(),
            service: "a".to_owned(),
            pid: 1,
            announcement: Announcement::Fingerprint {
                process: None,
                at: "up".to_owned(),
                values: of(&[
                    ("program.mount", mount),
                    ("program.device", device),
                    ("program.inode", inode),
                ]),
            },
        };
        assert_eq!(shared_files([].iter()), None);
        let one = program("ext4", "1", "7");
        assert_eq!(shared_files([one.clone(), one.clone()].iter()), Some(true));
        // A clone of a whole file system has the inodes of its origin.
        assert_eq!(
            shared_files([one, program("btrfs", "2", "7")].iter()),
            Some(false)
        );
        let overlays = ["1", "2"].map(|device| program("overlay", device, "7"));
        assert_eq!(shared_files(overlays.iter()), Some(true));
        let copies = ["7", "8"].map(|inode| program("overlay", "1", inode));
        assert_eq!(shared_files(copies.iter()), Some(false));
    }

    #[test]
    fn weights_and_quotas_of_all_levels_are_one_value() {
        let level = |weight, quota| CpuLevel { weight, quota };
        let has = LimitsReadBack {
            cpu_levels: vec![level(50, Some(0.2)), level(100, None)],
            memory_bytes: Some(4096),
            swap_bytes: Some(0),
            ..LimitsReadBack::default()
        };
        let told = of_group(&has).map(|(_, value)| value);
        assert_eq!(told, ["50 (at most 0.2 CPUs) in 100", "4096", "0"]);
        let told = of_group(&LimitsReadBack::default()).map(|(_, value)| value);
        assert_eq!(told, ["none", "none", "none"]);
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
