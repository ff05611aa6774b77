//! Where the Kubernetes of tests is: its script, and its state.

use std::path::{Path, PathBuf};

/// What starts and ends it.
pub(crate) fn script() -> PathBuf {
    // This crate is in `crates/stowplan-testkit` of the repository.
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.nth(2).expect("a repository");
    root.join("tests/fixtures/kube-lab/lab.sh")
}

/// Its state, as the script has it.
pub(crate) fn folder() -> PathBuf {
    let set = std::env::var_os("LAB").map(PathBuf::from);
    set.unwrap_or_else(|| std::env::temp_dir().join("stowplan-kube-lab"))
}
