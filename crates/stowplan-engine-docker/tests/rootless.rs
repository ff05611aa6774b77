//! Podman of a user who is not root, through its own service. Needs root to make itself that user, `podman` and `uidmap`; they have
//! to be there where `$STOWPLAN_REQUIRE_ENGINES` names `podman`.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::geteuid;
use rustix::thread::{
    UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};
use stowplan_engine::{Engine, Probe};
use stowplan_engine_conformance::{AgentStage, Setup, Stage as _, run_some};
use stowplan_engine_daemon::is_installed;
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_host::cgroup::{Layout, Tree};
use stowplan_host::process::{all, kill_tree_and_wait};
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{DockerApi, User, absent, agent_program, command_plan, shell_root};
use stowplan_wire::deployment::{IsolationPlan, LimitsPlan, Program, Select};

/// Set in the process that is not root.
const INSIDE: &str = "STOWPLAN_TEST_ROOTLESS";
/// The user; on this machine there is none with this id, and none with these of its containers.
const USER: u32 = 47_000;
const FIRST_OF_CONTAINERS: u32 = 470_000;

/// What Podman keeps for this user in memory, whatever becomes of their folder.
const LOCKS: &str = "/dev/shm/libpod_rootless_lock_47000";

/// The folder of the user's own, with all that Podman keeps for them.
struct Home(tempfile::TempDir);

impl Home {
    /// Makes it, with the files of the machine's that know this user.
    fn make() -> Self {
        // The path of a socket has at most 107 characters.
        let home = Self(tempfile::TempDir::with_prefix("own").unwrap());
        let ranges = format!("own:{FIRST_OF_CONTAINERS}:65536\n");
        let shown = home.0.path().display();
        let user = format!("own:x:{USER}:{USER}::{shown}:/bin/sh\n");
        let known = |path: &str| fs::read_to_string(path).unwrap_or_default();
        for (name, text) in [
            ("passwd", known("/etc/passwd") + &user),
            ("group", known("/etc/group") + &format!("own:x:{USER}:\n")),
            ("subuid", ranges.clone()),
            ("subgid", ranges),
        ] {
            fs::write(home.below(name), text).unwrap();
        }
        for name in ["run", "state", "tmp"] {
            fs::create_dir(home.below(name)).unwrap();
            fs::set_permissions(home.below(name), fs::Permissions::from_mode(0o700)).unwrap();
            chown(home.below(name), Some(USER), Some(USER)).unwrap();
        }
        chown(home.0.path(), Some(USER), Some(USER)).unwrap();
        fs::set_permissions(home.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        shell_root(&home.below("root"));
        fs::copy(agent_program(), home.below("agent")).unwrap();
        fs::copy(std::env::current_exe().unwrap(), home.below("test")).unwrap();
        home
    }

    fn below(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a test of this program as the user. Gives whether it passed, and what it said.
    fn run(&self, test: &str) -> (bool, String) {
        // No pipe: what Podman leaves running would hold it open.
        let said = fs::File::create(self.below("said")).unwrap();
        let mounts = ["passwd", "group", "subuid", "subgid"].map(|name| {
            let path = |path: PathBuf| CString::new(path.into_os_string().into_encoded_bytes());
            let over = path(Path::new("/etc").join(name)).unwrap();
            (path(self.below(name)).unwrap(), over)
        });
        let mut command = Command::new(self.below("test"));
        command
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, self.0.path())
            .env("HOME", self.0.path())
            .env("TMPDIR", self.below("tmp"))
            .env("XDG_RUNTIME_DIR", self.below("run"))
            .env("STOWPLAN_STATE", self.below("state"))
            .env_remove("CONTAINER_HOST")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .current_dir("/")
            .stdout(said.try_clone().unwrap())
            .stderr(said);
        // SAFETY: between fork and exec it makes system calls alone.
        unsafe { command.pre_exec(move || become_user(&mounts)) };
        let status = command.status().unwrap();
        let said = fs::read(self.below("said")).unwrap();
        (
            status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

/// Puts the user's files over the machine's, which others go on seeing, and becomes the user.
fn become_user(mounts: &[(CString, CString)]) -> io::Result<()> {
    // SAFETY: a mount namespace does not touch the memory or the descriptors of this process.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", downstream)?;
    for (own, over) in mounts {
        if Path::new(OsStr::from_bytes(over.to_bytes())).exists() {
            mount_bind(own.as_c_str(), over.as_c_str())?;
        }
    }
    let (user, group) = (
        rustix::process::Uid::from_raw(USER),
        rustix::process::Gid::from_raw(USER),
    );
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}

impl Drop for Home {
    fn drop(&mut self) {
        // Podman leaves a process that keeps its user namespace.
        for pid in processes_of_user() {
            kill_tree_and_wait(pid, std::time::Duration::from_secs(10));
        }
        // Where Podman got not so far, there is none.
        let _ = fs::remove_file(LOCKS);
    }
}

/// Processes of the user and of their containers.
fn processes_of_user() -> Vec<u32> {
    let is_theirs = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user = user.and_then(|ids| ids.split_whitespace().next()?.parse().ok());
        let of_containers = FIRST_OF_CONTAINERS..FIRST_OF_CONTAINERS + 65_536;
        user.is_some_and(|user: u32| user == USER || of_containers.contains(&user))
    };
    all().filter(is_theirs).collect()
}

#[test]
fn a_user_has_containers_of_their_own() {
    if !geteuid().is_root() {
        return absent("podman", "making another user needs root");
    }
    for program in ["podman", "newuidmap", "newgidmap"] {
        if !is_installed(program) {
            return absent("podman", &format!("there is no {program}"));
        }
    }
    let home = Home::make();
    let (passed, said) = home.run("inside_as_a_user");
    assert!(passed && said.contains("1 passed"), "{said}");
    println!("{said}");
    for folder in ["/run/stowplan", "/dev/shm"] {
        let left = fs::read_dir(folder).into_iter().flatten().flatten();
        let left = left.filter(|entry| {
            let is_theirs = entry.metadata().is_ok_and(|found| found.uid() == USER);
            is_theirs && entry.path() != Path::new(LOCKS)
        });
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// Podman's service, which is killed at the end.
struct Service(Child);

impl Service {
    fn start(socket: &Path) -> Self {
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let mut command = Command::new("podman");
        if Tree::detect().unwrap().layout != Layout::V2 {
            // crun takes no control groups of version 1.
            command.args(["--runtime", "runc"]);
        }
        let command = command
            .args([
                "--cgroup-manager",
                "cgroupfs",
                "system",
                "service",
                "--time=0",
            ])
            .arg(format!("unix://{}", socket.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            assert_eq!(process.try_wait().unwrap(), None, "it has ended");
            std::thread::yield_now();
        }
        Self(process)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test by itself: what `a_user_has_containers_of_their_own` runs as another user.
#[test]
fn inside_as_a_user() {
    let Some(home) = std::env::var_os(INSIDE).map(PathBuf::from) else {
        return;
    };
    let socket = home.join("run/podman/podman.sock");
    let _service = Service::start(&socket);
    let agent = home.join("agent");
    let host = AgentHost::spawn(&agent, Network::Machine).unwrap();
    let engine = DockerEngine::new(Daemon::Podman, &agent, host.shared_network());
    match engine.probe(host.as_ref()) {
        Probe::Available { version } => {
            let told = format!("rootless as user {USER}");
            assert!(version.contains(&told), "{version}");
            println!("{version}");
        }
        other => panic!("{other:?}"),
    }
    let has_groups = Tree::detect().unwrap().layout == Layout::V2;
    let stage = AgentStage::beside(host, Box::new(engine));
    let mut setup = Setup::plain(&stage, None);
    setup.rootfs = Some(home.join("root").display().to_string());
    // What needs control groups, and a class of the machine's.
    let needs_groups = |name: &str| {
        name.starts_with("limits.") || ["life.accounting", "life.pause"].contains(&name)
    };
    let report = run_some(&setup, |name| !needs_groups(name));
    let mut others = vec!["ends.unhealthy unsupported(health)"];
    if !has_groups {
        // They find the processes of a service by its group.
        others.push("ends.stop-takes-children unsupported(accounting)");
        others.push("ends.kill-tree unsupported(accounting)");
    }
    assert_eq!(report.others(), others);
    if !has_groups {
        limits_are_told(&stage, &home);
    }
    drop(stage);
    let user = DockerApi::at(&socket);
    assert_eq!(user.left_by(std::process::id()), Vec::<String>::new());
}

/// Without control groups nothing limits a service, and the deployment says so of each limit.
fn limits_are_told(stage: &AgentStage, home: &Path) {
    let run = format!("{}-limits", std::process::id());
    let run_dir = stage.open_run(&run).unwrap();
    let command: &[&str] = &["/bin/sleep", "1000"];
    let mut plan = command_plan(&run, &run_dir, None, &[("a", command)]);
    plan.isolation = IsolationPlan::CONTAINER;
    plan.services[0].limits = LimitsPlan {
        cpu_quota: Some(0.5),
        memory_bytes: Some(64 << 20),
        ..LimitsPlan::default()
    };
    if let Program::Command { rootfs, .. } = &mut plan.services[0].program {
        *rootfs = Some(home.join("root").display().to_string());
    }
    let mut deployment = stage.engine().prepare(&plan, stage.host()).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let located = deployment.locators().unwrap();
    assert_eq!(located.len(), 1);
    assert!(
        located[0].pid > 0 && located[0].cgroups.is_empty(),
        "{located:?}"
    );
    let told = deployment.deviations();
    for begins in ["control groups: none", "service 'a': "] {
        assert!(
            told.iter().any(|line| line.starts_with(begins)),
            "{told:#?}"
        );
    }
    deployment.destroy().unwrap();
    drop(deployment);
    stage.close_run().unwrap();
}
