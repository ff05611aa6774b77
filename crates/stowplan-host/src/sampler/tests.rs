//! What the samples of known groups and processes are.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::*;

fn subject(folder: &Path, keys: &[&str]) -> SampleSubject {
    named("sensing", folder, keys)
}

fn named(name: &str, folder: &Path, keys: &[&str]) -> SampleSubject {
    SampleSubject {
        subject: name.to_owned(),
        cgroups: keys
            .iter()
            .map(|key| ((*key).to_owned(), folder.display().to_string()))
            .collect::<BTreeMap<_, _>>(),
        pids: Vec::new(),
        names: Vec::new(),
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
        names: Vec::new(),
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

/// Seconds of the shell and its children that `times` of a shell has printed: `0m0.27s 0m0.01s` for each of the two.
fn seconds(times: &str) -> f64 {
    let of = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    times.split_whitespace().map(of).sum()
}

#[test]
fn children_that_a_process_has_waited_for_count_as_it() {
    // Other tests look for what shells use.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("stowplan-waits");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let child = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let work = format!(
        "read go; {} -c '{child}'; times; echo; read end",
        program.display()
    );
    let (mut shell, out) = begun(&program, &work);
    let engine = SampleSubject {
        subject: "engine".to_owned(),
        cgroups: BTreeMap::new(),
        pids: vec![shell.id()],
        names: Vec::new(),
    };
    let mut sampler = Sampler::new(&[engine], &[]);
    sampler.sample();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    let lines = BufReader::new(out).lines();
    let said: Vec<String> = lines
        .map(Result::unwrap)
        .take_while(|line| !line.is_empty())
        .collect();
    sampler.sample();
    drop(input);
    shell.wait().unwrap();
    let all = sampler.finish().usage;
    let used = of(&all, "engine")[1].cpu_ns.unwrap() as f64 / 1e9;
    let told = seconds(&said.join(" "));
    assert!(told > 0.05, "{said:?}");
    // Two counters of whole ticks, of 10 ms each.
    assert!((used - told).abs() < 0.03, "{used} of {told}");
}

#[test]
fn each_program_is_a_subject_of_its_own() {
    let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let engine = SampleSubject {
        subject: "engine".to_owned(),
        cgroups: BTreeMap::new(),
        pids: vec![std::process::id(), other.id()],
        names: vec![(std::process::id(), "orchestrator test".to_owned())],
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
    assert!(
        programs.contains(&"engine: orchestrator test"),
        "as it was named"
    );
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
fn a_group_is_stopped_by_quotas_above_it_too() {
    let root = tempfile::tempdir().unwrap();
    let pod = root.path().join("pod");
    let own = pod.join("container");
    fs::create_dir_all(&own).unwrap();
    let stopped = |group: &Path, periods: u32| {
        let text = format!("usage_usec 1\nnr_throttled {periods}\n");
        fs::write(group.join("cpu.stat"), text).unwrap();
    };
    for (group, quota) in [(root.path(), "max 100000"), (&pod, "20000 100000")] {
        fs::write(group.join("cpu.max"), quota).unwrap();
    }
    for (group, periods) in [(root.path(), 50), (&pod, 7), (&own, 1)] {
        stopped(group, periods);
    }
    let mut sampler = Sampler::new(&[subject(&own, &["unified"])], &[]);
    sampler.sample();
    // Its pod was without time first. What is above without a quota is no matter.
    for (group, periods) in [(root.path(), 90), (&pod, 11), (&own, 1)] {
        stopped(group, periods);
    }
    sampler.also(&[named("later", &own, &["unified"])], &[]);
    sampler.sample();
    // Both were in the same periods.
    for (group, periods) in [(&pod, 13), (&own, 8)] {
        stopped(group, periods);
    }
    sampler.sample();
    let all = sampler.finish().usage;
    let periods = |name| -> Vec<Option<u64>> {
        let rows = of(&all, name).into_iter();
        rows.map(|row| row.throttled).collect()
    };
    assert_eq!(periods("sensing"), [Some(0), Some(4), Some(7)]);
    // Of its own it has counted all, of the pod's only what was since.
    assert_eq!(periods("later"), [Some(1), Some(8)]);
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
        let grown = |look: &Look| look.since(sampler.others.as_ref().unwrap(), &BTreeSet::new());
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
        names: Vec::new(),
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
