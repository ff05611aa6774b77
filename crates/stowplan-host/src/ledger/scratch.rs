//! Folders that a program makes under names which nobody else knows, and leaves when it is killed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::Object;
use crate::HostError;
use crate::mount_table::unescape;

/// A program has mounted something on a folder that it made so long ago.
const MOUNTED_BY: Duration = Duration::from_millis(200);

impl Object {
    /// What a program of a run leaves in `folder` from now on, under names that begin with `prefix`.
    #[must_use]
    pub fn scratch(folder: &str, prefix: &str) -> Self {
        // The clock of times of files (inode(7)), which is behind the exact one.
        let now = clock_gettime(ClockId::RealtimeCoarse);
        Self::Scratch {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            since_ns: now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs(),
        }
    }
}

/// Removes what is empty, was made since then, and is mounted on by no process; in the root's mount namespace the folder of one
/// that is at work looks empty as well.
pub(super) fn remove(folder: &Path, prefix: &str, since_ns: u64) -> Result<bool, HostError> {
    let since = UNIX_EPOCH + Duration::from_nanos(since_ns);
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.map_err(|e| HostError::io("read", folder, e))?,
    };
    let named = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let made_since = named.filter(|entry| {
        let found = entry.metadata();
        found.is_ok_and(|of| of.is_dir() && of.modified().is_ok_and(|at| at >= since))
    });
    let candidates: Vec<PathBuf> = made_since.map(|entry| entry.path()).collect();
    if candidates.is_empty() {
        return Ok(false);
    }
    sleep(MOUNTED_BY);
    let in_use = mount_points_of_all();
    let mut removed = false;
    for path in candidates.iter().filter(|path| !in_use.contains(path)) {
        match fs::remove_dir(path) {
            Ok(()) => removed = true,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {}
            Err(e) => return Err(HostError::io("remove", path, e)),
        }
    }
    Ok(removed)
}

/// Mount points of all processes, each as its own root has them.
fn mount_points_of_all() -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten();
    let tables = processes.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()?;
        fs::read_to_string(Path::new("/proc").join(name).join("mountinfo")).ok()
    });
    let points = |table: String| -> Vec<PathBuf> {
        let points = table.lines().filter_map(|line| line.split(' ').nth(4));
        points.map(|point| PathBuf::from(unescape(point))).collect()
    };
    tables.flat_map(points).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::ledger::remove_object;

    fn made(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        path
    }

    /// A process that has something mounted there, in a mount namespace of its own.
    fn mounted_on(path: &Path) -> std::process::Child {
        let script = "mount -t tmpfs none \"$0\" && echo mounted && exec cat";
        let mut child = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut said).unwrap();
        assert_eq!(said, "mounted\n");
        child
    }

    #[test]
    fn an_empty_folder_goes_that_was_made_since_and_nobody_has_mounted_on() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let before = made(folder, "a-before");
        let long_ago = fs::FileTimes::new().set_modified(UNIX_EPOCH);
        let file = fs::File::open(&before).unwrap();
        file.set_times(long_ago).unwrap();
        let object = Object::scratch(folder.to_str().unwrap(), "a-");
        let (left, other) = (made(folder, "a-left"), made(folder, "b-other"));
        let full = made(folder, "a-full");
        fs::write(full.join("file"), "").unwrap();
        fs::write(folder.join("a-file"), "").unwrap();
        assert!(remove_object(&object).unwrap());
        assert!(!left.exists());
        assert!(before.exists() && other.exists() && full.exists());
        assert!(folder.join("a-file").exists());
        assert!(!remove_object(&object).unwrap());
    }

    #[test]
    fn a_folder_on_which_a_program_works_stays() {
        if !stowplan_testkit::is_root("mount") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let object = Object::scratch(folder.path().to_str().unwrap(), "a-");
        let path = made(folder.path(), "a-works");
        let mut works = mounted_on(&path);
        assert!(!remove_object(&object).unwrap());
        assert!(path.exists());
        drop(works.stdin.take());
        works.wait().unwrap();
        assert!(remove_object(&object).unwrap());
        assert!(!path.exists());
    }
}
