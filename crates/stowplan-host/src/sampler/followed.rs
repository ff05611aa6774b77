//! Processes of services, each by itself.

use std::fs;

use stowplan_wire::host::{ProcessSample, ProcessUsage, Running};

use super::processes::Process;
use super::source::Buffer;

/// What one sample of one process holds.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    process: usize,
    t_ns: u64,
    cpu_ns: u64,
    resident: u64,
}

/// A process that is followed from when it is known until it is gone.
#[derive(Debug)]
struct Followed {
    service: String,
    running: Running,
    pid: u32,
    /// `None` once it is gone: its number may be another's then.
    process: Option<Process>,
}

/// The processes of all services, and what was sampled of them.
#[derive(Debug, Default)]
pub(super) struct ServiceProcesses {
    processes: Vec<Followed>,
    rows: Vec<Row>,
}

impl ServiceProcesses {
    /// Follows a process from now on. One that was taken for some program gets its name.
    pub(super) fn follow(&mut self, service: &str, running: Running, pid: u32) {
        let mut here = self.processes.iter_mut().filter(|p| p.process.is_some());
        match here.find(|p| p.pid == pid) {
            Some(known) if matches!(known.running, Running::Program(_)) => known.running = running,
            Some(_) => {}
            None => self.processes.push(Followed {
                service: service.to_owned(),
                running,
                pid,
                process: Process::new(pid),
            }),
        }
    }

    /// Follows what is in the group of a service. Nobody has told what it is, so it goes by the name of its program: that
    /// of now, as a process that has just been begun may not have become its program yet.
    pub(super) fn follow_members(&mut self, service: &str, pids: &[u32]) {
        for &pid in pids {
            // One that has ended meanwhile is none.
            if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
                let running = Running::Program(name.trim_end().to_owned());
                self.follow(service, running, pid);
            }
        }
    }

    /// Makes room for this many further samples, and touches it.
    pub(super) fn reserve(&mut self, samples: usize) {
        let rows = samples * self.processes.len();
        let length = self.rows.len();
        self.rows.reserve(rows);
        self.rows.resize(length + rows, Row::default());
        self.rows.truncate(length);
    }

    /// Takes one sample of every process that is there.
    pub(super) fn sample(&mut self, t_ns: u64, buffer: &mut Buffer) {
        for (index, followed) in self.processes.iter_mut().enumerate() {
            let Some(process) = &mut followed.process else {
                continue;
            };
            // The file stays that of the process, also when its number is another's.
            let read = process.resident_bytes(buffer);
            if let Some((resident, cpu_ns)) = read.zip(process.cpu_ns()) {
                self.rows.push(Row {
                    process: index,
                    t_ns,
                    cpu_ns,
                    resident,
                });
            } else {
                followed.process = None;
            }
        }
    }

    /// What was sampled, by process; one that was gone before its first sample is left out.
    pub(super) fn finish(self) -> Vec<ProcessUsage> {
        let usage = |followed: Followed| ProcessUsage {
            service: followed.service,
            running: followed.running,
            pid: followed.pid,
            samples: Vec::new(),
        };
        let mut all: Vec<ProcessUsage> = self.processes.into_iter().map(usage).collect();
        for row in self.rows {
            all[row.process].samples.push(ProcessSample {
                t_ns: row.t_ns,
                cpu_ns: row.cpu_ns,
                resident_bytes: row.resident,
            });
        }
        all.retain(|process| !process.samples.is_empty());
        all
    }
}
