//! Where the Kubernetes of tests is: its script, and its state.

use std::path::PathBuf;

use crate::data::fixture;

/// What starts and ends it.
pub(crate) fn script() -> PathBuf {
    fixture("kube-lab/lab.sh")
}

/// Its state, as the script has it.
pub(crate) fn folder() -> PathBuf {
    let set = std::env::var_os("LAB").map(PathBuf::from);
    set.unwrap_or_else(|| std::env::temp_dir().join("stowplan-kube-lab"))
}
