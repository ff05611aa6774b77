//! Usage of services over time, from cgroup accounting.
//!
//! Files are opened before and read with `pread` into a fixed buffer; rows go into memory that is there already.
//! Nothing is allocated by a sample as long as [`Sampler::reserve`] was told how many there will be.

mod followed;
mod group;
mod machine;
mod others;
mod processes;
mod programs;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use stowplan_wire::host::{HYPERVISOR, Running, SampleSubject, Sampled, UsageSample};

use crate::process::clock_ns;
use followed::ServiceProcesses;
use group::GroupFiles;
use machine::Machine;
pub(crate) use machine::busy_ticks;
use others::Look;
use processes::Processes;
use programs::Programs;
use source::Buffer;

/// What one sample of one subject holds; `None` is what cannot be read.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    subject: usize,
    t_ns: u64,
    cpu_ns: Option<u64>,
    memory: Option<u64>,
    anon: Option<u64>,
    file: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
    throttled: Option<u64>,
}

impl Row {
    /// One without figures, of now.
    fn now(subject: usize) -> Self {
        Self {
            subject,
            t_ns: clock_ns(),
            ..Self::default()
        }
    }
}

/// Numbers of the subjects that every sample has.
const MACHINE: usize = 0;
const STOWPLAN: usize = 1;
const STOLEN: usize = 2;

/// Names of subjects, by number.
#[derive(Debug)]
struct Subjects {
    names: Vec<String>,
    /// Whether it came when sampling had begun: it used nothing before, so its counters count from their own beginning.
    later: Vec<bool>,
    begun: bool,
}

impl Subjects {
    /// The number of a new one.
    fn add(&mut self, name: String) -> usize {
        self.names.push(name);
        self.later.push(self.begun);
        self.names.len() - 1
    }
}

/// Samples cgroups, the machine and Stowplan itself.
#[derive(Debug)]
pub struct Sampler {
    subjects: Subjects,
    groups: Vec<(usize, GroupFiles)>,
    programs: Vec<Programs>,
    machine: Machine,
    own: Processes,
    /// Processes of services, each by itself.
    processes: ServiceProcesses,
    /// Services and where their processes are.
    folders: Vec<(String, PathBuf)>,
    /// Processes of services, of the engine and of Stowplan.
    known: BTreeSet<u32>,
    others: Option<Look>,
    rows: Vec<Row>,
    buffer: Box<Buffer>,
}

impl Sampler {
    /// Opens what can be opened; a cgroup that does not exist yet is opened when it does. A subject of processes has a subject
    /// for each of their programs beside it, `SUBJECT: PROGRAM`, or of their names where they have some. `own_pids` are the
    /// processes of Stowplan on this machine, whose use is the row `stowplan`.
    #[must_use]
    pub fn new(subjects: &[SampleSubject], own_pids: &[u32]) -> Self {
        let names = ["machine", "stowplan", HYPERVISOR];
        let mut sampler = Self {
            subjects: Subjects {
                names: names.map(str::to_owned).to_vec(),
                later: vec![false; names.len()],
                begun: false,
            },
            groups: Vec::new(),
            programs: Vec::new(),
            machine: Machine::new(),
            own: Processes::default(),
            processes: ServiceProcesses::default(),
            folders: Vec::new(),
            known: BTreeSet::new(),
            others: None,
            rows: Vec::new(),
            buffer: Box::new([0; source::BUFFER]),
        };
        sampler.also(subjects, own_pids);
        sampler
    }

    /// Samples these too from now on. What comes when sampling has begun must have used nothing before that: the groups of
    /// services that were started meanwhile, and further processes of a subject or of Stowplan.
    pub fn also(&mut self, subjects: &[SampleSubject], own_pids: &[u32]) {
        for pid in own_pids {
            self.own.add(*pid);
        }
        self.known.extend(own_pids);
        for subject in subjects {
            if let Some(folder) = subject.cgroups.values().next() {
                let service = (subject.subject.clone(), PathBuf::from(folder));
                self.folders.push(service);
            }
            self.known.extend(&subject.pids);
            if subject.pids.is_empty() {
                let number = self.subjects.add(subject.subject.clone());
                let files = GroupFiles::new(subject, self.subjects.later[number]);
                self.groups.push((number, files));
            } else {
                self.programs_of(subject);
            }
        }
        self.look_into_services();
    }

    /// Takes in the processes of a subject by their programs.
    fn programs_of(&mut self, subject: &SampleSubject) {
        let names = &self.subjects.names;
        let is_it = |programs: &Programs| names[programs.all] == subject.subject;
        let at = self.programs.iter().position(is_it).unwrap_or_else(|| {
            let all = self.subjects.add(subject.subject.clone());
            self.programs.push(Programs::new(all));
            self.programs.len() - 1
        });
        self.programs[at].take_in(subject, &mut self.subjects);
    }

    /// Samples this process of a service from now on, as what it is said to be. Those of the groups of services that nobody
    /// told are found as long as nothing is measured, and go by the names of their programs.
    pub fn follow(&mut self, service: &str, running: Running, pid: u32) {
        self.processes.follow(service, running, pid);
    }

    /// Makes room for this many further samples, and touches it, so that none of them allocates.
    pub fn reserve(&mut self, samples: usize) {
        let rows = samples * self.subjects.names.len();
        let length = self.rows.len();
        self.rows.reserve(rows);
        self.rows.resize(length + rows, Row::default());
        self.rows.truncate(length);
        self.processes.reserve(samples);
    }

    /// Takes one sample of everything.
    pub fn sample(&mut self) {
        self.subjects.begun = true;
        for (subject, group) in &mut self.groups {
            let mut row = Row::now(*subject);
            group.read(&mut row, &mut self.buffer);
            self.rows.push(row);
        }
        for programs in &mut self.programs {
            programs.read(&mut self.rows, &mut self.buffer);
        }
        let mut row = Row::now(MACHINE);
        let at_machine = row.t_ns;
        let stolen_ns = self.machine.read(&mut row, &mut self.buffer);
        self.rows.push(row);
        let mut row = Row::now(STOWPLAN);
        self.own.read(&mut row, &mut self.buffer);
        self.rows.push(row);
        self.rows.push(Row {
            subject: STOLEN,
            t_ns: at_machine,
            cpu_ns: stolen_ns,
            ..Row::default()
        });
        // Last, so that what has to add up to the machine's is read without these in between.
        self.processes.sample(clock_ns(), &mut self.buffer);
    }

    /// Looks at all other processes of the machine: what they use from now to the end becomes rows `other: PROGRAM`,
    /// two for each of those that used most. It reads two files of every process.
    pub fn look_around(&mut self) {
        self.look_into_services();
        self.others = Some(Look::now());
    }

    /// Takes in the processes that are in the groups of services now.
    fn look_into_services(&mut self) {
        for (service, folder) in &self.folders {
            let members = crate::cgroup::processes(folder);
            self.processes.follow_members(service, &members);
            // A process that ends and is not reaped yet is in no group any more.
            self.known.extend(members);
        }
    }

    fn others(&self) -> Vec<UsageSample> {
        let Some(before) = &self.others else {
            return Vec::new();
        };
        let now = Look::now();
        let programs = now.since(before, &self.known).into_iter();
        let rows = programs.flat_map(|(program, cpu_ns)| {
            let subject = format!("other: {program}");
            [(before.t_ns, 0), (now.t_ns, cpu_ns)]
                .map(|(t_ns, cpu_ns)| UsageSample::of_cpu(&subject, t_ns, Some(cpu_ns)))
        });
        rows.collect()
    }

    /// Everything sampled, in order of time and others last; counters of subjects count from their first sample that has
    /// them, and of those that came later from their beginning.
    #[must_use]
    pub fn finish(mut self) -> Sampled {
        type Counter = fn(&mut UsageSample) -> &mut Option<u64>;
        const COUNTERS: [Counter; 3] = [
            |row| &mut row.cpu_ns,
            |row| &mut row.read_bytes,
            |row| &mut row.write_bytes,
        ];
        // Once more, for names of programs: one that was found while it began had that of what began it.
        self.look_into_services();
        let base = |later: &bool| [later.then_some(0); COUNTERS.len()];
        let mut first: Vec<_> = self.subjects.later.iter().map(base).collect();
        let others = self.others();
        let usage = self
            .rows
            .iter()
            .map(|row| {
                let mut sample = UsageSample {
                    subject: self.subjects.names[row.subject].clone(),
                    t_ns: row.t_ns,
                    cpu_ns: row.cpu_ns,
                    memory_bytes: row.memory,
                    anon_bytes: row.anon,
                    file_bytes: row.file,
                    read_bytes: row.read,
                    write_bytes: row.write,
                    throttled: row.throttled,
                };
                for (counter, start) in COUNTERS.iter().zip(&mut first[row.subject]) {
                    let value = counter(&mut sample);
                    if let Some(now) = *value {
                        *value = Some(now.saturating_sub(*start.get_or_insert(now)));
                    }
                }
                sample
            })
            .chain(others)
            .collect();
        Sampled {
            usage,
            processes: self.processes.finish(),
        }
    }
}
