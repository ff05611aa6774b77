//! The conformance suite in a guest: its first program, which makes a machine with cgroup v2 alone out of what a kernel
//! starts with, runs the suite on the engines of the agent beside it, says what came of it, and turns the guest off.
//!
//! `tests/guest.rs` boots it. It ends at once where it is not the first process of a machine.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{WaitOptions, chdir, chroot, wait};
use rustix::system::{RebootCommand, reboot};
use stowplan_engine_conformance::{AgentStage, Outcome, Setup, run};
use stowplan_host::cgroup::{Layout, Tree};
use stowplan_remote::AgentHost;
use stowplan_wire::deployment::IsolationPlan;

type Done<T> = Result<T, Box<dyn Error>>;

/// Begins a line for the test outside.
const WORD: &str = "guest:";

/// What the kernel unpacked and the machine needs.
const PROGRAMS: [&str; 3] = ["/init", "/agent", "/bin/busybox"];

/// The suite's programs of busybox.
const APPLETS: [&str; 9] = [
    "sh", "sleep", "head", "tail", "wc", "setsid", "env", "true", "cat",
];

fn main() {
    if std::env::args().nth(1).as_deref() == Some("suite") {
        if let Err(error) = suite() {
            say(&format!("error {error}"));
        }
        return;
    }
    if std::process::id() != 1 {
        eprintln!("this program is the first one of a guest");
        return;
    }
    if let Err(error) = machine().and_then(|()| first_process()) {
        say(&format!("error {error}"));
    }
    say("end");
    let _ = std::io::stdout().flush();
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
}

fn say(text: &str) {
    println!("{WORD} {text}");
}

/// Mounts what a machine has, on a root that is no initial one: that could not be pivoted away by a container.
fn machine() -> Done<()> {
    let root = Path::new("/machine");
    fs::create_dir(root)?;
    let none = MountFlags::empty();
    mount("machine", root, "tmpfs", none, c"")?;
    for folder in ["bin", "proc", "sys", "dev", "run", "tmp", "etc"] {
        fs::create_dir(root.join(folder))?;
    }
    for program in PROGRAMS {
        fs::copy(program, root.join(&program[1..]))?;
    }
    for name in APPLETS {
        std::os::unix::fs::symlink("busybox", root.join("bin").join(name))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/:/bin/sh\n")?;
    for module in fs::read_dir("/modules")? {
        let file = fs::File::open(module?.path())?;
        rustix::system::finit_module(&file, c"", 0)?;
    }
    chdir(root)?;
    mount_move(".", "/")?;
    chroot(".")?;
    chdir("/")?;
    for (what, kind) in [
        ("/proc", "proc"),
        ("/sys", "sysfs"),
        ("/dev", "devtmpfs"),
        ("/run", "tmpfs"),
        ("/sys/fs/cgroup", "cgroup2"),
    ] {
        mount(kind, what, kind, none, c"")?;
    }
    fs::create_dir_all("/dev/shm")?;
    mount("shm", "/dev/shm", "tmpfs", none, c"")?;
    Ok(())
}

/// Runs the suite as a child and takes up what is left without parents, until the suite has ended.
fn first_process() -> Done<()> {
    let layout = Tree::detect()?.layout;
    say(&format!("layout {}", layout.name()));
    if layout != Layout::V2 {
        return Err("these are not control groups of version 2 alone".into());
    }
    // In the root group, and in a leaf of a tree that gives controllers, as a login session is.
    for leaf in [None, Some("/sys/fs/cgroup/user.slice/session.scope")] {
        if let Some(leaf) = leaf {
            let above = Path::new(leaf).parent().ok_or("no parent")?;
            fs::create_dir_all(leaf)?;
            for controller in ["cpu", "memory", "cpuset", "io"] {
                let give = format!("+{controller}");
                fs::write("/sys/fs/cgroup/cgroup.subtree_control", &give)?;
                fs::write(above.join("cgroup.subtree_control"), &give)?;
            }
        }
        let mut command = Command::new("/init");
        command.arg("suite").arg(leaf.unwrap_or_default());
        let child = command.env("PATH", "/bin").spawn()?;
        let child = child.id().cast_signed();
        while let Some((pid, _)) = wait(WaitOptions::empty())? {
            if pid.as_raw_nonzero().get() == child {
                break;
            }
        }
    }
    Ok(())
}

fn suite() -> Done<()> {
    let leaf = std::env::args().nth(2).unwrap_or_default();
    let mut places = vec![
        ("bare", Some("grouped"), IsolationPlan::default()),
        ("oci", None, IsolationPlan::CONTAINER),
    ];
    if leaf.is_empty() {
        places.insert(0, ("bare", Some("flat"), IsolationPlan::default()));
        places.insert(1, ("bare", Some("session"), IsolationPlan::default()));
    } else {
        fs::write(Path::new(&leaf).join("cgroup.procs"), "0")?;
    }
    for (engine, variant, isolation) in places {
        let host = AgentHost::spawn_with(Path::new("/agent"), &[])?;
        let stage = AgentStage::new(host, engine)?;
        let mut setup = Setup::plain(&stage, variant);
        setup.isolation = isolation;
        let session = if leaf.is_empty() { "" } else { " in a session" };
        say(&format!(
            "place {engine}:{}{session}",
            variant.unwrap_or_default()
        ));
        for case in run(&setup).cases {
            match case.outcome {
                Outcome::Passed => say(&format!("{} passed", case.name)),
                Outcome::Unsupported(what) => say(&format!("{} unsupported({what})", case.name)),
                Outcome::Failed(why) => say(&format!("{} failed: {why}", case.name)),
            }
        }
        say(&format!("left {:?}", left()?));
    }
    Ok(())
}

/// Groups of Stowplan that are still there.
fn left() -> Done<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let path = entry.path();
                if entry.file_name().to_string_lossy().starts_with("stowplan-") {
                    found.push(path.display().to_string());
                }
                folders.push(path);
            }
        }
    }
    Ok(found)
}
