//! The parts of an orchestrator, as a table: what each is called, and by what its processes are known.

use std::collections::BTreeMap;
use std::fs;

/// A part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Name in results.
    pub name: &'static str,
    /// By what a process of it is known.
    pub known_by: KnownBy,
}

/// By what a process is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// The name that the kernel has for its program, which has at most 15 bytes (`comm`, proc_pid_comm(5)).
    Program(&'static str),
    /// The first argument of a program that is several parts in one.
    Argument(&'static str),
}

/// Those of these processes that are parts by this table, with the part's name.
pub fn parts_of(table: &[Part], processes: impl IntoIterator<Item = u32>) -> BTreeMap<u32, String> {
    let named = processes.into_iter().filter_map(|pid| {
        let (program, argument) = (program(pid)?, argument(pid));
        let is_it = |part: &&Part| match part.known_by {
            KnownBy::Program(name) => program == name,
            KnownBy::Argument(name) => argument.as_deref() == Some(name),
        };
        let part = table.iter().find(is_it)?;
        Some((pid, part.name.to_owned()))
    });
    named.collect()
}

fn program(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn argument(pid: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    line.split('\0').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    const TABLE: [Part; 2] = [
        Part {
            name: "scheduler",
            known_by: KnownBy::Argument("-u"),
        },
        Part {
            name: "store",
            known_by: KnownBy::Program("cat"),
        },
    ];

    /// A cat(1) that waits. It has given a byte back: before, in the midst of its `execve`, it has its name and no arguments yet.
    fn cat(arguments: &[&str]) -> Child {
        let mut command = Command::new("cat");
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn processes_are_parts_by_program_or_by_first_argument() {
        let (mut store, mut scheduler) = (cat(&[]), cat(&["-u"]));
        let all = [store.id(), scheduler.id(), std::process::id(), u32::MAX];
        let found = parts_of(&TABLE, all);
        let expected = [(store.id(), "store"), (scheduler.id(), "scheduler")];
        let expected = expected.map(|(pid, name)| (pid, name.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        for child in [&mut store, &mut scheduler] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
