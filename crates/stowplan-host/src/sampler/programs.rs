//! A subject of processes, and each of their programs.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_wire::host::SampleSubject;

use super::processes::Processes;
use super::source::Buffer;
use super::{Row, Subjects};
use crate::process::name_of;

/// Processes by their programs, or by the names that they were given.
#[derive(Debug)]
pub(super) struct Programs {
    /// Number of the subject of all of them.
    pub(super) all: usize,
    pids: BTreeSet<u32>,
    /// Number of its subject and its processes, by name ([`name_of`]).
    programs: BTreeMap<String, (usize, Processes)>,
}

impl Programs {
    pub(super) fn new(all: usize) -> Self {
        Self {
            all,
            pids: BTreeSet::new(),
            programs: BTreeMap::new(),
        }
    }

    /// Takes in those that it does not have.
    pub(super) fn take_in(&mut self, subject: &SampleSubject, subjects: &mut Subjects) {
        for &pid in &subject.pids {
            if !self.pids.insert(pid) {
                continue;
            }
            // One that has ended uses nothing.
            let Some(name) = name_of(subject, pid) else {
                continue;
            };
            let of = self.programs.entry(name.clone()).or_insert_with(|| {
                let subject = format!("{}: {name}", subjects.names[self.all]);
                (subjects.add(subject), Processes::default())
            });
            of.1.add(pid);
        }
    }

    /// A row for each program, and their sum: each is read once.
    pub(super) fn read(&mut self, rows: &mut Vec<Row>, buffer: &mut Buffer) {
        let mut all = Row::now(self.all);
        for (subject, processes) in self.programs.values_mut() {
            let mut row = Row::now(*subject);
            processes.read(&mut row, buffer);
            let sum = |all: Option<u64>, of: Option<u64>| {
                all.map_or(of, |all| Some(all + of.unwrap_or(0)))
            };
            all.cpu_ns = sum(all.cpu_ns, row.cpu_ns);
            all.memory = sum(all.memory, row.memory);
            rows.push(row);
        }
        rows.push(all);
    }
}
