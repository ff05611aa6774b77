//! One layer of an archive: files of a folder as a tar archive, the same bytes each time.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::is_below;

/// Folders that a container mounts something on.
const MOUNT_POINTS: [&str; 4] = ["proc", "sys", "dev", "tmp"];

/// Files of one layer.
#[derive(Debug)]
pub(super) struct Layer {
    /// The folder that they are in, or the one file.
    path: PathBuf,
    which: Which,
    /// Times are those of the files; otherwise zero, so that a folder made again gives the same layer.
    times: bool,
}

#[derive(Debug)]
enum Which {
    All,
    Below(&'static [&'static str]),
    NotBelow(&'static [&'static str]),
    /// The path is a program, which gets this name.
    Named(String),
}

/// Size and digest of what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl Layer {
    pub(super) fn image_without_files(dir: &Path) -> Self {
        Self::new(dir, Which::NotBelow(&["files"]), false)
    }

    pub(super) fn files_of_image(dir: &Path) -> Self {
        Self::new(dir, Which::Below(&["files"]), false)
    }

    pub(super) fn root(dir: &Path) -> Self {
        Self::new(dir, Which::All, true)
    }

    pub(super) fn program(from: &Path, name: &str) -> Self {
        Self::new(from, Which::Named(name.to_owned()), false)
    }

    fn new(path: &Path, which: Which, times: bool) -> Self {
        Self {
            path: path.to_owned(),
            which,
            times,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What [`Layer::write`] will write.
    pub(super) fn measure(&self) -> io::Result<Size> {
        let mut measured = Measured::around(io::sink());
        self.write(&mut measured)?;
        Ok(measured.finish())
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut tar = Builder::new(out);
        self.append(Path::new(""), &mut tar)?;
        tar.into_inner().map(drop)
    }

    /// Adds its files to an archive, in the folder `below`.
    pub(super) fn append<W: Write>(&self, below: &Path, tar: &mut Builder<W>) -> io::Result<()> {
        let mut writer = Writer {
            tar,
            times: self.times,
            first_names: HashMap::new(),
        };
        for (name, path) in self.files()? {
            writer.add(&below.join(name), &path)?;
        }
        if let Which::Named(_) = self.which {
            for name in MOUNT_POINTS {
                writer.folder(&below.join(name))?;
            }
        }
        Ok(())
    }

    pub(super) fn fingerprint(&self, hash: &mut Sha256) -> io::Result<()> {
        for (name, path) in self.files()? {
            let found = fs::symlink_metadata(&path)?;
            hash.update(name.as_os_str().as_bytes());
            let numbers = [
                u64::from(found.mode()),
                u64::from(found.uid()),
                u64::from(found.gid()),
                found.size(),
                found.ino(),
                found.mtime().unsigned_abs(),
                found.mtime_nsec().unsigned_abs(),
            ];
            hash.update(format!("\0{numbers:?}\n"));
        }
        Ok(())
    }

    /// The files of the layer, parents first: name in the layer and path here.
    fn files(&self) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        if let Which::Named(name) = &self.which {
            return Ok(vec![(PathBuf::from(name), self.path.clone())]);
        }
        let mut files = Vec::new();
        walk(&self.path, Path::new(""), &mut files)?;
        files.retain(|(name, _)| match &self.which {
            Which::Below(folders) => is_below(name, folders),
            Which::NotBelow(folders) => !is_below(name, folders),
            Which::All | Which::Named(_) => true,
        });
        Ok(files)
    }
}

fn walk(root: &Path, below: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    let folder = root.join(below);
    let mut names: Vec<_> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<_>>()
        .map_err(|e| about(&folder, &e))?;
    names.sort();
    for name in names {
        let (name, path) = (below.join(&name), folder.join(&name));
        let kind = fs::symlink_metadata(&path)
            .map_err(|e| about(&path, &e))?
            .file_type();
        if kind.is_socket() {
            continue;
        }
        files.push((name.clone(), path));
        if kind.is_dir() {
            walk(root, &name, files)?;
        }
    }
    Ok(())
}

/// The error with the file that it is about.
fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

struct Writer<'a, W: Write> {
    tar: &'a mut Builder<W>,
    times: bool,
    /// Files with several names, by device and inode: further names become links.
    first_names: HashMap<(u64, u64), PathBuf>,
}

impl<W: Write> Writer<'_, W> {
    fn add(&mut self, name: &Path, path: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(path).map_err(|e| about(path, &e))?;
        self.put(name, path, &found).map_err(|e| about(path, &e))
    }

    fn put(&mut self, name: &Path, path: &Path, found: &Metadata) -> io::Result<()> {
        let mut header = self.header(found);
        let kind = found.file_type();
        if kind.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            return self
                .tar
                .append_link(&mut header, name, fs::read_link(path)?);
        }
        if kind.is_dir() {
            header.set_entry_type(EntryType::Directory);
            return self.tar.append_data(&mut header, name, io::empty());
        }
        if !kind.is_file() {
            header.set_entry_type(special(found));
            header.set_device_major(major(found.rdev()))?;
            header.set_device_minor(minor(found.rdev()))?;
            return self.tar.append_data(&mut header, name, io::empty());
        }
        if found.nlink() > 1 {
            let inode = (found.dev(), found.ino());
            if let Some(first) = self.first_names.get(&inode) {
                header.set_entry_type(EntryType::Link);
                return self.tar.append_link(&mut header, name, first);
            }
            self.first_names.insert(inode, name.to_owned());
        }
        header.set_entry_type(EntryType::Regular);
        header.set_size(found.len());
        self.tar.append_data(&mut header, name, File::open(path)?)
    }

    fn header(&self, found: &Metadata) -> Header {
        let mut header = Header::new_gnu();
        header.set_mode(found.mode() & 0o7777);
        header.set_uid(u64::from(found.uid()));
        header.set_gid(u64::from(found.gid()));
        header.set_size(0);
        header.set_mtime(if self.times {
            found.mtime().unsigned_abs()
        } else {
            0
        });
        header
    }

    /// An empty folder.
    fn folder(&mut self, name: &Path) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        header.set_mtime(0);
        self.tar.append_data(&mut header, name, io::empty())
    }
}

fn special(found: &Metadata) -> EntryType {
    let kind = found.file_type();
    if kind.is_fifo() {
        EntryType::Fifo
    } else if kind.is_block_device() {
        EntryType::Block
    } else {
        EntryType::Char
    }
}

/// The numbers of a device as glibc splits them, makedev(3).
fn major(device: u64) -> u32 {
    u32::try_from((device >> 32 & 0xffff_f000) | (device >> 8 & 0xfff)).unwrap_or(0)
}

fn minor(device: u64) -> u32 {
    u32::try_from((device >> 12 & 0xffff_ff00) | (device & 0xff)).unwrap_or(0)
}

/// Passes on what is written and measures it.
pub(super) struct Measured<W> {
    out: W,
    bytes: u64,
    hash: Sha256,
}

impl<W: Write> Measured<W> {
    pub(super) fn around(out: W) -> Self {
        Self {
            out,
            bytes: 0,
            hash: Sha256::new(),
        }
    }

    pub(super) fn finish(self) -> Size {
        Size {
            bytes: self.bytes,
            sha256: hex::encode(self.hash.finalize()),
        }
    }
}

impl<W: Write> Write for Measured<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let written = self.out.write(part)?;
        self.hash.update(&part[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
