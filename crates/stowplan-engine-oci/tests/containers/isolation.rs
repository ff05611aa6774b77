//! Each isolation feature by itself, seen from outside and from inside.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::common::{Run, bare, docker, is_root, located, run_once};
use stowplan_engine::IsolationFeature;
use stowplan_wire::deployment::{IsolationPlan, Select};

const NAMESPACES: [(&str, IsolationFeature); 6] = [
    ("mnt", IsolationFeature::Mount),
    ("pid", IsolationFeature::Pid),
    ("ipc", IsolationFeature::Ipc),
    ("uts", IsolationFeature::Uts),
    ("net", IsolationFeature::Net),
    ("user", IsolationFeature::User),
];

fn only(feature: IsolationFeature) -> IsolationPlan {
    let mut plan = bare();
    // These three are of a mount namespace.
    plan.mount = matches!(
        feature,
        IsolationFeature::User | IsolationFeature::ReadOnlyRoot | IsolationFeature::Overlay
    );
    *feature.switch(&mut plan) = true;
    plan
}

fn status(pid: u32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{key}:")));
    line.unwrap().trim().to_owned()
}

/// Everything that the kernel tells of a running service's isolation equals the plan.
fn check(run: &Run, isolation: IsolationPlan) {
    let plan = run.plan(isolation, vec![run.service("a", &["sleep", "1000"])]);
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let locator = located(&*deployment)["a"].clone();
    let pid = locator.pid;
    for (name, feature) in NAMESPACES {
        let inode = |of: &str| fs::metadata(format!("/proc/{of}/ns/{name}")).unwrap().ino();
        let apart = inode(&pid.to_string()) != inode("self");
        assert_eq!(
            apart,
            feature.in_plan(&isolation),
            "{name} with {isolation:?}"
        );
    }
    assert_eq!(!locator.cgroups.is_empty(), isolation.cgroup);
    for folder in locator.cgroups.values() {
        let procs = fs::read_to_string(format!("{folder}/cgroup.procs")).unwrap();
        assert!(
            procs.lines().any(|line| line == pid.to_string()),
            "{folder}"
        );
    }
    assert_eq!(status(pid, "Seccomp") == "2", isolation.seccomp);
    assert_eq!(
        status(pid, "CapEff") == "00000000a80425fb",
        isolation.capabilities
    );
    assert_eq!(status(pid, "NoNewPrivs") == "1", isolation.capabilities);
    if isolation.mount {
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
        let root = mounts
            .lines()
            .rfind(|line| line.split(' ').nth(4) == Some("/"))
            .unwrap();
        if isolation.overlay {
            assert!(root.contains(" - overlay "), "{root}");
        }
        let options = root.split(' ').nth(5).unwrap();
        assert_eq!(
            options.split(',').any(|o| o == "ro"),
            isolation.read_only_root,
            "{root}"
        );
    }
    deployment.destroy().unwrap();
}

#[test]
fn every_feature_can_be_switched_on_by_itself() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    check(&run, bare());
    for feature in IsolationFeature::ALL {
        check(&run, only(feature));
    }
}

#[test]
fn every_feature_can_be_switched_off_by_itself() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut all = docker();
    (all.net, all.user, all.read_only_root) = (true, true, true);
    check(&run, all);
    let off: [fn(&mut IsolationPlan); 10] = [
        |plan| plan.pid = false,
        |plan| plan.ipc = false,
        |plan| plan.uts = false,
        |plan| plan.net = false,
        |plan| plan.user = false,
        |plan| plan.cgroup = false,
        |plan| plan.read_only_root = false,
        |plan| plan.overlay = false,
        |plan| plan.seccomp = false,
        |plan| plan.capabilities = false,
    ];
    for switch in off {
        let mut plan = all;
        switch(&mut plan);
        check(&run, plan);
    }
}

#[test]
fn the_service_sees_its_own_world() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut isolation = docker();
    isolation.net = true;
    let script = "hostname; echo $$; cat /sys/class/net/lo/flags; ls /dev/shm; \
                  unshare -m true 2>/dev/null && echo unshared; touch /etc/written && echo wrote; \
                  (echo x > /proc/sys/kernel/hostname) 2>/dev/null && echo renamed; true";
    let (status, log) = run_once(&run, isolation, &["sh", "-c", script]);
    let folder = format!("stowplan-{}", run.name);
    // IFF_UP, IFF_LOOPBACK, IFF_MULTICAST; IFF_RUNNING is not shown here.
    assert_eq!(log, format!("one\n1\n0x1009\n{folder}\nwrote\n"));
    assert_eq!(status, 0);
    assert!(
        !std::path::Path::new("/etc/written").exists(),
        "the overlay keeps it"
    );
}

#[test]
fn the_run_folder_is_at_the_same_path_and_can_be_written() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let file = run.dir.join("one/made-inside");
    for isolation in [docker(), bare(), only(IsolationFeature::User)] {
        let command = format!("echo in > {}", file.display());
        let (status, log) = run_once(&run, isolation, &["sh", "-c", &command]);
        assert_eq!((status, log.as_str()), (0, ""));
        assert_eq!(fs::read_to_string(&file).unwrap(), "in\n");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_read_only_root_cannot_be_written() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut isolation = docker();
    isolation.read_only_root = true;
    let (status, log) = run_once(&run, isolation, &["touch", "/etc/written"]);
    assert_ne!(status, 0);
    assert!(log.contains("Read-only file system"), "{log}");
}

#[test]
fn a_container_without_sys_admin_may_not_make_namespaces() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut filtered = bare();
    filtered.seccomp = true;
    // With all capabilities Docker's profile allows it; the default ones are not among those that may.
    assert_eq!(run_once(&run, filtered, &["unshare", "-u", "true"]).0, 0);
    filtered.capabilities = true;
    assert_ne!(run_once(&run, filtered, &["unshare", "-u", "true"]).0, 0);
}
