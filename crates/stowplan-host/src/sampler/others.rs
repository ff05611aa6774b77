//! Programs that are neither the services', the engine's nor Stowplan's: who else used the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::source::tick_ns;
use crate::process::{all, clock_ns, stat_fields};

/// Programs that are told.
const MOST: usize = 5;

/// CPU time of every process of the machine at one instant.
#[derive(Debug)]
pub(super) struct Look {
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
    /// By pid and start time.
    used: BTreeMap<(u32, String), Used>,
}

/// A process and what it has used.
#[derive(Debug)]
struct Used {
    program: String,
    parent: u32,
    /// Its own CPU time, ns.
    own_ns: u64,
    /// That of children which it has waited for, with theirs, ns.
    children_ns: u64,
}

impl Look {
    pub fn now() -> Self {
        Self {
            t_ns: clock_ns(),
            used: all().filter_map(used).collect(),
        }
    }

    /// CPU time in ns of the programs that used most since `before`, most first, those of `known` processes left out.
    pub fn since(&self, before: &Self, known: &BTreeSet<u32>) -> Vec<(String, u64)> {
        let inherited = self.inherited(before);
        let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
        for (process, used) in &self.used {
            let (own_ns, children_ns) = before
                .used
                .get(process)
                .map_or((0, 0), |had| (had.own_ns, had.children_ns));
            let children_ns = children_ns + inherited.get(&process.0).unwrap_or(&0);
            if !known.contains(&process.0) {
                *programs.entry(&used.program).or_default() += used.own_ns.saturating_sub(own_ns)
                    + used.children_ns.saturating_sub(children_ns);
            }
        }
        let mut programs: Vec<(String, u64)> = programs
            .into_iter()
            .filter(|(_, cpu_ns)| *cpu_ns > 0)
            .map(|(program, cpu_ns)| (program.to_owned(), cpu_ns))
            .collect();
        programs.sort_by_key(|(_, cpu_ns)| std::cmp::Reverse(*cpu_ns));
        programs.truncate(MOST);
        programs
    }

    /// What processes that have ended since `before` had used by then, by the nearest ancestor that is still there: when a
    /// parent waits for a child, all that this ever used is added to what the parent's children used.
    fn inherited(&self, before: &Self) -> BTreeMap<u32, u64> {
        let parents: BTreeMap<u32, u32> = before
            .used
            .iter()
            .map(|((pid, _), used)| (*pid, used.parent))
            .collect();
        let here: BTreeSet<u32> = self.used.keys().map(|(pid, _)| *pid).collect();
        let mut inherited: BTreeMap<u32, u64> = BTreeMap::new();
        let ended = before.used.iter();
        for (_, used) in ended.filter(|(process, _)| !self.used.contains_key(process)) {
            let mut ancestor = used.parent;
            // Pids that were given anew while they were looked at may be each other's parents.
            for _ in 0..parents.len() {
                if here.contains(&ancestor) {
                    break;
                }
                ancestor = parents.get(&ancestor).copied().unwrap_or_default();
            }
            *inherited.entry(ancestor).or_default() += used.own_ns + used.children_ns;
        }
        inherited
    }
}

/// Fields 4 and 14 to 17 of /proc/PID/stat, proc_pid_stat(5): the parent; time in user and kernel mode, its own and of
/// children.
fn used(pid: u32) -> Option<((u32, String), Used)> {
    let fields = stat_fields(pid)?;
    let cpu_ns = |times: std::ops::Range<usize>| {
        let ticks = fields.get(times)?.iter().map(|field| field.parse::<u64>());
        let ticks = ticks.sum::<Result<u64, _>>().ok()?;
        Some(ticks * tick_ns())
    };
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    // Workers of the kernel are named after what they do just now: kworker/1:2-events.
    let program = name.split('/').next().unwrap_or_default().trim_end();
    let used = Used {
        program: program.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        own_ns: cpu_ns(11..13)?,
        children_ns: cpu_ns(13..15)?,
    };
    Some(((pid, fields.get(19)?.clone()), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pid, parent, program, CPU time of its own and of children.
    fn look(processes: &[(u32, u32, &str, u64, u64)]) -> Look {
        let used = processes
            .iter()
            .map(|&(pid, parent, program, own_ns, children_ns)| {
                let program = program.to_owned();
                let used = Used {
                    program,
                    parent,
                    own_ns,
                    children_ns,
                };
                ((pid, "7".to_owned()), used)
            });
        Look {
            t_ns: 0,
            used: used.collect(),
        }
    }

    #[test]
    fn programs_are_told_by_what_they_used() {
        let before = look(&[
            (1, 0, "init", 50, 0),
            (2, 1, "compiler", 10, 0),
            (3, 1, "service", 0, 0),
        ]);
        let after = look(&[
            (1, 0, "init", 50, 0),
            (2, 1, "compiler", 40, 0),
            (3, 1, "service", 900, 0),
            (4, 1, "compiler", 25, 0),
            (5, 1, "editor", 60, 0),
        ]);
        assert_eq!(
            after.since(&before, &BTreeSet::from([3])),
            [("editor".to_owned(), 60), ("compiler".to_owned(), 55)]
        );
    }

    #[test]
    fn what_children_used_before_is_not_their_parents_when_they_end() {
        let before = look(&[
            (1, 0, "init", 10, 0),
            (2, 1, "make", 5, 7),
            (3, 2, "sh", 1, 0),
            (4, 3, "compiler", 900, 0),
        ]);
        // The compiler used 20 more, then it and its shell ended; make has waited for both.
        let after = look(&[(1, 0, "init", 10, 0), (2, 1, "make", 5, 7 + 1 + 920)]);
        let none = BTreeSet::new();
        assert_eq!(after.since(&before, &none), [("make".to_owned(), 20)]);
        // Make has ended, too, and nobody has waited for them: what init itself used is not less by that.
        let after = look(&[(1, 0, "init", 13, 0)]);
        assert_eq!(after.since(&before, &none), [("init".to_owned(), 3)]);
    }

    #[test]
    fn a_process_of_this_machine_is_seen_working() {
        let before = Look::now();
        let begin = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used_ns = || {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            (now.tv_sec - begin.tv_sec) * 1_000_000_000 + now.tv_nsec - begin.tv_nsec
        };
        while used_ns() < 100_000_000 {
            std::hint::spin_loop();
        }
        let after = Look::now();
        let own = std::process::id();
        let of_own = |look: &Look| {
            let found = look.used.iter().find(|((pid, _), _)| *pid == own);
            found.map(|(_, used)| used.own_ns).unwrap()
        };
        // CPU time is told in whole ticks, user and kernel time apart.
        let ticks = 2_000_000_000 / rustix::param::clock_ticks_per_second();
        assert!(of_own(&after) - of_own(&before) + ticks >= 100_000_000);
    }
}
