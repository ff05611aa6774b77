//! Building an image: in a folder that does not count, then one rename.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::spec::digest;
use crate::{ImageError, ImageSpec, PROGRAM_NAME, filler, require_static};

/// Mount points and folders that every image has. `dev/shm` is there for roots that are used without a `/dev` of
/// their own, `usr` for programs that take a folder for a root file system by it.
const FOLDERS: [&str; 7] = ["proc", "sys", "dev/shm", "tmp", "etc", "usr", "files"];

/// Enough of `/etc` for a program that asks who and where it is.
const ETC: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0:root:/:/stowplan-node\n"),
    ("etc/group", "root:x:0:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
];

/// Makes a root for a static program in a folder: mount points, and enough of `/etc`.
///
/// # Errors
/// When something cannot be written.
pub fn lay_root(root: &Path) -> io::Result<()> {
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder))?;
    }
    for (path, text) in ETC {
        fs::write(root.join(path), text)?;
    }
    Ok(())
}

/// A complete image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its folder.
    pub dir: PathBuf,
    /// Digest of everything in it, in hex.
    pub digest: String,
    /// SHA-256 of the node program, in hex.
    pub program_sha256: String,
    /// Size of the node program and the start-up files in bytes.
    pub bytes: u64,
    /// Whether it existed before.
    pub reused: bool,
}

impl Image {
    /// The node program in the image.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.dir.join(PROGRAM_NAME)
    }

    /// The folder of the start-up files.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.dir.join("files")
    }
}

/// Builds the image of `spec` in `store`, or finds it there.
///
/// An image appears by one rename, so a build that is killed leaves nothing that counts as an image; what it does
/// leave is removed by the next build. Builds in one store wait for each other.
///
/// # Errors
/// When the node program is missing or not static, a path is not usable, or the store cannot be written.
pub fn build(spec: &ImageSpec, store: &Path) -> Result<Image, ImageError> {
    let files = spec.files()?;
    require_static(&spec.node_program)?;
    let program =
        fs::read(&spec.node_program).map_err(ImageError::io("read", &spec.node_program))?;
    let program_sha256 = hex::encode(Sha256::digest(&program));
    let digest = digest(&program_sha256, &files);
    let dir = store.join("images").join(&digest);
    let mut image = Image {
        bytes: program.len() as u64 + files.values().sum::<u64>(),
        dir,
        digest,
        program_sha256,
        reused: true,
    };
    if image.dir.is_dir() {
        return Ok(image);
    }
    let _lock = lock(store)?;
    // Another build may have made it while this one waited.
    if !image.dir.is_dir() {
        image.reused = false;
        Builder::new(store)?.build(&image, &program, &files)?;
    }
    Ok(image)
}

/// Held while a build writes into the store; given back by the kernel when its holder dies.
pub(crate) fn lock(store: &Path) -> Result<File, ImageError> {
    for folder in ["images", "pool"] {
        let path = store.join(folder);
        fs::create_dir_all(&path).map_err(ImageError::io("create", &path))?;
    }
    let path = store.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(ImageError::io("open", &path))?;
    file.lock().map_err(ImageError::io("lock", &path))?;
    Ok(file)
}

/// A new folder to build in. The store's lock is held: one that exists was left by a build that was killed.
pub(crate) fn temporary(store: &Path) -> Result<PathBuf, ImageError> {
    let temporary = store.join("building");
    match fs::remove_dir_all(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(ImageError::io("remove", &temporary)(error));
        }
        _ => {}
    }
    fs::create_dir(&temporary).map_err(ImageError::io("create", &temporary))?;
    Ok(temporary)
}

struct Builder {
    pool: PathBuf,
    temporary: PathBuf,
}

impl Builder {
    fn new(store: &Path) -> Result<Self, ImageError> {
        Ok(Self {
            pool: store.join("pool"),
            temporary: temporary(store)?,
        })
    }

    fn build(
        &self,
        image: &Image,
        program: &[u8],
        files: &BTreeMap<&str, u64>,
    ) -> Result<(), ImageError> {
        let root = self.temporary.join("root");
        lay_root(&root).map_err(ImageError::io("create", &root))?;
        self.place(
            &image.program_sha256,
            0o755,
            &root.join(PROGRAM_NAME),
            |out| out.write_all(program),
        )?;
        for (path, bytes) in files {
            let name = hex::encode(Sha256::digest(format!("{bytes} {path}")));
            self.place(&name, 0o644, &root.join("files").join(path), |out| {
                filler::write(out, path, *bytes)
            })?;
        }
        fs::rename(&root, &image.dir).map_err(ImageError::io("create", &image.dir))?;
        let _ = fs::remove_dir_all(&self.temporary);
        Ok(())
    }

    /// Links `target` to the pool's file `name`, which is written first where it does not exist.
    fn place(
        &self,
        name: &str,
        mode: u32,
        target: &Path,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), ImageError> {
        let pooled = self.pool.join(name);
        if !pooled.is_file() {
            let fresh = self.temporary.join("file");
            write_file(&fresh, mode, fill).map_err(ImageError::io("write", &fresh))?;
            fs::rename(&fresh, &pooled).map_err(ImageError::io("create", &pooled))?;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(ImageError::io("create", parent))?;
        }
        fs::hard_link(&pooled, target).map_err(ImageError::io("link", target))
    }
}

/// Writes a whole file and makes it lasting, so that a rename never shows one with a hole.
fn write_file(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, File::create(path)?);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::LibFile;

    fn lib(path: &str, bytes: u64) -> LibFile {
        LibFile {
            path: path.into(),
            bytes,
        }
    }

    fn spec(folder: &Path, libs: Vec<LibFile>) -> ImageSpec {
        let node_program = folder.join("node");
        fs::write(&node_program, crate::elf::sample(1, b"static")).unwrap();
        ImageSpec { node_program, libs }
    }

    #[test]
    fn an_image_has_the_program_the_files_and_mount_points() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let spec = spec(folder.path(), vec![lib("perception/a.so", 100_000)]);
        let image = build(&spec, &store).unwrap();
        assert!(!image.reused);
        assert_eq!(
            fs::read(image.program()).unwrap(),
            fs::read(&spec.node_program).unwrap()
        );
        let mode = fs::metadata(image.program()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let file = fs::metadata(image.files().join("perception/a.so")).unwrap();
        assert_eq!(file.len(), 100_000);
        assert!(file.blocks() * 512 >= 100_000, "sparse: {}", file.blocks());
        for folder in FOLDERS {
            assert!(image.dir.join(folder).is_dir(), "{folder}");
        }
        assert_eq!(
            image.bytes,
            100_000 + fs::metadata(image.program()).unwrap().len()
        );
        assert!(!store.join("building").exists());
    }

    #[test]
    fn an_image_is_built_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let spec = spec(folder.path(), vec![lib("a", 10)]);
        let first = build(&spec, &store).unwrap();
        let inode = fs::metadata(first.files().join("a")).unwrap().ino();
        let second = build(&spec, &store).unwrap();
        assert!(second.reused);
        assert_eq!(first.dir, second.dir);
        assert_eq!(fs::metadata(second.files().join("a")).unwrap().ino(), inode);
    }

    #[test]
    fn images_share_the_inodes_of_equal_files() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let one = build(
            &spec(folder.path(), vec![lib("a", 10), lib("b", 20)]),
            &store,
        )
        .unwrap();
        let two = build(
            &spec(folder.path(), vec![lib("a", 10), lib("b", 21)]),
            &store,
        )
        .unwrap();
        assert_ne!(one.digest, two.digest);
        let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(one.files().join("a")), inode(two.files().join("a")));
        assert_ne!(inode(one.files().join("b")), inode(two.files().join("b")));
        assert_eq!(inode(one.program()), inode(two.program()));
    }

    #[test]
    fn what_a_killed_build_left_does_not_count_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let left = store.join("building/root/files");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("a"), "half").unwrap();
        fs::write(store.join("building/file"), "half").unwrap();
        let image = build(&spec(folder.path(), vec![lib("a", 10)]), &store).unwrap();
        assert_eq!(fs::metadata(image.files().join("a")).unwrap().len(), 10);
        assert!(!store.join("building").exists());
    }

    #[test]
    fn concurrent_builds_end_with_one_image() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let spec = spec(folder.path(), vec![lib("a", 300_000)]);
        let images: Vec<Image> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| build(&spec, &store).unwrap()))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(images.iter().filter(|image| !image.reused).count(), 1);
        assert_eq!(fs::read_dir(store.join("images")).unwrap().count(), 1);
    }

    #[test]
    fn a_store_that_is_a_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        fs::write(&store, "").unwrap();
        let error = build(&spec(folder.path(), vec![]), &store).unwrap_err();
        assert!(error.to_string().contains("store"), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let spec = ImageSpec {
            node_program: folder.path().join("absent"),
            libs: vec![],
        };
        let error = build(&spec, folder.path()).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }
}
