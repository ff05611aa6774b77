//! The static programs, built once for all tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::fs::FlockOperation;

/// Root of the repository.
pub(crate) fn root() -> &'static Path {
    // This crate is in `crates/stowplan-testkit` of it.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate is two folders below the root")
}

/// Builds a static program and gives its path. Cargo decides whether there is anything to do; a lock keeps the
/// many test programs of one run from asking it at the same time.
fn build(package: &str, kind: &str, name: &str) -> PathBuf {
    let target = root().join("target/node");
    std::fs::create_dir_all(&target).expect("the target folder can be made");
    let lock = File::create(target.join("testkit.lock")).expect("the lock file can be made");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("the lock can be taken");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .current_dir(root())
        // What a test run or a coverage tool sets for itself would rebuild everything.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_BOOTSTRAP")
        .args(["rustc", "--quiet", "-p", package, kind, name])
        .args(["--profile", "node", "--target-dir"])
        .arg(&target)
        .args(["--", "-C", "target-feature=+crt-static"])
        .output()
        .expect("cargo can be run");
    assert!(
        done.status.success(),
        "building {name} failed:\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
    target.join("node")
}

/// The runner of the tests has built it; else it is built now.
fn build_program(name: &str) -> PathBuf {
    let built = std::env::var_os("STOWPLAN_BUILT_PROGRAMS").map(PathBuf::from);
    let folder = built.unwrap_or_else(|| build(name, "--bin", name));
    folder.join(name)
}

/// An example of a package as a static program, for places without its libraries.
#[must_use]
pub fn static_example(package: &str, name: &str) -> PathBuf {
    build(package, "--example", name)
        .join("examples")
        .join(name)
}

/// An example, as Cargo builds it beside the tests of the workspace.
///
/// # Panics
///
/// When it is not built: tests of one package alone come without the examples of others.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test program has a path");
    // The test is in `deps`, which is beside `examples`.
    let folder = test
        .ancestors()
        .nth(2)
        .expect("it is in a folder of Cargo's");
    let example = folder.join("examples").join(name);
    assert!(
        example.exists(),
        "'cargo test --workspace --no-run' builds {name}"
    );
    example
}

/// The static node program.
#[must_use]
pub fn node_program() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build_program("stowplan-node"))
}

/// The static agent.
#[must_use]
pub fn agent_program() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build_program("stowplan-agent"))
}
