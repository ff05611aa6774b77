//! What tests read that is kept outside of this repository: recorded traces, and cases from the field.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::programs::root;

/// A file or folder of the data beside this repository, or in the folder that `$STOWPLAN_DATA` names. `None`, and the test is
/// recorded as skipped, where there is no such data.
#[must_use]
pub fn data(path: impl AsRef<Path>) -> Option<PathBuf> {
    let folder = std::env::var_os("STOWPLAN_DATA");
    let folder = folder.map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let wanted = folder.join(&path);
    if !wanted.exists() {
        let path = path.as_ref().display();
        crate::skip!("no recorded data: {path} ($STOWPLAN_DATA names its folder)");
        return None;
    }
    Some(wanted)
}

/// The folder of a case from the field: a small trace whose right figures are known.
#[must_use]
pub fn case(name: &str) -> Option<PathBuf> {
    data(Path::new("../cases").join(name))
}

/// The recorded trace of this name, unpacked.
///
/// # Panics
/// When it cannot be unpacked.
#[must_use]
pub fn kept_trace(name: &str) -> Option<TempDir> {
    Some(unpacked(&data(format!("traces/{name}.tar.zst"))?))
}

/// What is in a `.tar.zst`.
///
/// # Panics
/// When it cannot be unpacked.
#[must_use]
pub fn unpacked(archive: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xf"]).arg(archive).arg("-C");
    let done = tar.arg(folder.path()).status().expect("tar runs");
    assert!(done.success(), "tar of {}: {done}", archive.display());
    folder
}

/// A file that tests have in `tests/fixtures/` of this repository.
#[must_use]
pub fn fixture(path: impl AsRef<Path>) -> PathBuf {
    root().join("tests/fixtures").join(path)
}

/// What a program says when its file is there; `None`, and the test is recorded as skipped, where it is not installed.
///
/// # Panics
/// When it cannot be run for another reason.
#[must_use]
pub fn said_by(command: &mut Command) -> Option<std::process::Output> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let program = command.get_program().display();
            crate::skip!("{program} is not installed");
            None
        }
        said => Some(said.expect("the program can be run")),
    }
}
