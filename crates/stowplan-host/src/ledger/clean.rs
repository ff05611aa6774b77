//! Removing what dead runs left behind.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DaemonVariables, Object, Owner, scratch};
use crate::cgroup;
use crate::mount_table::unescape;
use crate::process::{is_alive, kill_tree_and_wait};
use crate::{HostError, chain};

/// What [`clean`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cleaned {
    /// Runs whose ledgers were worked off.
    pub runs: Vec<String>,
    /// Objects that were there and are gone now.
    pub removed: Vec<Object>,
    /// What could not be removed, and why; its ledger is kept.
    pub failed: Vec<String>,
}

/// What removes an object that an engine with a daemon has, where the owner looked for that daemon. It says whether there was
/// anything to remove, or why it could not.
pub type RemoveFromEngine<'a> = dyn FnMut(&Object, &DaemonVariables) -> Result<bool, String> + 'a;

/// Removes exactly what the ledgers of dead owners in the folder `state` name; `engines` what engines with a daemon have. A
/// ledger that goes while this looks is one whose owner, or somebody else, has cleaned up.
///
/// # Errors
/// When the folder cannot be read. What cannot be removed is told in the answer.
pub fn clean(state: &Path, engines: &mut RemoveFromEngine<'_>) -> Result<Cleaned, HostError> {
    let mut cleaned = Cleaned::default();
    let mut paths: Vec<PathBuf> = fs::read_dir(state)
        .map_err(|e| HostError::io("read", state, e))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ledger"))
        .collect();
    paths.sort();
    for path in paths {
        match clean_one(&path, &mut cleaned, engines) {
            Ok(()) => {}
            Err(error) => cleaned.failed.push(chain(&error)),
        }
    }
    Ok(cleaned)
}

fn clean_one(
    path: &Path,
    cleaned: &mut Cleaned,
    engines: &mut RemoveFromEngine<'_>,
) -> Result<(), HostError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(HostError::io("read", path, e)),
    };
    // A line without its end was being written when the owner died: its object was never made.
    let mut lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let bad = |e| HostError::new(format!("{} is not a ledger", path.display())).because(e);
    let Some(first) = lines.next() else {
        return remove_ledger(path);
    };
    let owner: Owner = serde_json::from_str(first).map_err(bad)?;
    if owner.is_alive() {
        return Ok(());
    }
    let objects = lines
        .map(serde_json::from_str)
        .collect::<Result<Vec<Object>, _>>()
        .map_err(bad)?;
    let failures = cleaned.failed.len();
    let same_boot = owner.boot == crate::process::boot_id();
    for object in objects.into_iter().rev() {
        let outcome = match &object {
            _ if object.engine().is_some() => engines(&object, &owner.daemons),
            // Pids and links of another boot are not ours any more.
            Object::Process { .. } | Object::InRoot { .. } | Object::Link { .. } if !same_boot => {
                Ok(false)
            }
            other => remove_object(other).map_err(|e| chain(&e)),
        };
        match outcome {
            Ok(true) => cleaned.removed.push(object),
            Ok(false) => {}
            Err(why) => cleaned.failed.push(why),
        }
    }
    if cleaned.failed.len() == failures {
        remove_ledger(path)?;
    }
    cleaned.runs.push(owner.run);
    Ok(())
}

fn remove_ledger(path: &Path) -> Result<(), HostError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(HostError::io("remove", path, e)),
        _ => Ok(()),
    }
}

/// Removes one object of this machine. Whether there was anything to remove.
///
/// # Errors
/// When it is there and cannot be removed.
pub fn remove_object(object: &Object) -> Result<bool, HostError> {
    match object {
        Object::Process { pid, start_ticks } => {
            if !is_alive(*pid, *start_ticks) {
                return Ok(false);
            }
            if kill_tree_and_wait(*pid, Duration::from_secs(10)) {
                Ok(true)
            } else {
                Err(HostError::new(format!(
                    "process {pid} does not end after SIGKILL"
                )))
            }
        }
        Object::Cgroup { path } => cgroup::remove_tree(checked(path)?),
        Object::Mount { path } => unmount(checked(path)?),
        Object::Folder { path } => remove_folder(checked(path)?),
        Object::Scratch {
            folder,
            prefix,
            since_ns,
        } => scratch::remove(Path::new(folder), prefix, *since_ns),
        Object::InRoot {
            pid,
            start_ticks,
            path,
        } => remove_in_root(*pid, *start_ticks, checked(path)?),
        Object::Link { name } => remove_link(name),
        Object::Container { .. } | Object::Image { .. } | Object::Pool { .. } => Ok(false),
    }
}

/// A path that may be removed: absolute, without `..`, and below some folder.
fn checked(path: &str) -> Result<&Path, HostError> {
    let path = Path::new(path);
    let plain = path
        .components()
        .all(|part| !matches!(part, std::path::Component::ParentDir));
    if path.is_absolute() && plain && path.components().count() > 2 {
        Ok(path)
    } else {
        Err(HostError::new(format!(
            "refuse to remove {}: a ledger should not name it",
            path.display()
        )))
    }
}

/// Mount points at or below `path`, innermost last.
pub(crate) fn mounts_below(path: &Path) -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string("/proc/self/mountinfo") else {
        return Vec::new();
    };
    text.lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(|point| PathBuf::from(unescape(point)))
        .filter(|point| point.starts_with(path))
        .collect()
}

fn unmount(path: &Path) -> Result<bool, HostError> {
    let points = mounts_below(path);
    for point in points.iter().rev() {
        match rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH) {
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            Err(e) => return Err(HostError::io("unmount", point, e)),
        }
    }
    Ok(!points.is_empty())
}

fn remove_folder(path: &Path) -> Result<bool, HostError> {
    // What is mounted inside belongs to somebody's files: unmount first, never delete through a mount.
    unmount(path)?;
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(HostError::io("remove", path, e)),
    }
}

/// A link in a foreign root leads to somewhere in ours: a path with one is not followed.
fn remove_in_root(pid: u32, start_ticks: u64, path: &Path) -> Result<bool, HostError> {
    if !is_alive(pid, start_ticks) {
        return Ok(false);
    }
    let mut at = PathBuf::from(format!("/proc/{pid}/root"));
    let mut kind = None;
    for part in path.components().skip(1) {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(HostError::io("look at", &at, e)),
            Ok(meta) if meta.is_symlink() => {
                return Err(HostError::new(format!(
                    "refuse to remove {}: it is below a link",
                    at.display()
                )));
            }
            Ok(meta) => kind = Some(meta.is_dir()),
        }
    }
    let removed = if kind == Some(true) {
        fs::remove_dir_all(&at)
    } else {
        fs::remove_file(&at)
    };
    removed.map_err(|e| HostError::io("remove", &at, e))?;
    Ok(true)
}

fn remove_link(name: &str) -> Result<bool, HostError> {
    if !Path::new("/sys/class/net").join(name).exists() {
        return Ok(false);
    }
    let done = std::process::Command::new("ip")
        .args(["link", "delete", "dev", name])
        .output()
        .map_err(|e| HostError::new("cannot run 'ip link delete'").because(e))?;
    if done.status.success() {
        Ok(true)
    } else {
        Err(HostError::new(format!(
            "ip link delete dev {name}: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::ledger::Ledger;
    use crate::process::start_ticks;

    /// A process that ends when its test does.
    struct Sleeper(Child);

    impl Sleeper {
        fn new() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }

        fn object(&self, later: u64) -> Object {
            Object::Process {
                pid: self.0.id(),
                start_ticks: start_ticks(self.0.id()).unwrap() + later,
            }
        }

        fn is_running(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            // It may be dead already, as the test wants it.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn line(value: &impl serde::Serialize) -> String {
        format!("{}\n", serde_json::to_string(value).unwrap())
    }

    fn dead_owner() -> Owner {
        Owner {
            run: "dead".to_owned(),
            pid: 1,
            start_ticks: u64::MAX,
            boot: crate::process::boot_id(),
            daemons: DaemonVariables::default(),
        }
    }

    fn clean_plain(state: &Path) -> Cleaned {
        clean(state, &mut |_, _| Err("no engine".to_owned())).unwrap()
    }

    #[test]
    fn what_lies_in_the_root_of_a_process_goes_unless_a_link_is_on_the_way() {
        let sleeper = Sleeper::new();
        let Object::Process { pid, start_ticks } = sleeper.object(0) else {
            panic!("a process");
        };
        let folder = tempfile::tempdir().unwrap();
        let object = |name: &str| Object::InRoot {
            pid,
            start_ticks,
            path: folder.path().join(name).display().to_string(),
        };
        fs::create_dir(folder.path().join("lttng")).unwrap();
        fs::write(folder.path().join("lttng/socket"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        assert!(remove_object(&object("link/lttng")).is_err());
        assert!(folder.path().join("lttng/socket").exists());
        assert!(remove_object(&object("lttng")).unwrap());
        assert!(!remove_object(&object("lttng")).unwrap());
        assert!(!folder.path().join("lttng").exists());
        drop(sleeper);
        assert!(!remove_object(&object("link")).unwrap());
    }

    #[test]
    fn a_ledger_that_goes_meanwhile_is_no_failure() {
        let state = tempfile::tempdir().unwrap();
        let container = Object::Container {
            engine: "docker".to_owned(),
            id: "stowplan-dead-a".to_owned(),
        };
        let text = line(&dead_owner()) + &line(&container);
        let ledgers = ["a.ledger", "b.ledger"].map(|name| state.path().join(name));
        for path in &ledgers {
            fs::write(path, &text).unwrap();
        }
        // Both go while the first is worked off: one before it is removed, one before it is read.
        let cleaned = clean(state.path(), &mut |_, _| {
            for path in &ledgers {
                fs::remove_file(path).unwrap();
            }
            Ok(true)
        });
        let cleaned = cleaned.unwrap();
        assert_eq!(cleaned.failed, [""; 0]);
        assert_eq!(cleaned.removed, [container]);
    }

    #[test]
    fn what_a_dead_run_made_goes_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let made = tempfile::tempdir().unwrap();
        let folder = made.path().join("run");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(made.path().join("stays"), "x").unwrap();
        let (mut ours, mut reused) = (Sleeper::new(), Sleeper::new());
        let ours_object = ours.object(0);
        let folder_object = Object::Folder {
            path: folder.display().to_string(),
        };
        let text = line(&dead_owner())
            + &line(&folder_object)
            + &line(&ours_object)
            // A pid that somebody else has by now, an object that is gone, and an entry that was cut off.
            + &line(&reused.object(1))
            + &line(&Object::Folder { path: "/dev/shm/stowplan-nothing-there".to_owned() })
            + "{\"object\":\"folder\",\"path\":\"/";
        fs::write(state.path().join("dead-1.ledger"), text).unwrap();
        fs::write(state.path().join("notes.txt"), "not a ledger").unwrap();
        let cleaned = clean_plain(state.path());
        assert_eq!(cleaned.removed, vec![ours_object, folder_object]);
        assert_eq!(
            (cleaned.runs, cleaned.failed),
            (vec!["dead".to_owned()], vec![])
        );
        assert!(!folder.exists() && made.path().join("stays").exists());
        assert!(!ours.is_running() && reused.is_running());
        let left: Vec<_> = fs::read_dir(state.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["notes.txt"]);
    }

    #[test]
    fn a_living_run_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let mut sleeper = Sleeper::new();
        let mut ledger = Ledger::open(state.path(), "alive").unwrap();
        ledger.enter(&sleeper.object(0)).unwrap();
        assert_eq!(clean_plain(state.path()), Cleaned::default());
        assert!(sleeper.is_running());
        ledger.close().unwrap();
        assert!(!sleeper.is_running());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_ledger_stays_until_an_engine_has_removed_what_it_made() {
        let state = tempfile::tempdir().unwrap();
        let image = Object::Image {
            engine: "docker".to_owned(),
            tag: "localhost/stowplan:1".to_owned(),
        };
        for told in [true, false] {
            let mut ledger = Ledger::open(state.path(), "r").unwrap();
            ledger.enter(&image).unwrap();
            if told {
                ledger.gone(&image);
            }
            assert_eq!(ledger.close().is_ok(), told);
            assert_eq!(
                fs::read_dir(state.path()).unwrap().count(),
                usize::from(!told)
            );
        }
    }

    #[test]
    fn what_cannot_be_removed_keeps_its_ledger() {
        let state = tempfile::tempdir().unwrap();
        let container = Object::Container {
            engine: "docker".to_owned(),
            id: "7".to_owned(),
        };
        let root = Object::Folder {
            path: "/usr".to_owned(),
        };
        let text = line(&dead_owner()) + &line(&container) + &line(&root);
        fs::write(state.path().join("dead-1.ledger"), text).unwrap();
        fs::write(state.path().join("torn.ledger"), "{nonsense}\n").unwrap();
        let cleaned = clean_plain(state.path());
        assert_eq!(cleaned.failed.len(), 3);
        assert!(cleaned.failed[0].contains("refuse to remove /usr"));
        assert_eq!(cleaned.failed[1], "no engine");
        assert!(cleaned.failed[2].contains("torn.ledger is not a ledger"));
        let mut asked = Vec::new();
        let text = line(&dead_owner()) + &line(&container);
        fs::write(state.path().join("dead-1.ledger"), text).unwrap();
        fs::remove_file(state.path().join("torn.ledger")).unwrap();
        let cleaned = clean(state.path(), &mut |object, at| {
            assert_eq!(at, &DaemonVariables::default());
            asked.push(object.clone());
            Ok(true)
        })
        .unwrap();
        assert_eq!(
            (asked, cleaned.removed),
            (vec![container.clone()], vec![container])
        );
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
