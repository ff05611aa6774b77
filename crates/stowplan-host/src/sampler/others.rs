//! Programs that are neither the services', the engine's nor Stowplan's: who else used the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::process::{all, clock_ns, stat_fields};

/// Programs that are told.
const MOST: usize = 5;

/// CPU time of every process of the machine at one instant.
#[derive(Debug)]
pub(super) struct Look {
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
    /// By pid and start time: the program, and its CPU time with that of children which it has waited for, ns.
    used: BTreeMap<(u32, String), (String, u64)>,
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
        let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
        for (process, (program, cpu_ns)) in &self.used {
            let began_with = before.used.get(process).map_or(0, |(_, cpu_ns)| *cpu_ns);
            if !known.contains(&process.0) {
                *programs.entry(program).or_default() += cpu_ns.saturating_sub(began_with);
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
}

/// Fields 14 to 17 of /proc/PID/stat, proc_pid_stat(5): time in user and kernel mode, its own and of children.
fn used(pid: u32) -> Option<((u32, String), (String, u64))> {
    let fields = stat_fields(pid)?;
    let ticks: u64 = fields
        .get(11..15)?
        .iter()
        .map_while(|f| f.parse::<u64>().ok())
        .sum();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    // Workers of the kernel are named after what they do just now: kworker/1:2-events.
    let program = name.split('/').next().unwrap_or_default().trim_end();
    let cpu_ns = ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second();
    Some(((pid, fields.get(19)?.clone()), (program.to_owned(), cpu_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(processes: &[(u32, &str, u64)]) -> Look {
        let used = processes.iter().map(|(pid, program, cpu_ns)| {
            ((*pid, "7".to_owned()), ((*program).to_owned(), *cpu_ns))
        });
        Look {
            t_ns: 0,
            used: used.collect(),
        }
    }

    #[test]
    fn programs_are_told_by_what_they_used() {
        let before = look(&[(1, "init", 50), (2, "compiler", 10), (3, "service", 0)]);
        let after = look(&[
            (1, "init", 50),
            (2, "compiler", 40),
            (3, "service", 900),
            (4, "compiler", 25),
            (5, "editor", 60),
        ]);
        assert_eq!(
            after.since(&before, &BTreeSet::from([3])),
            [("editor".to_owned(), 60), ("compiler".to_owned(), 55)]
        );
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
            found.map(|(_, (_, cpu_ns))| *cpu_ns).unwrap()
        };
        // CPU time is told in whole ticks, user and kernel time apart.
        let ticks = 2_000_000_000 / rustix::param::clock_ticks_per_second();
        assert!(of_own(&after) - of_own(&before) + ticks >= 100_000_000);
    }
}
