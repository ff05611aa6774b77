//! The toolbox: one Debian userland with the papers' tools, the same file tree under every engine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

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

/// What a toolbox is made like, beside its packages; it counts up when that changes.
const FORMAT: &str = "stowplan-toolbox/2";

/// File that says what a toolbox is; without it there is none.
const FILE: &str = "toolbox.json";

/// What is asked of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolboxSpec {
    /// Debian's release.
    pub suite: String,
    /// Mirror; none for the machine's own sources.
    pub mirror: Option<String>,
    /// To make it from the packages that Debian has now, even where there is one of the same recipe.
    pub update: bool,
}

impl ToolboxSpec {
    /// Digest of everything that a toolbox is made from, but for the versions of its packages.
    fn recipe(&self) -> String {
        let mirror = self.mirror.as_deref().unwrap_or("");
        let packages = PACKAGES.join(" ");
        let text = format!("{FORMAT}\n{}\n{mirror}\n{packages}\n{UNPACK}", self.suite);
        hex::encode(Sha256::digest(text))
    }
}

/// A toolbox that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolbox {
    /// Digest of the packages with their versions.
    pub digest: String,
    /// Digest of what it was made from; empty where an older Stowplan made it.
    #[serde(default)]
    pub recipe: String,
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
        toolbox.is_whole()?;
        Ok(Some(toolbox))
    }

    /// Whether its tree has the packages that its digest is of.
    fn is_whole(&self) -> Result<(), ToolboxError> {
        if digest_of(&packages_in(&self.tree())?) == self.digest {
            return Ok(());
        }
        Err(ToolboxError {
            message: format!(
                "the toolbox in {} has other packages than its digest says",
                self.dir.display()
            ),
            hint: Some("make it anew with 'stowplan bench toolbox build --update'".to_owned()),
        })
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

/// Builds a toolbox in a store, unless there is one of the same recipe. It appears by one rename, so that a build that was ended
/// leaves nothing that counts.
///
/// # Errors
/// When `mmdebstrap` is not there or fails, or the store cannot be written.
pub fn build(store: &Path, spec: &ToolboxSpec) -> Result<Toolbox, ToolboxError> {
    let base = store.join("toolbox");
    fs::create_dir_all(&base).map_err(ToolboxError::io("create", &base))?;
    let path = base.join("lock");
    let lock = File::create(&path).map_err(ToolboxError::io("open", &path))?;
    lock.lock().map_err(ToolboxError::io("lock", &path))?;
    let recipe = spec.recipe();
    if !spec.update
        && let Some(there) = Toolbox::find(store)?
        && there.recipe == recipe
    {
        return Ok(there);
    }
    let building = base.join("building");
    remove(&building)?;
    fs::create_dir(&building).map_err(ToolboxError::io("create", &building))?;
    let built = built(&base, &building, spec, recipe);
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

fn built(
    base: &Path,
    building: &Path,
    spec: &ToolboxSpec,
    recipe: String,
) -> Result<Toolbox, ToolboxError> {
    let asked: Vec<String> = PACKAGES.map(str::to_owned).into();
    let tree = building.join("tree");
    debootstrap(&tree, spec, &asked)?;
    let packages = packages_in(&tree)?;
    let digest = digest_of(&packages);
    let mut toolbox = Toolbox {
        dir: base.join(&digest),
        digest,
        recipe,
        suite: spec.suite.clone(),
        asked,
        packages,
    };
    let path = building.join(FILE);
    let text = serde_json::to_string_pretty(&toolbox).unwrap_or_default();
    fs::write(&path, text).map_err(ToolboxError::io("write", &path))?;
    // Engines have imported the tree of this digest, where it is there and whole.
    if toolbox.is_whole().is_ok() {
        let to = toolbox.dir.join(FILE);
        fs::rename(&path, &to).map_err(ToolboxError::io("write", &to))?;
    } else {
        remove(&toolbox.dir)?;
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

/// Digest of packages with their versions, as [`Toolbox::packages`] has them.
#[must_use]
pub fn digest_of(packages: &[String]) -> String {
    let named = format!("{FORMAT}\n{}\n", packages.join("\n"));
    hex::encode(Sha256::digest(named))
}

/// Those of a root file system.
fn packages_in(tree: &Path) -> Result<Vec<String>, ToolboxError> {
    let path = tree.join("var/lib/dpkg/status");
    let status = fs::read_to_string(&path).map_err(ToolboxError::io("read", &path))?;
    Ok(packages(&status))
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

    const STATUS: &str = "Package: a\nVersion: 1\nArchitecture: all\n";

    /// One that nobody built, of this spec.
    fn laid(store: &Path, spec: &ToolboxSpec) -> Toolbox {
        let packages = packages(STATUS);
        let dir = store.join("toolbox/current");
        let toolbox = Toolbox {
            digest: digest_of(&packages),
            recipe: spec.recipe(),
            suite: spec.suite.clone(),
            asked: vec!["a".to_owned()],
            packages,
            dir: dir.clone(),
        };
        fs::create_dir_all(dir.join("tree/var/lib/dpkg")).unwrap();
        fs::write(dir.join("tree/var/lib/dpkg/status"), STATUS).unwrap();
        let text = serde_json::to_string(&toolbox).unwrap();
        fs::write(dir.join(FILE), text).unwrap();
        toolbox
    }

    /// Of a mirror that has nothing.
    fn spec(suite: &str, update: bool) -> ToolboxSpec {
        ToolboxSpec {
            suite: suite.to_owned(),
            mirror: Some("file:///nowhere".to_owned()),
            update,
        }
    }

    #[test]
    fn one_of_the_same_recipe_is_not_built_again() {
        let store = tempfile::tempdir().unwrap();
        let there = laid(store.path(), &spec("bookworm", false));
        let found = build(store.path(), &spec("bookworm", false)).unwrap();
        assert_eq!(found.digest, there.digest);
        // There is nothing to make another one of, and the one that is there stays.
        build(store.path(), &spec("trixie", false)).unwrap_err();
        build(store.path(), &spec("bookworm", true)).unwrap_err();
        let found = Toolbox::find(store.path()).unwrap();
        assert_eq!(found.unwrap().digest, there.digest);
    }

    #[test]
    fn one_with_other_packages_than_its_digest_says_is_refused() {
        let store = tempfile::tempdir().unwrap();
        let there = laid(store.path(), &spec("s", false));
        let status = STATUS.replace("Version: 1", "Version: 2");
        fs::write(there.tree().join("var/lib/dpkg/status"), status).unwrap();
        let error = Toolbox::find(store.path()).unwrap_err();
        let why = "has other packages than its digest says";
        assert!(error.message.ends_with(why), "{error}");
        assert!(error.hint.unwrap().contains("--update"));
    }
}
