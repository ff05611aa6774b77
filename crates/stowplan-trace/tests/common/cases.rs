//! Cases from the field: small traces whose right figures are known.

use std::path::{Path, PathBuf};

/// The folder of a case, which lies beside the recorded traces and not in this
/// repository. Without it the test passes, printing why; in CI it fails.
pub fn case(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("STOWPLAN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = data.join("../cases").join(name);
    if !folder.is_dir() {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "needed in CI: {}", folder.display());
        println!("skipped: no {}", folder.display());
        return None;
    }
    Some(folder)
}
