//! The programs of a subject of processes.

use std::collections::BTreeMap;
use std::fs;

use stowplan_wire::host::SampleSubject;

/// A subject for each program of which a subject has processes, by the name that the kernel has for it (`comm`, at most
/// 15 bytes: proc_pid_comm(5)).
pub(super) fn of(subject: &SampleSubject) -> Vec<SampleSubject> {
    let mut programs: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for &pid in &subject.pids {
        // One that has ended uses nothing.
        if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
            programs
                .entry(name.trim_end().to_owned())
                .or_default()
                .push(pid);
        }
    }
    let subjects = programs.into_iter().map(|(program, pids)| SampleSubject {
        subject: format!("{}: {program}", subject.subject),
        cgroups: BTreeMap::new(),
        pids,
    });
    subjects.collect()
}
