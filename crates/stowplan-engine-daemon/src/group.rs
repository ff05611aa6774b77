//! The control group of all containers of a run, which a daemon makes when it is told to, and does not remove.

use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_host::Host;
use stowplan_host::cgroup::{remove_tree, run_folder, top_folders};
use stowplan_host::ledger::Object;

/// The group `/stowplan-RUN` in every hierarchy.
#[derive(Debug)]
pub struct RunGroup {
    parent: String,
    folders: Vec<PathBuf>,
}

impl RunGroup {
    /// Enters that of `run` in the ledger.
    ///
    /// # Errors
    /// When the hierarchies or the ledger cannot be read or written.
    pub fn enter(host: &dyn Host, run: &str) -> Result<Self, EngineError> {
        let name = run_folder(run);
        let folders = top_folders(&name)?;
        for folder in &folders {
            host.enter(&entry(folder))?;
        }
        Ok(Self {
            parent: format!("/{name}"),
            folders,
        })
    }

    /// What a daemon is told.
    #[must_use]
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Removes it with what is left in it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError> {
        for folder in std::mem::take(&mut self.folders) {
            remove_tree(&folder)?;
            host.gone(&entry(&folder));
        }
        Ok(())
    }
}

fn entry(folder: &Path) -> Object {
    Object::Cgroup {
        path: folder.display().to_string(),
    }
}
