//! The program that emits the events of a ROS 2 process, and what it says it emitted.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::fs::FlockOperation;

use crate::programs::root;

/// `tests/fixtures/ros2-events`, built once by `cc`. Its README has its arguments.
///
/// # Panics
/// When it cannot be built; `script/test` installs what it needs.
#[must_use]
pub fn events_program() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let source = root().join("tests/fixtures/ros2-events");
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
