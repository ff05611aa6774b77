//! Hierarchies that have no controller of ours, as `pids`, `devices` or `name=systemd`: tools that make containers
//! make groups in them as well, and those have to go with the run.

use std::fs;
use std::path::{Path, PathBuf};

use super::detect::{MOUNTINFO, OWN_GROUPS, other_folders};
use super::group::make;
use super::remove::remove_tree;
use super::run_folder;
use crate::{Host, HostError};

/// The folders of one run or service in the hierarchies that no [`super::Group`] has; none on cgroup v2 alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherGroups(Vec<PathBuf>);

impl OtherGroups {
    /// Makes the folder of a run in each of them; every folder is entered in the ledger first.
    ///
    /// # Errors
    /// When /proc cannot be read or a folder cannot be made.
    pub fn make_run(host: &dyn Host, run: &str) -> Result<Self, HostError> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|e| HostError::io("read", Path::new(path), e))
        };
        let own = other_folders(&read(MOUNTINFO)?, &read(OWN_GROUPS)?, Path::new("/"));
        Self(own).make_child(host, &run_folder(run))
    }

    /// Makes a folder below each of these.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn make_child(&self, host: &dyn Host, name: &str) -> Result<Self, HostError> {
        let made = self.0.iter().map(|parent| {
            let path = parent.join(name);
            make(host, &path).map(|()| path)
        });
        made.collect::<Result<_, _>>().map(Self)
    }

    /// The folders.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Kills what is in them and removes them. Removing what is gone is no error.
    ///
    /// # Errors
    /// When a folder cannot be removed; the others are removed nevertheless.
    pub fn remove(&self) -> Result<(), HostError> {
        let removed = self.0.iter().map(|path| remove_tree(path).map(drop));
        removed.fold(Ok(()), Result::and)
    }
}
