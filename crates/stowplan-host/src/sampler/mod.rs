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
    /// for each of their programs beside it, `SUBJECT: PROGRAM`. `own_pids` are the
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
                self.groups.push((number, GroupFiles::new(subject)));
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
        self.programs[at].take_in(&subject.pids, &mut self.subjects);
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
        const COUNTERS: [Counter; 4] = [
            |row| &mut row.cpu_ns,
            |row| &mut row.read_bytes,
            |row| &mut row.write_bytes,
            |row| &mut row.throttled,
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
    fn a_group_that_comes_later_counts_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let mut sampler = Sampler::new(&[], &[]);
        sampler.sample();
        write("cpu.stat", "usage_usec 700\nnr_throttled 2\n");
        write("io.stat", "8:0 rbytes=30 wbytes=1\n");
        sampler.also(&[subject(folder.path(), &["unified"])], &[]);
        sampler.sample();
        write("cpu.stat", "usage_usec 900\nnr_throttled 2\n");
        sampler.sample();
        let all = sampler.finish().usage;
        let rows = of(&all, "sensing");
        let cpu: Vec<_> = rows.iter().map(|row| row.cpu_ns).collect();
        assert_eq!(cpu, [Some(700_000), Some(900_000)]);
        assert_eq!((rows[0].read_bytes, rows[0].throttled), (Some(30), Some(2)));
        assert_eq!(of(&all, "machine").len(), 3);
    }

    #[test]
    fn processes_that_an_engine_begins_later_are_added_to_it() {
        let engine = |pids: &[u32]| SampleSubject {
            subject: "engine".to_owned(),
            cgroups: BTreeMap::new(),
            pids: pids.to_vec(),
        };
        let own = std::process::id();
        let mut sampler = Sampler::new(&[engine(&[own])], &[]);
        sampler.sample();
        let (mut other, _out) = begun(Path::new("/bin/sh"), "read -r end");
        sampler.also(&[engine(&[own, other.id()])], &[]);
        sampler.sample();
        drop(other.stdin.take());
        other.wait().unwrap();
        let all = sampler.finish().usage;
        let programs = all.iter().filter(|row| row.subject == "engine: sh");
        let programs: Vec<_> = programs.collect();
        assert_eq!(programs.len(), 1);
        assert!(
            programs[0].cpu_ns > Some(0),
            "from its beginning: {programs:?}"
        );
        let rows = of(&all, "engine");
        let of_own = rows[1].memory_bytes.unwrap() - programs[0].memory_bytes.unwrap();
        let own = all.iter().filter(|row| row.subject.starts_with("engine: "));
        let own: Vec<_> = own.filter(|row| row.subject != "engine: sh").collect();
        assert_eq!((rows.len(), own.len()), (2, 2), "{all:?}");
        assert_eq!(own[1].memory_bytes, Some(of_own));
    }

    #[test]
    fn processes_of_a_service_are_sampled_until_they_are_gone() {
        let group = tempfile::tempdir().unwrap();
        let (mut told, _told_out) = begun(Path::new("/bin/sh"), "read -r end");
        let (mut found, _found_out) = begun(Path::new("/bin/sh"), "read -r end");
        let procs = format!("{}\n{}\n", told.id(), found.id());
        fs::write(group.path().join("cgroup.procs"), procs).unwrap();
        let mut sampler = Sampler::new(&[subject(group.path(), &["unified"])], &[]);
        // Who it is comes after it was found.
        sampler.follow("sensing", Running::Process("lidar".to_owned()), told.id());
        sampler.sample();
        drop(told.stdin.take());
        told.wait().unwrap();
        sampler.sample();
        drop(found.stdin.take());
        found.wait().unwrap();
        let processes = sampler.finish().processes;
        let of = |pid: u32| processes.iter().find(|p| p.pid == pid).unwrap();
        assert_eq!(processes.len(), 2, "{processes:?}");
        let (told, found) = (of(told.id()), of(found.id()));
        assert_eq!(told.service, "sensing");
        assert_eq!(told.running, Running::Process("lidar".to_owned()));
        assert_eq!(told.samples.len(), 1);
        assert_eq!(found.running, Running::Program("sh".to_owned()));
        assert_eq!(found.samples.len(), 2);
        for sample in told.samples.iter().chain(&found.samples) {
            assert!(
                sample.cpu_ns > 0 && sample.resident_bytes > 100_000,
                "{sample:?}"
            );
        }
        assert_eq!(told.samples[0].t_ns, found.samples[0].t_ns);
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
