//! The file of a ledger.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{DaemonVariables, Object, Owner};
use crate::HostError;
use crate::process::{boot_id, start_ticks};

/// Environment variable of the fault hook: `ledger:N` kills this process with SIGKILL when the Nth entry is
/// written and its object is not made yet.
const FAULT: &str = "STOWPLAN_FAULT";

/// Where ledgers are: `$STOWPLAN_STATE`, else `/run/stowplan` for root, else `$XDG_RUNTIME_DIR/stowplan`, else
/// `/tmp/stowplan-UID`. The folder is made; one that others can write to is refused, because what a ledger
/// names gets removed.
///
/// # Errors
/// When the folder cannot be made or belongs to somebody else.
pub fn folder() -> Result<PathBuf, HostError> {
    let uid = rustix::process::geteuid().as_raw();
    let path = if let Some(path) = std::env::var_os("STOWPLAN_STATE") {
        PathBuf::from(path)
    } else if uid == 0 {
        PathBuf::from("/run/stowplan")
    } else if let Some(path) = std::env::var_os("XDG_RUNTIME_DIR") {
        PathBuf::from(path).join("stowplan")
    } else {
        PathBuf::from(format!("/tmp/stowplan-{uid}"))
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)
        .map_err(|e| HostError::io("make the state folder", &path, e).hint(STATE_HINT))?;
    let found = fs::symlink_metadata(&path).map_err(|e| HostError::io("look at", &path, e))?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o022 != 0 {
        return Err(HostError::new(format!(
            "the state folder {} can be written by others",
            path.display()
        ))
        .hint(STATE_HINT));
    }
    Ok(path)
}

const STATE_HINT: &str = "set STOWPLAN_STATE to a folder that only you can write to";

/// The open ledger of one run and owner.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    objects: Vec<Object>,
    kill_at: Option<usize>,
}

impl Ledger {
    /// Opens the ledger of a run for this process in the folder `state`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(state: &Path, run: &str) -> Result<Self, HostError> {
        let pid = std::process::id();
        let owner = Owner {
            run: run.to_owned(),
            pid,
            start_ticks: start_ticks(pid)
                .ok_or_else(|| HostError::new("cannot read /proc/self/stat"))?,
            boot: boot_id(),
            daemons: DaemonVariables::of_this_process(),
        };
        let path = state.join(format!("{run}-{pid}.ledger"));
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| HostError::io("make the ledger", &path, e))?;
        let kill_at = std::env::var(FAULT)
            .ok()
            .and_then(|fault| fault.strip_prefix("ledger:")?.parse().ok());
        let mut ledger = Self {
            path,
            file,
            objects: Vec::new(),
            kill_at,
        };
        ledger.line(&owner)?;
        Ok(ledger)
    }

    /// Enters an object; when this returns the entry is written and the object may be made.
    ///
    /// # Errors
    /// When the entry cannot be written; the object must then not be made.
    pub fn enter(&mut self, object: &Object) -> Result<(), HostError> {
        self.line(object)?;
        self.objects.push(object.clone());
        if self.kill_at == Some(self.objects.len()) {
            // The hook stands in for a SIGKILL from outside at the worst moment.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
        Ok(())
    }

    /// Takes note that an engine with a daemon has removed what is its own to remove.
    pub fn gone(&mut self, object: &Object) {
        self.objects.retain(|entered| entered != object);
    }

    /// Removes what it names and is still there, then the ledger. What engines with a daemon have is theirs to remove.
    ///
    /// # Errors
    /// When something cannot be removed, or an engine has not removed what it made; the rest is removed
    /// nevertheless, and the ledger is kept for `stowplan clean`.
    pub fn close(self) -> Result<(), HostError> {
        let mut result = Ok(());
        for object in self.objects.iter().rev() {
            if let Err(error) = super::remove_object(object) {
                result = Err(error);
            }
            if let Some(engine) = object.engine() {
                result = Err(
                    HostError::new(format!("{engine} has not removed {object:?}"))
                        .hint("run 'stowplan clean' when its daemon answers"),
                );
            }
        }
        result?;
        fs::remove_file(&self.path).map_err(|e| HostError::io("remove", &self.path, e))
    }

    fn line(&mut self, entry: &impl serde::Serialize) -> Result<(), HostError> {
        let mut text = serde_json::to_string(entry)
            .map_err(|e| HostError::new("cannot write a ledger entry").because(e))?;
        text.push('\n');
        // Not synced to a disk: the page cache survives the death of this process, and what would not survive (a power
        // loss, a crash of the kernel) ends processes, cgroups, mounts, links and the run folder on tmpfs as well.
        self.file
            .write_all(text.as_bytes())
            .map_err(|e| HostError::io("write to", &self.path, e))
    }
}
