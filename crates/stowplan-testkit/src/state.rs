//! A state folder of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stowplan_host::process::start_ticks;

/// The folder for ledgers that every process of this test program uses, so that no test looks at ledgers of
/// runs that are not its own. It is in the target folder; ledgers remove themselves.
///
/// Give it to programs under test as `STOWPLAN_STATE`.
#[must_use]
pub fn private_state() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let pid = std::process::id();
        // An earlier process of this pid may have left something.
        let ticks = start_ticks(pid).expect("this process runs");
        let name = format!("target/test-state/{pid}-{ticks}");
        let path = crate::programs::root().join(name);
        fs::create_dir_all(&path).expect("the state folder can be made");
        // Whatever the umask is: a folder that others can write to is refused.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
            .expect("the state folder is ours");
        path
    })
}
