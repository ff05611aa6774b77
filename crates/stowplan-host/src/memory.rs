//! Memory of processes with what they share divided between them.

use std::collections::BTreeMap;
use std::fs;

use stowplan_wire::host::{MemorySample, SampleSubject};

use crate::cgroup::Group;
use crate::process::name_of;

/// Reads the processes of each subject once. Those that were named by pid are a subject by name, too, `SUBJECT: NAME`. Reading holds each one's map of memory for milliseconds, so that it is for
/// instants at which nothing is measured. Processes that are gone are left out, and so are subjects without any.
#[must_use]
pub fn proportional(subjects: &[SampleSubject]) -> Vec<MemorySample> {
    let mut samples: Vec<MemorySample> = subjects.iter().flat_map(of_subject).collect();
    samples.retain(|sample| sample.processes > 0);
    samples
}

/// The subject, and its processes by name.
fn of_subject(subject: &SampleSubject) -> Vec<MemorySample> {
    let called = |name: String| MemorySample {
        subject: name,
        ..MemorySample::default()
    };
    let mut all = called(subject.subject.clone());
    let mut named: BTreeMap<String, MemorySample> = BTreeMap::new();
    let rollup = |pid: u32| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    for pid in Group::from_paths(&subject.cgroups).processes() {
        if let Some(text) = rollup(pid) {
            add(&mut all, &text);
        }
    }
    for &pid in &subject.pids {
        let Some((name, text)) = name_of(subject, pid).zip(rollup(pid)) else {
            continue;
        };
        add(&mut all, &text);
        let name = format!("{}: {name}", subject.subject);
        let of_name = named.entry(name.clone());
        add(of_name.or_insert_with(|| called(name)), &text);
    }
    std::iter::once(all).chain(named.into_values()).collect()
}

/// Adds a process by its `smaps_rollup`; one without memory, as a zombie, has an empty one and does not count.
fn add(sample: &mut MemorySample, rollup: &str) {
    let bytes = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024)
    };
    let (Some(rss), Some(pss)) = (bytes("Rss:"), bytes("Pss:")) else {
        return;
    };
    let some = |name: &str| bytes(name).unwrap_or_default();
    sample.processes += 1;
    sample.rss_bytes += rss;
    sample.pss_bytes += pss;
    sample.pss_anon_bytes += some("Pss_Anon:");
    sample.pss_file_bytes += some("Pss_File:");
    sample.pss_shmem_bytes += some("Pss_Shmem:");
    sample.private_bytes += some("Private_Clean:") + some("Private_Dirty:");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_added_by_its_rollup() {
        let rollup = "563 7ff ---p 00000000 00:00 0    [rollup]\n\
                      Rss:                2048 kB\nPss:                 768 kB\nPss_Dirty:           128 kB\n\
                      Pss_Anon:            256 kB\nPss_File:            448 kB\nPss_Shmem:            64 kB\n\
                      Shared_Clean:       1280 kB\nPrivate_Clean:       384 kB\nPrivate_Dirty:       256 kB\n";
        let mut sample = MemorySample::default();
        add(&mut sample, rollup);
        add(&mut sample, rollup);
        add(&mut sample, "");
        let kib = |n: u64| n * 1024;
        assert_eq!(sample.processes, 2);
        assert_eq!((sample.rss_bytes, sample.pss_bytes), (kib(4096), kib(1536)));
        let parts = [
            sample.pss_anon_bytes,
            sample.pss_file_bytes,
            sample.pss_shmem_bytes,
        ];
        assert_eq!(parts, [kib(512), kib(896), kib(128)]);
        assert_eq!(sample.private_bytes, kib(1280));
    }

    #[test]
    fn this_process_has_its_share() {
        let pid = std::process::id();
        let subject = |pids| SampleSubject {
            subject: "own".to_owned(),
            cgroups: BTreeMap::new(),
            pids,
            names: vec![(pid, "test".to_owned())],
        };
        let found = proportional(&[subject(vec![pid]), subject(vec![])]);
        let names: Vec<&str> = found.iter().map(|own| &*own.subject).collect();
        assert_eq!(names, ["own", "own: test"], "without processes it has none");
        assert_eq!(found[0].pss_bytes, found[1].pss_bytes);
        let own = &found[0];
        assert!(own.private_bytes > 0 && own.private_bytes <= own.pss_bytes);
        assert!(own.pss_bytes <= own.rss_bytes);
    }
}
