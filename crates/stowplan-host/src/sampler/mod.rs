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

/// Samples cgroups, the machine and Stowplan itself.
#[derive(Debug)]
pub struct Sampler {
    names: Vec<String>,
    subjects: Vec<Reader>,
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

/// What is read of a subject.
#[derive(Debug)]
enum Reader {
    Group(Box<GroupFiles>),
    Processes(Processes),
    /// The sum of the subjects before it, so many: each is read once.
    Sum(usize),
}

impl Reader {
    fn new(subject: &SampleSubject) -> Self {
        if subject.pids.is_empty() {
            Self::Group(Box::new(GroupFiles::new(subject)))
        } else {
            Self::Processes(Processes::new(&subject.pids))
        }
    }

    /// `before` are the rows until now.
    fn read(&mut self, row: &mut Row, before: &[Row], buffer: &mut Buffer) {
        match self {
            Self::Group(group) => group.read(row, buffer),
            Self::Processes(processes) => processes.read(row, buffer),
            Self::Sum(programs) => {
                let rows = before.iter().rev().take(*programs);
                let sum = |of: fn(&Row) -> Option<u64>| {
                    rows.clone().filter_map(of).reduce(|sum, part| sum + part)
                };
                row.cpu_ns = sum(|row| row.cpu_ns);
                row.memory = sum(|row| row.memory);
            }
        }
    }
}

impl Sampler {
    /// Opens what can be opened; a cgroup that does not exist yet is opened when it does. A subject of processes has a subject
    /// for each of their programs beside it, `SUBJECT: PROGRAM`. `own_pids` are the
    /// processes of Stowplan on this machine, whose use is the row `stowplan`.
    #[must_use]
    pub fn new(subjects: &[SampleSubject], own_pids: &[u32]) -> Self {
        let (mut names, mut readers) = (Vec::new(), Vec::new());
        for subject in subjects {
            let programs = programs::of(subject);
            for program in &programs {
                names.push(program.subject.clone());
                readers.push(Reader::new(program));
            }
            names.push(subject.subject.clone());
            readers.push(match programs.len() {
                0 => Reader::new(subject),
                programs => Reader::Sum(programs),
            });
        }
        names.extend(["machine", "stowplan", HYPERVISOR].map(str::to_owned));
        let folder = |subject: &SampleSubject| {
            let folder = subject.cgroups.values().next()?;
            Some((subject.subject.clone(), PathBuf::from(folder)))
        };
        let mut sampler = Self {
            names,
            subjects: readers,
            machine: Machine::new(),
            own: Processes::new(own_pids),
            processes: ServiceProcesses::default(),
            folders: subjects.iter().filter_map(folder).collect(),
            known: subjects
                .iter()
                .flat_map(|subject| &subject.pids)
                .chain(own_pids)
                .copied()
                .collect(),
            others: None,
            rows: Vec::new(),
            buffer: Box::new([0; source::BUFFER]),
        };
        sampler.look_into_services();
        sampler
    }

    /// Samples this process of a service from now on, as what it is said to be. Those of the groups of services that nobody
    /// told are found as long as nothing is measured, and go by the names of their programs.
    pub fn follow(&mut self, service: &str, running: Running, pid: u32) {
        self.processes.follow(service, running, pid);
    }

    /// Makes room for this many further samples, and touches it, so that none of them allocates.
    pub fn reserve(&mut self, samples: usize) {
        let rows = samples * self.names.len();
        let length = self.rows.len();
        self.rows.reserve(rows);
        self.rows.resize(length + rows, Row::default());
        self.rows.truncate(length);
        self.processes.reserve(samples);
    }

    /// Takes one sample of everything.
    pub fn sample(&mut self) {
        for (subject, reader) in self.subjects.iter_mut().enumerate() {
            let mut row = Row {
                subject,
                t_ns: clock_ns(),
                ..Row::default()
            };
            reader.read(&mut row, &self.rows, &mut self.buffer);
            self.rows.push(row);
        }
        let mut row = Row {
            subject: self.subjects.len(),
            t_ns: clock_ns(),
            ..Row::default()
        };
        let at_machine = row.t_ns;
        let stolen_ns = self.machine.read(&mut row, &mut self.buffer);
        self.rows.push(row);
        let mut row = Row {
            subject: self.subjects.len() + 1,
            t_ns: clock_ns(),
            ..Row::default()
        };
        self.own.read(&mut row, &mut self.buffer);
        self.rows.push(row);
        self.rows.push(Row {
            subject: self.subjects.len() + 2,
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

    /// Processes of the subjects that are groups.
    fn members(&self) -> Vec<u32> {
        let folders = self.folders.iter();
        let members = folders.flat_map(|(_, folder)| crate::cgroup::processes(folder));
        members.collect()
    }

    fn others(&self) -> Vec<UsageSample> {
        let Some(before) = &self.others else {
            return Vec::new();
        };
        let now = Look::now();
        let mut known = self.known.clone();
        known.extend(self.members());
        let programs = now.since(before, &known).into_iter();
        let rows = programs.flat_map(|(program, cpu_ns)| {
            let subject = format!("other: {program}");
            [(before.t_ns, 0), (now.t_ns, cpu_ns)]
                .map(|(t_ns, cpu_ns)| UsageSample::of_cpu(&subject, t_ns, Some(cpu_ns)))
        });
        rows.collect()
    }

    /// Everything sampled, in order of time and others last; counters of subjects count from their first sample that has
    /// them.
    #[must_use]
    pub fn finish(self) -> Sampled {
        type Counter = fn(&mut UsageSample) -> &mut Option<u64>;
        const COUNTERS: [Counter; 4] = [
            |row| &mut row.cpu_ns,
            |row| &mut row.read_bytes,
            |row| &mut row.write_bytes,
            |row| &mut row.throttled,
        ];
        let mut first = vec![[None; COUNTERS.len()]; self.names.len()];
        let others = self.others();
        let usage = self
            .rows
            .iter()
            .map(|row| {
                let mut sample = UsageSample {
                    subject: self.names[row.subject].clone(),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::process::{Child, ChildStdout, Command, Stdio};

    use super::*;

    fn subject(folder: &Path, keys: &[&str]) -> SampleSubject {
        SampleSubject {
            subject: "sensing".to_owned(),
            cgroups: keys
                .iter()
                .map(|key| ((*key).to_owned(), folder.display().to_string()))
                .collect::<BTreeMap<_, _>>(),
            pids: Vec::new(),
        }
    }

    fn of<'a>(samples: &'a [UsageSample], name: &str) -> Vec<&'a UsageSample> {
        samples.iter().filter(|s| s.subject == name).collect()
    }

    #[test]
    fn processes_are_a_subject() {
        let engine = SampleSubject {
            subject: "engine".to_owned(),
            cgroups: BTreeMap::new(),
            pids: vec![std::process::id()],
        };
        let mut sampler = Sampler::new(&[engine], &[]);
        sampler.sample();
        let begin = clock_ns();
        while clock_ns() < begin + 20_000_000 {}
        sampler.sample();
        let all = sampler.finish().usage;
        let rows = of(&all, "engine");
        assert!(rows[1].cpu_ns > Some(0), "{rows:?}");
        assert!(rows[1].memory_bytes > Some(1 << 20), "{rows:?}");
        assert_eq!(rows[1].anon_bytes, None);
        let of_program = all.iter().filter(|row| row.subject.starts_with("engine: "));
        assert_eq!(of_program.count(), 2);
    }

    #[test]
    fn each_program_is_a_subject_of_its_own() {
        let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let engine = SampleSubject {
            subject: "engine".to_owned(),
            cgroups: BTreeMap::new(),
            pids: vec![std::process::id(), other.id()],
        };
        // Its name is that of the test until it has become its program.
        let comm = || fs::read_to_string(format!("/proc/{}/comm", other.id())).unwrap();
        while comm() != "cat\n" {
            std::thread::yield_now();
        }
        let mut sampler = Sampler::new(&[engine], &[]);
        sampler.sample();
        let all = sampler.finish().usage;
        drop(other.stdin.take());
        other.wait().unwrap();
        let memory = |name: &str| of(&all, name)[0].memory_bytes.unwrap();
        let programs: Vec<&str> = all.iter().map(|row| row.subject.as_str()).collect();
        let others: Vec<&&str> = programs
            .iter()
            .filter(|s| s.starts_with("engine: "))
            .collect();
        assert_eq!(others.len(), 2, "{programs:?}");
        let sum: u64 = others.iter().map(|name| memory(name)).sum();
        assert!(memory("engine: cat") > 0 && memory("engine: cat") < sum);
        assert!(memory("engine") > memory("engine: cat"));
        assert_eq!(memory("engine"), sum);
    }

    #[test]
    fn a_v2_group_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let mut sampler = Sampler::new(&[subject(folder.path(), &["unified"])], &[]);
        // The group does not exist yet at the first sample.
        sampler.sample();
        write("cpu.stat", "usage_usec 1000\nuser_usec 1\nnr_throttled 3\n");
        write("memory.current", "4096\n");
        write("memory.stat", "anon 1024\nfile 2048\nanon_thp 7\n");
        write(
            "io.stat",
            "8:0 rbytes=10 wbytes=1 rios=1\n8:16 rbytes=5 wbytes=2 rios=1\n",
        );
        sampler.sample();
        write("cpu.stat", "usage_usec 2500\nuser_usec 1\nnr_throttled 5\n");
        write("io.stat", "8:0 rbytes=110 wbytes=1 rios=1\n");
        sampler.sample();
        let all = sampler.finish().usage;
        let rows = of(&all, "sensing");
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].cpu_ns, rows[0].memory_bytes), (None, None));
        assert_eq!((rows[1].cpu_ns, rows[2].cpu_ns), (Some(0), Some(1_500_000)));
        assert_eq!(rows[2].throttled, Some(2));
        assert_eq!(rows[1].memory_bytes, Some(4096));
        assert_eq!(
            (rows[1].anon_bytes, rows[1].file_bytes),
            (Some(1024), Some(2048))
        );
        assert_eq!(
            (rows[2].read_bytes, rows[1].write_bytes),
            (Some(95), Some(0))
        );
    }

    #[test]
    fn a_v1_group_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("cpuacct.usage", "77\n");
        write("memory.usage_in_bytes", "8192\n");
        write("memory.stat", "rss 1\ntotal_cache 20\ntotal_rss 30\n");
        write(
            "blkio.throttle.io_service_bytes_recursive",
            "8:0 Read 100\n8:0 Write 5\nTotal 105\n",
        );
        let mut sampler = Sampler::new(
            &[subject(folder.path(), &["cpuacct", "memory", "blkio"])],
            &[],
        );
        sampler.sample();
        write("cpuacct.usage", "99\n");
        sampler.sample();
        let all = sampler.finish().usage;
        let rows = of(&all, "sensing");
        assert_eq!(rows[1].cpu_ns, Some(22));
        assert_eq!(rows[0].memory_bytes, Some(8192));
        assert_eq!(
            (rows[0].anon_bytes, rows[0].file_bytes),
            (Some(30), Some(20))
        );
        assert_eq!(rows[0].read_bytes, Some(0));
        assert_eq!(rows[0].throttled, None);
    }

    #[test]
    fn the_machine_is_at_least_as_busy_as_one_of_its_processes() {
        let mut sampler = Sampler::new(&[], &[std::process::id()]);
        sampler.sample();
        let begin = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used = || {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            (now.tv_sec - begin.tv_sec) * 1_000_000_000 + (now.tv_nsec - begin.tv_nsec)
        };
        while used() < 200_000_000 {
            std::hint::spin_loop();
        }
        sampler.sample();
        let all = sampler.finish().usage;
        let grown = |name: &str| {
            let rows = of(&all, name);
            rows[1].cpu_ns.unwrap() - rows[0].cpu_ns.unwrap()
        };
        // Idle time has steps of a hundredth of a second, those of all CPUs summed before they are cut.
        let step = 2 * 10_000_000;
        let (machine, own) = (grown("machine"), grown("stowplan"));
        // Own time is read last: what passes between the two readings is the test's own.
        assert!(own >= 200_000_000);
        assert!(machine + step >= 200_000_000, "{machine} of {own}");
    }

    /// A shell that has begun, and then does `work`.
    fn begun(shell: &Path, work: &str) -> (Child, ChildStdout) {
        let mut child = Command::new(shell)
            .args(["-c", &format!("echo begun; {work}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        std::io::Read::read_exact(&mut out, &mut [0; 6]).unwrap();
        (child, out)
    }

    #[test]
    fn others_are_told_apart_from_what_is_sampled() {
        let (mut other, _out) = begun(Path::new("sh"), "while :; do :; done");
        let of_shell = |sampled: &[u32]| {
            let mut sampler = Sampler::new(&[], sampled);
            sampler.look_around();
            let grown =
                |look: &Look| look.since(sampler.others.as_ref().unwrap(), &BTreeSet::new());
            while grown(&Look::now())
                .iter()
                .all(|(program, _)| program != "sh")
            {}
            let all = sampler.finish().usage;
            let rows = of(&all, "other: sh")
                .into_iter()
                .map(|row| row.cpu_ns.unwrap());
            rows.collect::<Vec<u64>>()
        };
        let rows = of_shell(&[std::process::id()]);
        let none = of_shell(&[std::process::id(), other.id()]);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(rows[0] == 0 && rows[1] > 0, "{rows:?}");
        assert_eq!(none, Vec::<u64>::new());
    }

    #[test]
    fn a_process_of_a_service_that_has_ended_is_no_other() {
        let group = tempfile::tempdir().unwrap();
        let procs = group.path().join("cgroup.procs");
        // Other tests have shells, too.
        let program = group.path().join("stowplan-ended");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let work = "read -r go; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let (mut service, mut out) = begun(&program, work);
        fs::write(&procs, format!("{}\n", service.id())).unwrap();
        let mut sampler = Sampler::new(&[subject(group.path(), &["unified"])], &[]);
        sampler.look_around();
        drop(service.stdin.take());
        // The pipe ends with the program, which is not reaped yet.
        std::io::Read::read_to_end(&mut out, &mut Vec::new()).unwrap();
        fs::write(&procs, "").unwrap();
        let all = sampler.finish().usage;
        service.wait().unwrap();
        assert_eq!(
            of(&all, "other: stowplan-ended"),
            Vec::<&UsageSample>::new()
        );
    }

    #[test]
    fn the_machine_and_stowplan_have_rows() {
        let mut sampler = Sampler::new(&[], &[std::process::id()]);
        sampler.reserve(2);
        sampler.sample();
        sampler.sample();
        let all = sampler.finish().usage;
        let machine = of(&all, "machine");
        assert_eq!(machine.len(), 2);
        assert_eq!(machine[0].cpu_ns, Some(0));
        assert!(machine[0].memory_bytes.unwrap() > 1_000_000);
        let own = of(&all, "stowplan");
        assert!(own[1].cpu_ns.unwrap() > 0);
        assert!(own[1].memory_bytes.unwrap() > 100_000);
    }
}
