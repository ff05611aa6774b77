//! Folders with the logs of a dead run.

use std::fs;
use std::path::Path;

use stowplan_host::rundir::RUN_FOLDER;

/// Removes the logs in a folder of a run, and the folder and that of the run where they are empty then. What is not a run's
/// stays, and so does what cannot be removed: these are only logs that a runtime made again.
pub(crate) fn remove(folder: &Path) {
    let is_run = |path: &&Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(RUN_FOLDER))
    };
    let Some(run) = folder.ancestors().take(2).find(is_run) else {
        return;
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "log") {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_dir(folder);
    let _ = fs::remove_dir(run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_a_dead_run_go_with_their_folders() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("stowplan-7");
        let (first, second) = (run.join("a"), run.join("b"));
        let users = root.path().join("user");
        for folder in [&first, &second, &users] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("service.log"), "x").unwrap();
        }
        remove(&first);
        assert!(!first.exists() && second.exists());
        remove(&second);
        assert!(!run.exists());
        remove(&users);
        assert!(users.join("service.log").exists());
    }
}
