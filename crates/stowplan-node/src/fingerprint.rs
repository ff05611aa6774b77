//! What a process sees of its own environment (docs/measuring.md §3), read from its own /proc entries.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use stowplan_wire::announce::Announcement;

use crate::read_back;

/// Lines of /proc/self/status that are kept, with their key.
const STATUS: &[(&str, &str)] = &[
    ("Cpus_allowed_list", "sched.affinity"),
    ("Mems_allowed_list", "memory.nodes"),
    ("Seccomp", "seccomp.mode"),
    ("Seccomp_filters", "seccomp.filters"),
    ("NoNewPrivs", "no_new_privs"),
    ("Speculation_Store_Bypass", "speculation.store_bypass"),
    ("SpeculationIndirectBranch", "speculation.indirect_branch"),
    ("THP_enabled", "thp"),
    ("CapInh", "cap.inheritable"),
    ("CapPrm", "cap.permitted"),
    ("CapEff", "cap.effective"),
    ("CapBnd", "cap.bounding"),
    ("CapAmb", "cap.ambient"),
    ("Uid", "uid"),
    ("Gid", "gid"),
];

/// Files with a single value, with their key.
const FILES: &[(&str, &str)] = &[
    ("/proc/self/autogroup", "autogroup"),
    ("/proc/self/timerslack_ns", "timer_slack_ns"),
    ("/proc/self/personality", "personality"),
    ("/proc/self/oom_score_adj", "oom_score_adj"),
    ("/proc/self/timens_offsets", "time.offsets"),
    ("/proc/sys/net/core/rmem_default", "net.rmem_default"),
    ("/proc/sys/net/core/rmem_max", "net.rmem_max"),
    ("/proc/sys/net/core/wmem_default", "net.wmem_default"),
    ("/proc/sys/net/core/wmem_max", "net.wmem_max"),
];

/// Fields of /proc/self/stat after the command, counted from 0 at the state, with their key.
const STAT: &[(usize, &str)] = &[
    (2, "process_group"),
    (3, "session"),
    (16, "sched.nice"),
    (37, "sched.rt_priority"),
    (38, "sched.policy"),
];

/// Entries of the auxiliary vector, with their key.
const AUXILIARY: &[(u64, &str)] = &[(6, "page_bytes"), (16, "hwcap"), (26, "hwcap2")];

/// Key and value of everything that could be read; what cannot be read is left out.
fn take() -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut put = |key: String, value: String| {
        values.insert(key, value);
    };
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    for line in read("/proc/self/status").lines() {
        if let Some((name, value)) = line.split_once(':')
            && let Some((_, key)) = STATUS.iter().find(|(known, _)| *known == name)
        {
            put((*key).to_owned(), words(value));
        }
    }
    for (path, key) in FILES {
        if let Ok(text) = fs::read_to_string(path) {
            put((*key).to_owned(), words(&text));
        }
    }
    let stat = read("/proc/self/stat");
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    for (index, key) in STAT {
        if let Some(value) = fields.get(*index) {
            put((*key).to_owned(), (*value).to_owned());
        }
    }
    limits(&read("/proc/self/limits"), &mut put);
    for line in read("/proc/self/cgroup").lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        if let (Some(controllers), Some(path)) = (parts.next(), parts.next()) {
            let name = if controllers.is_empty() {
                "unified"
            } else {
                controllers
            };
            put(format!("cgroup.{name}"), path.to_owned());
        }
    }
    links("/proc/self/ns", "ns", &mut put);
    links("/proc/self/fd", "stdio", &mut put);
    program(&mut put);
    auxiliary(&mut put);
    if let Ok(environment) = fs::read("/proc/self/environ") {
        put("environ.bytes".into(), environment.len().to_string());
    }
    values
}

/// What a process says right after it was executed; the launcher has no name.
#[must_use]
pub fn at_start(process: Option<&str>) -> Announcement {
    announcement(process, "up", take())
}

/// What it says before the window: the same, and what the kernel made of the DDS configuration of the domain that it is in.
#[must_use]
pub fn at_arming(process: Option<&str>, domain: Option<u32>) -> Announcement {
    let mut values = take();
    values.extend(domain.into_iter().flat_map(read_back::take));
    announcement(process, "arm", values)
}

fn announcement(process: Option<&str>, at: &str, values: BTreeMap<String, String>) -> Announcement {
    Announcement::Fingerprint {
        process: process.map(str::to_owned),
        at: at.to_owned(),
        values,
    }
}

/// Runs of white space become one space.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Max open files   1024   4096   files` to `rlimit.open_files` = `1024 4096`.
fn limits(text: &str, put: &mut impl FnMut(String, String)) {
    for line in text.lines().skip(1) {
        let Some((name, values)) = line.split_at_checked(26) else {
            continue;
        };
        let name = name.trim().trim_start_matches("Max ").replace(' ', "_");
        let values: Vec<&str> = values.split_whitespace().take(2).collect();
        put(format!("rlimit.{name}"), values.join(" "));
    }
}

/// Targets of links in a folder: all of `ns`, the first three of `fd`.
fn links(folder: &str, key: &str, put: &mut impl FnMut(String, String)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if key == "stdio" && !matches!(name.as_str(), "0" | "1" | "2") {
            continue;
        }
        if let Ok(target) = fs::read_link(entry.path()) {
            put(
                format!("{key}.{name}"),
                target.to_string_lossy().into_owned(),
            );
        }
    }
}

/// Which file the program is, on what kind of file system, and what the root is.
fn program(put: &mut impl FnMut(String, String)) {
    put("program.build_id".into(), stowplan_wire::build_id());
    if let Ok(data) = fs::metadata("/proc/self/exe") {
        put("program.device".into(), data.dev().to_string());
        put("program.inode".into(), data.ino().to_string());
        put("program.bytes".into(), data.len().to_string());
    }
    let (Ok(path), Ok(mounts)) = (
        fs::read_link("/proc/self/exe"),
        fs::read_to_string("/proc/self/mountinfo"),
    ) else {
        return;
    };
    if let Some(root) = root_mount(&mounts) {
        put("root.mount".into(), root);
    }
    // In a chroot the mount that has the program may be out of sight: then its magic number has to do.
    let magic = || {
        let found = rustix::fs::statfs("/proc/self/exe").ok()?;
        Some(format!("magic {:x}", found.f_type))
    };
    if let Some(kind) = mount_type(&path, &mounts).or_else(magic) {
        put("program.mount".into(), kind);
    }
}

/// File system type of the mount that has `path`: the longest mount point above it, the last of
/// several on one point.
fn mount_type(path: &Path, mounts: &str) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = left.split_whitespace().nth(4)?;
            path.starts_with(point)
                .then(|| (point.len(), right.split_whitespace().next()))
        })
        .max_by_key(|(length, _)| *length)
        .and_then(|(_, kind)| kind.map(str::to_owned))
}

/// File system type of the last mount on `/`, and whether it can be written to.
fn root_mount(mounts: &str) -> Option<String> {
    let mut last = mounts.lines().rev();
    last.find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split_whitespace().skip(4);
        let (point, options) = (left.next()?, left.next()?);
        let kind = right.split_whitespace().next()?;
        let read_only = options.split(',').any(|option| option == "ro");
        (point == "/").then(|| format!("{kind} {}", if read_only { "ro" } else { "rw" }))
    })
}

fn auxiliary(put: &mut impl FnMut(String, String)) {
    let bytes = fs::read("/proc/self/auxv").unwrap_or_default();
    for pair in bytes.chunks_exact(16) {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&pair[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if let Some((_, key)) = AUXILIARY.iter().find(|(kind, _)| *kind == word(0)) {
            put((*key).to_owned(), word(8).to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_fingerprint() {
        let values = take();
        for key in [
            "sched.affinity",
            "sched.policy",
            "session",
            "cap.effective",
            "rlimit.open_files",
            "ns.pid",
            "stdio.2",
            "program.mount",
            "page_bytes",
            "timer_slack_ns",
        ] {
            assert!(values.contains_key(key), "{key} in {values:?}");
        }
        assert_eq!(values["page_bytes"], rustix::param::page_size().to_string());
    }

    #[test]
    fn the_last_of_the_longest_mounts_counts() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 0:5 / /opt rw shared:1 - tmpfs t rw\n";
        assert_eq!(
            mount_type(Path::new("/opt/a"), mounts).as_deref(),
            Some("tmpfs")
        );
        assert_eq!(
            mount_type(Path::new("/option"), mounts).as_deref(),
            Some("ext4")
        );
    }

    #[test]
    fn the_last_mount_on_the_root_tells_whether_it_is_read_only() {
        let mounts = "1 0 8:1 / / rw,relatime - ext4 /dev/x rw\n9 1 0:9 / / ro,nosuid - overlay o rw\n\
                      2 9 0:5 / /opt rw - tmpfs t rw\n";
        assert_eq!(root_mount(mounts).as_deref(), Some("overlay ro"));
        assert_eq!(root_mount("nonsense"), None);
    }

    #[test]
    fn limits_have_two_values() {
        let mut all = Vec::new();
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 4096                 files     \n";
        limits(text, &mut |key, value| all.push((key, value)));
        assert_eq!(
            all,
            [("rlimit.open_files".to_owned(), "1024 4096".to_owned())]
        );
    }
}
