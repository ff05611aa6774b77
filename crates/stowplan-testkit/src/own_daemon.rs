//! Daemons of a test's own, which may be killed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use stowplan_host::ledger::{Object, remove_object};
use stowplan_host::process::{all, kill_tree_and_wait};
use tempfile::TempDir;

use crate::available::absent;
use crate::mortal::Mortal;
use crate::user::{Containerd, DockerApi, InstanceServer, Swarm, User, ask};

/// Longest wait for the end of a process that was killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a daemon is.
#[derive(Debug)]
struct Kind {
    engine: &'static str,
    program: &'static str,
    /// By what its clients find it.
    variable: &'static str,
    /// Name of its socket.
    socket: &'static str,
}

static KINDS: [Kind; 6] = [
    Kind {
        engine: "docker",
        program: "dockerd",
        variable: "DOCKER_HOST",
        socket: "s",
    },
    Kind {
        engine: "swarm",
        program: "dockerd",
        variable: "DOCKER_HOST",
        socket: "s",
    },
    Kind {
        engine: "podman",
        program: "podman",
        variable: "CONTAINER_HOST",
        socket: "s",
    },
    Kind {
        engine: "cri",
        program: "containerd",
        variable: "CONTAINER_RUNTIME_ENDPOINT",
        socket: "s",
    },
    Kind {
        engine: "lxd",
        program: "lxd",
        variable: "LXD_DIR",
        socket: "unix.socket",
    },
    Kind {
        engine: "incus",
        program: "incusd",
        variable: "INCUS_DIR",
        socket: "unix.socket",
    },
];

/// Where dockerd writes which containerd it has started.
const CONTAINERD_PID: &str = "exec/containerd/containerd.pid";

/// Its configuration: the image of pause processes is one that no registry has.
const CONTAINERD: &str = r#"version = 2
root = "FOLDER/root"
state = "FOLDER/state"
[grpc]
address = "FOLDER/s"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/stowplan-pause:1"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
runtime_type = "io.containerd.runc.v2"
options = {BinaryName = "crun"}
"#;

/// Podman's: a file of events that it cuts again and again.
const CONTAINERS: &str = r#"[engine]
events_logger = "file"
events_logfile_path = "FOLDER/events.log"
events_logfile_max_size = "16k"
"#;

/// Where a machine with control groups of version 1 has those of version 2 beside them.
const BESIDE_V1: &str = "/sys/fs/cgroup/unified";

/// A daemon with all that it keeps in a folder of its own; only Podman's service, which keeps nothing itself, has the
/// machine's store. Dropping it kills it and removes what is left of it.
#[derive(Debug)]
pub struct OwnDaemon {
    kind: &'static Kind,
    folder: TempDir,
    process: Option<Child>,
    /// It sees control groups of one version alone.
    one_version: bool,
}

impl OwnDaemon {
    /// Starts the daemon of the engine of this name; `None` where it cannot be had.
    ///
    /// # Panics
    /// When no engine of this name has a daemon, when it is there and does not run, or when it is not there and
    /// `$STOWPLAN_REQUIRE_ENGINES` names it.
    #[must_use]
    pub fn start(engine: &str) -> Option<Self> {
        Self::start_seeing(engine, false)
    }

    /// The same for one that sees control groups of version 1 alone where the machine has both, in a mount namespace of its own:
    /// crun refuses both.
    ///
    /// # Panics
    /// As [`OwnDaemon::start`].
    #[must_use]
    pub fn start_with_one_version(engine: &str) -> Option<Self> {
        Self::start_seeing(engine, true)
    }

    fn start_seeing(engine: &str, one_version: bool) -> Option<Self> {
        let kind = KINDS.iter().find(|kind| kind.engine == engine);
        let kind = kind.unwrap_or_else(|| panic!("no daemon of '{engine}'"));
        if !rustix::process::geteuid().is_root() {
            absent(engine, "a daemon of the test's own needs root");
            return None;
        }
        let mut own = Self {
            kind,
            // The path of a socket has at most 107 characters.
            folder: TempDir::with_prefix("own").expect("a folder can be made"),
            process: None,
            one_version,
        };
        match own.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                absent(engine, &format!("there is no {}", kind.program));
                return None;
            }
            started => own.process = Some(started.expect("it can be started")),
        }
        own.wait_until_it_answers();
        Some(own)
    }

    /// Starts it where it does not run: it finds what it had.
    ///
    /// # Panics
    /// When it does not run.
    pub fn start_again(&mut self) {
        if self.process.is_none() {
            // A killed one has left it, and not every daemon makes it anew.
            let _ = fs::remove_file(self.socket());
            self.process = Some(self.spawn().expect("it can be started"));
            self.wait_until_it_answers();
        }
    }

    /// Kills it, if it runs. What it has started goes on.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        // It may have ended already.
        let _ = process.kill();
        let _ = process.wait();
        // dockerd's own containerd has ended with it; while nobody has reaped that, the next dockerd waits for it in vain.
        let _ = fs::remove_file(self.folder.path().join(CONTAINERD_PID));
        // What LXD mounts for itself stands in the way of the next one.
        for mounted in ["shmounts", "devlxd"] {
            let _ = unmount(self.folder.path().join(mounted), UnmountFlags::DETACH);
        }
    }

    /// Name of its engine.
    #[must_use]
    pub const fn engine(&self) -> &'static str {
        self.kind.engine
    }

    /// The environment variable by which engines find it, and its value.
    #[must_use]
    pub fn variable(&self) -> (&'static str, OsString) {
        let value = match self.kind.program {
            "lxd" | "incusd" => self.folder.path().into(),
            _ => format!("unix://{}", self.socket().display()).into(),
        };
        (self.kind.variable, value)
    }

    /// Has engines of this process find it, with a folder for ledgers that only this process has.
    ///
    /// # Safety
    /// No other thread reads or writes the environment: only the one test of a program may call it.
    pub unsafe fn use_here(&self) {
        let (name, value) = self.variable();
        // SAFETY: the caller sees to it.
        unsafe {
            std::env::set_var(name, value);
            std::env::set_var("STOWPLAN_STATE", crate::private_state());
        }
    }

    /// Somebody who uses it.
    #[must_use]
    pub fn user(&self) -> Box<dyn User> {
        match self.kind.program {
            "lxd" | "incusd" => Box::new(InstanceServer::at(self.folder.path())),
            "containerd" => Box::new(Containerd::at(&self.socket())),
            _ if self.kind.engine == "swarm" => Box::new(Swarm::at(self.socket())),
            _ => Box::new(DockerApi::at(self.socket())),
        }
    }

    /// Whether Podman has cut the file of its events.
    #[must_use]
    pub fn has_cut_its_events(&self) -> bool {
        let events = fs::read_to_string(self.folder.path().join("events.log"));
        events.is_ok_and(|events| events.contains("log-rotation"))
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(self.kind.socket)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let log = File::create(self.log())?;
        let mut command = self.command();
        let command = command.stdin(Stdio::null()).stdout(log.try_clone()?);
        command.stderr(log);
        if self.one_version && Path::new(BESIDE_V1).exists() {
            // SAFETY: between fork and exec it makes system calls alone.
            unsafe { command.pre_exec(leave_version_2) };
        }
        command.spawn()
    }

    fn command(&self) -> Command {
        let folder = self.folder.path();
        let below = |name: &str| folder.join(name);
        let write = |name: &str, text: &str| {
            let text = text.replace("FOLDER", &folder.display().to_string());
            fs::write(below(name), text).expect("a file can be written");
            below(name)
        };
        let mut command = Command::new(self.kind.program);
        match self.kind.program {
            "dockerd" => command
                .arg("--config-file")
                .arg(write("daemon.json", "{}"))
                .arg("--host")
                .arg(format!("unix://{}", self.socket().display()))
                .arg("--data-root")
                .arg(below("data"))
                .arg("--exec-root")
                .arg(below("exec"))
                .arg("--pidfile")
                .arg(below("pid"))
                .arg(format!(
                    "--containerd-namespace=stowplan-{}",
                    std::process::id()
                ))
                .args(["--bridge=none", "--iptables=false", "--ip-forward=false"]),
            "podman" => command
                .args(runtime())
                .args(["system", "service", "--time=0"])
                .arg(format!("unix://{}", self.socket().display()))
                .env("CONTAINERS_CONF", write("containers.conf", CONTAINERS))
                // The program is a client of another service where it is set.
                .env_remove(self.kind.variable),
            "containerd" => command
                .arg("--config")
                .arg(write("config.toml", CONTAINERD)),
            _ => command
                .args(["--group", "root"])
                .env(self.kind.variable, folder),
        };
        command
    }

    fn wait_until_it_answers(&mut self) {
        while !self.answers() {
            let ended = self.process.as_mut().map(Child::try_wait);
            let ended = ended.map(|ended| ended.expect("it is a child"));
            if ended != Some(None) {
                let said = fs::read_to_string(self.log()).unwrap_or_default();
                panic!("{} does not run here: {said}", self.kind.program);
            }
            std::thread::yield_now();
        }
    }

    fn answers(&self) -> bool {
        match self.kind.program {
            // Its socket is there before its database is.
            "lxd" | "incusd" => {
                let mut wait = Command::new(self.kind.program);
                wait.args(["waitready", "--timeout=120"])
                    .env(self.kind.variable, self.folder.path())
                    .stderr(Stdio::null());
                wait.status().is_ok_and(|status| status.success())
            }
            "containerd" => UnixStream::connect(self.socket()).is_ok(),
            _ if self.kind.engine == "swarm" => Swarm::at(self.socket()).is_there(),
            _ => ask(&self.socket(), "GET", "/_ping", b"").is_ok_and(|(status, _)| status == 200),
        }
    }
}

/// Takes version 2 out of the sight of this process and what it starts. What others mount is still seen, and nothing that it
/// mounts or takes away by others.
fn leave_version_2() -> std::io::Result<()> {
    // SAFETY: a mount namespace does not touch the memory or the descriptors of this process.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream)?;
    unmount(BESIDE_V1, UnmountFlags::DETACH)?;
    Ok(())
}

/// crun takes no control groups of version 1.
fn runtime() -> &'static [&'static str] {
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        &[]
    } else {
        &["--runtime", "runc"]
    }
}

impl Mortal for OwnDaemon {
    fn engine(&self) -> &'static str {
        self.engine()
    }

    fn user(&self) -> Box<dyn User> {
        self.user()
    }

    fn kill(&mut self) {
        self.kill();
    }

    fn start_again(&mut self) {
        self.start_again();
    }
}

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        if self.process.is_some() && self.kind.engine == "swarm" {
            Swarm::at(self.socket()).leave();
        }
        self.kill();
        // Where a test has failed, what watches over containers is still there.
        let path = self.folder.path().display().to_string();
        for pid in all() {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&path) {
                kill_tree_and_wait(pid, PATIENCE);
            }
        }
        let _ = remove_object(&Object::Mount { path });
        if self.kind.engine == "swarm" {
            let _ = remove_object(&Swarm::bridge());
        }
    }
}
