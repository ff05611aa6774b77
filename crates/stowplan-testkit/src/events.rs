//! The program that emits the events of a ROS 2 process, and what it says it emitted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::FlockOperation;

use crate::data::fixture;
use crate::programs::root;
use crate::shell::copy_libraries;

/// `tests/fixtures/ros2-events`, built once by `cc`. Its README has its arguments.
///
/// # Panics
/// When it cannot be built; `script/test` installs what it needs.
#[must_use]
pub fn events_program() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let source = fixture("ros2-events");
        let target = root().join("target/fixtures");
        std::fs::create_dir_all(&target).expect("the target folder can be made");
        let lock = File::create(target.join("ros2_events.lock")).expect("the lock can be made");
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("the lock can be taken");
        let program = target.join("ros2_events");
        let files = ["ros2_events.c", "ros2_tp.h"].map(|name| source.join(name));
        let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
        if files.iter().any(|file| changed(file) > changed(&program)) {
            let done = Command::new("cc")
                .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
                .arg(&source)
                .arg("-o")
                .arg(&program)
                .arg(&files[0])
                .arg("-llttng-ust")
                .output()
                .expect("cc can be run");
            assert!(
                done.status.success(),
                "cannot build ros2_events (packages build-essential, liblttng-ust-dev):\n{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        program
    })
}

/// The program in mounts, pids, `/run` and `/dev/shm` of its own, as in a container: it runs until it is told to end.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn events_in_container(counts: &Path) -> Command {
    let script = "mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--mount-proc"]);
    command
        .args(["sh", "-c", script, "sh"])
        .arg(events_program());
    command.args(["0", "1000", "100", "/counted", "inside_"]);
    command.arg(counts).stdout(Stdio::piped());
    command
}

/// Makes `root` the root file system of a container that has the program as `/ros2_events`, the libraries that it
/// loads, and nothing else.
///
/// # Panics
/// When a file cannot be copied.
pub fn events_root(root: &Path) {
    let program = events_program();
    copy_libraries(program, root);
    std::fs::copy(program, root.join("ros2_events")).expect("a file can be copied");
    for name in ["dev", "proc", "sys"] {
        std::fs::create_dir_all(root.join(name)).expect("a folder can be made");
    }
}

/// Waits until the program says this on its standard output: `ready`, when it has made its nodes, and `traced`, when
/// a tracer that was not there then has recorded a message.
///
/// # Panics
/// When it says something else.
pub fn wait_until_events(program: &mut Child, say: &str) {
    let mut line = String::new();
    let mut out = BufReader::new(program.stdout.as_mut().expect("a pipe"));
    out.read_line(&mut line).expect("a line");
    assert_eq!(line.trim_end(), say);
}

/// The only child of a process, as what `unshare --fork` runs.
///
/// # Panics
/// When it has none, or several.
#[must_use]
pub fn only_child(of: &Child) -> u32 {
    let path = format!("/proc/{0}/task/{0}/children", of.id());
    let children = std::fs::read_to_string(path).expect("a process");
    children.trim().parse().expect("one child")
}

/// The counts by name that the program wrote when it ended.
///
/// # Panics
/// When it has not.
#[must_use]
pub fn emitted(counts: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(counts)
        .unwrap_or_else(|error| panic!("{}: {error}", counts.display()));
    serde_json::from_str(&text).expect("the program writes a table of numbers")
}
