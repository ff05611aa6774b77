//! A state folder of the test's own.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The folder for ledgers that every process of this test program uses, so that no test looks at ledgers of
/// runs that are not its own. Removed by the next reboot at the latest: it is on tmpfs.
///
/// Give it to programs under test as `STOWPLAN_STATE`.
#[must_use]
pub fn private_state() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            tempfile::Builder::new()
                .prefix("stowplan-test-state-")
                .tempdir_in("/dev/shm")
                .expect("a folder on tmpfs can be made")
        })
        .path()
}
