//! Where inputs of tests are kept that are not in this repository.

use std::path::{Path, PathBuf};

/// The folder of recorded traces.
pub fn data() -> PathBuf {
    std::env::var_os("STOWPLAN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    )
}

/// Whether an input is there. Where it is not the test passes, printing why; in CI it fails.
pub fn is_there(input: &Path) -> bool {
    if input.exists() {
        return true;
    }
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "needed in CI: {}", input.display());
    println!(
        "skipped: no {} (STOWPLAN_DATA names the folder of traces)",
        input.display()
    );
    false
}
