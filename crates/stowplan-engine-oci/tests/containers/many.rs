//! Many services at once, and what a killed parent leaves.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::common::{PATIENCE, Run, docker, engine, events_until, is_root, located};
use stowplan_engine::Engine;
use stowplan_host::{LocalHost, ledger};
use stowplan_wire::deployment::{EngineEventKind, Select};

/// Set in the process that is to be killed.
const VICTIM: &str = "STOWPLAN_TEST_VICTIM";

#[test]
fn twenty_six_services_start_at_once() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let services = (0..26)
        .map(|n| run.service(&format!("s{n}"), &["sleep", "1000"]))
        .collect();
    for parallelism in [0, 5] {
        let mut plan = run.plan(docker(), Clone::clone(&services));
        plan.parallelism = parallelism;
        let mut deployment = run.prepare(&plan).unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let events = events_until(&mut *deployment, |events| events.len() >= 52);
        let started = events
            .iter()
            .filter(|event| event.kind == EngineEventKind::Started);
        assert_eq!(started.count(), 26);
        let pids: std::collections::BTreeSet<u32> = located(&*deployment)
            .values()
            .map(|locator| locator.pid)
            .collect();
        assert_eq!(pids.len(), 26);
        let requests = deployment.engine_requests().unwrap();
        // Its plan, to create it and to start it, for each.
        assert_eq!(requests.len(), 3 * 26);
        let open_at = |at: u64| {
            let open = requests
                .iter()
                .filter(|one| one.begin_ns <= at && one.end_ns.is_some_and(|end| at < end));
            open.count()
        };
        let most = requests.iter().map(|one| open_at(one.begin_ns)).max();
        let limit = if parallelism == 0 { 26 } else { 5 };
        assert!(
            most.is_some_and(|most| (1..=limit).contains(&most)),
            "{most:?}"
        );
        deployment.destroy().unwrap();
        assert_eq!(run.cgroups(), Vec::<PathBuf>::new());
    }
}

/// Not a test by itself: the process that `a_killed_parent_leaves_nothing` kills.
#[test]
fn victim() {
    let Some(state) = std::env::var_os(VICTIM) else {
        return;
    };
    let run = Run::new();
    let host = Rc::new(LocalHost::new(state.as_ref()).unwrap());
    host.open_run(&run.name).unwrap();
    let services = (0..4)
        .map(|n| run.service(&format!("s{n}"), &["sleep", "1000"]))
        .collect();
    let plan = run.plan(docker(), services);
    let mut deployment = engine().prepare(&plan, host).unwrap();
    deployment.create(&Select::All).unwrap();
    // One of them is killed between creation and start.
    deployment
        .start(&Select::Services(vec![
            "s0".into(),
            "s1".into(),
            "s2".into(),
        ]))
        .unwrap();
    let mut pids: Vec<u32> = located(&*deployment)
        .values()
        .map(|locator| locator.pid)
        .collect();
    pids.extend(pids.clone().iter().map(|pid| parent(*pid)));
    println!("\nvictim {} {pids:?}", run.name);
    loop {
        std::thread::park();
    }
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_killed_parent_leaves_nothing() {
    if !is_root() {
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many::victim", "--nocapture"])
        .env(VICTIM, state.path())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("victim "))
        .expect("the victim starts its services");
    let mut words = line.split(' ').skip(1);
    let name = words.next().unwrap().to_owned();
    let pids: Vec<u32> = words
        .map(|word| word.trim_matches(['[', ',', ']']).parse().unwrap())
        .collect();
    assert_eq!(pids.len(), 8);
    let ends: Vec<_> = pids
        .iter()
        .map(|pid| {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap()
        })
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    for end in &ends {
        let mut wanted = [rustix::event::PollFd::new(
            end,
            rustix::event::PollFlags::IN,
        )];
        let patience = rustix::event::Timespec::try_from(PATIENCE).unwrap();
        assert_eq!(
            rustix::event::poll(&mut wanted, Some(&patience)),
            Ok(1),
            "it lives"
        );
    }
    let run = PathBuf::from(format!("/dev/shm/stowplan-{name}"));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&name));
    let services = find_cgroups(&name);
    assert!(
        services
            .iter()
            .all(|path| path.ends_with(format!("stowplan-{name}"))),
        "the helpers remove the cgroups of their services: {services:?}"
    );
    // What only the parent could remove stands in its ledger.
    let cleaned = ledger::clean(state.path(), &mut |_, _| Ok(false)).unwrap();
    println!("{cleaned:?}");
    assert_eq!(find_cgroups(&name), Vec::<PathBuf>::new());
    fs::remove_dir_all(run).unwrap();
}

fn find_cgroups(name: &str) -> Vec<PathBuf> {
    let found = Command::new("find")
        .args([
            "/sys/fs/cgroup",
            "-type",
            "d",
            "-path",
            &format!("*stowplan-{name}*"),
        ])
        .output()
        .unwrap();
    String::from_utf8_lossy(&found.stdout)
        .lines()
        .map(PathBuf::from)
        .collect()
}
