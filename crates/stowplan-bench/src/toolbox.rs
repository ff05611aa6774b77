//! The toolbox: one Debian userland with the papers' tools, the same file tree under every engine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use stowplan_host::digest::sha256_of;

/// Packages that it has beside the smallest Debian.
const PACKAGES: [&str; 14] = [
    "sysbench",
    "dbench",
    "bonnie++",
    "iperf3",
    "cyclonedds-tools",
    // What a kernel is compiled from, and with.
    "linux-source",
    "xz-utils",
    "gcc",
    "libc6-dev",
    "libelf-dev",
    "make",
    "flex",
    "bison",
    "bc",
];

/// Unpacks the source of the kernel. What `tinyconfig` never compiles stays away: engines that import the tree copy it.
const UNPACK: &str = r#"chroot "$1" sh -c '
set -e
cd /usr/src
set -- --exclude="*/Documentation/*/*" --exclude="*/tools/testing/*" --exclude="*/sound/*.[ch]"
for part in gpu net media staging scsi infiniband usb iio video; do
  set -- "$@" --exclude="*/drivers/$part/*.[ch]"
done
for part in alpha arc arm csky hexagon ia64 loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh sparc xtensa; do
  set -- "$@" --exclude="*/arch/$part/*.[chS]" --exclude="*/arch/$part/*.dts*"
done
tar -xJf linux-source-*.tar.xz "$@"
rm linux-source-*.tar.xz
'"#;

/// File that says what a toolbox is; without it there is none.
const FILE: &str = "toolbox.json";

/// What is asked of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolboxSpec {
    /// Debian's release.
    pub suite: String,
    /// Mirror; none for the machine's own sources.
    pub mirror: Option<String>,
}

/// A toolbox that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolbox {
    /// Digest of the packages with their versions.
    pub digest: String,
    /// Debian's release.
    pub suite: String,
    /// Packages that were asked for.
    pub asked: Vec<String>,
    /// Every package with its version and architecture.
    pub packages: Vec<String>,
    /// Its folder.
    #[serde(skip)]
    pub dir: PathBuf,
}

/// Why there is no toolbox.
#[derive(Debug)]
pub struct ToolboxError {
    /// What failed, and why.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

impl std::fmt::Display for ToolboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolboxError {}

impl ToolboxError {
    fn io(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("cannot {what} {}", path.display());
        move |error| Self {
            message: format!("{what}: {error}"),
            hint: None,
        }
    }
}

impl Toolbox {
    /// The root file system.
    #[must_use]
    pub fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// Where the folders are made that its tools write into.
    #[must_use]
    pub(crate) fn volumes(&self) -> PathBuf {
        self.dir.join("volumes")
    }

    /// The one that was built last in this store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find(store: &Path) -> Result<Option<Self>, ToolboxError> {
        let dir = store.join("toolbox/current");
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(ToolboxError::io("read", &path))?,
        };
        let mut toolbox: Self = serde_json::from_str(&text)
            .map_err(|error| ToolboxError::io("read", &path)(error.into()))?;
        toolbox.dir = dir.canonicalize().map_err(ToolboxError::io("read", &dir))?;
        Ok(Some(toolbox))
    }

    /// The same, where there has to be one.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn require(store: &Path) -> Result<Self, ToolboxError> {
        Self::find(store)?.ok_or_else(|| ToolboxError {
            message: "there is no toolbox".to_owned(),
            hint: Some("make one with 'stowplan bench toolbox build'".to_owned()),
        })
    }
}

/// Builds a toolbox in a store. It appears by one rename, so that a build that was ended leaves nothing that counts.
///
/// # Errors
/// When `mmdebstrap` is not there or fails, or the store cannot be written.
pub fn build(store: &Path, spec: &ToolboxSpec) -> Result<Toolbox, ToolboxError> {
    let base = store.join("toolbox");
    fs::create_dir_all(&base).map_err(ToolboxError::io("create", &base))?;
    let path = base.join("lock");
    let lock = File::create(&path).map_err(ToolboxError::io("open", &path))?;
    lock.lock().map_err(ToolboxError::io("lock", &path))?;
    let building = base.join("building");
    remove(&building)?;
    fs::create_dir(&building).map_err(ToolboxError::io("create", &building))?;
    let built = built(&base, &building, spec);
    remove(&building)?;
    built
}

fn remove(folder: &Path) -> Result<(), ToolboxError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ToolboxError::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

fn built(base: &Path, building: &Path, spec: &ToolboxSpec) -> Result<Toolbox, ToolboxError> {
    let asked: Vec<String> = PACKAGES.map(str::to_owned).into();
    let tree = building.join("tree");
    debootstrap(&tree, spec, &asked)?;
    let path = tree.join("var/lib/dpkg/status");
    let status = fs::read_to_string(&path).map_err(ToolboxError::io("read", &path))?;
    let packages = packages(&status);
    let named = format!("stowplan-toolbox/2\n{}\n", packages.join("\n"));
    let digest = sha256_of(named.as_bytes()).map_err(ToolboxError::io("read", &path))?;
    let mut toolbox = Toolbox {
        dir: base.join(&digest),
        digest,
        suite: spec.suite.clone(),
        asked,
        packages,
    };
    let path = building.join(FILE);
    let text = serde_json::to_string_pretty(&toolbox).unwrap_or_default();
    fs::write(&path, text).map_err(ToolboxError::io("write", &path))?;
    if !toolbox.dir.join(FILE).is_file() {
        fs::rename(building, &toolbox.dir).map_err(ToolboxError::io("create", &toolbox.dir))?;
    }
    let fresh = base.join("current.new");
    let _ = fs::remove_file(&fresh);
    let current = base.join("current");
    std::os::unix::fs::symlink(&toolbox.digest, &fresh)
        .and_then(|()| fs::rename(&fresh, &current))
        .map_err(ToolboxError::io("create", &current))?;
    toolbox.dir = toolbox.dir.canonicalize().unwrap_or(toolbox.dir);
    Ok(toolbox)
}

fn debootstrap(tree: &Path, spec: &ToolboxSpec, asked: &[String]) -> Result<(), ToolboxError> {
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--quiet", "--variant=minbase"])
        .arg(format!("--include={}", asked.join(",")))
        .arg(format!("--customize-hook={UNPACK}"))
        .arg(&spec.suite)
        .arg(tree)
        .args(&spec.mirror);
    let ended = command.output().map_err(|error| ToolboxError {
        message: format!("cannot start mmdebstrap: {error}"),
        hint: Some("install it: apt-get install mmdebstrap".to_owned()),
    })?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let said: Vec<&str> = said.lines().rev().take(3).collect();
    Err(ToolboxError {
        message: format!(
            "mmdebstrap could not make a Debian '{}': {}",
            spec.suite,
            said.into_iter().rev().collect::<Vec<_>>().join("; ")
        ),
        hint: Some(
            "check the machine's package sources, or name a mirror with --mirror".to_owned(),
        ),
    })
}

/// `NAME VERSION ARCHITECTURE` of every package in dpkg's status, in order.
fn packages(status: &str) -> Vec<String> {
    let field = |paragraph: &str, name: &str| -> Option<String> {
        let mut lines = paragraph.lines();
        lines.find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(": ")
                .map(str::to_owned)
        })
    };
    let mut all: Vec<String> = status
        .split("\n\n")
        .filter_map(|paragraph| {
            let (name, version) = (field(paragraph, "Package")?, field(paragraph, "Version")?);
            let architecture = field(paragraph, "Architecture")?;
            Some(format!("{name} {version} {architecture}"))
        })
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_their_versions() {
        let status = "Package: b\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2-1\n\n\
                      Package: a\nVersion: 1\nArchitecture: all\nDescription: x\n";
        assert_eq!(packages(status), ["a 1 all", "b 2-1 amd64"]);
    }

    #[test]
    fn a_store_without_a_toolbox_has_none_and_one_that_was_cut_does_not_count() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(Toolbox::find(store.path()).unwrap(), None);
        fs::create_dir_all(store.path().join("toolbox/building/tree/usr")).unwrap();
        assert_eq!(Toolbox::find(store.path()).unwrap(), None);
    }
}
