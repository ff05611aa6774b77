//! Folders that were made once and are laid anew for each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::Size;

/// Name of a folder, and its files by their paths in it.
type Kept = (PathBuf, Vec<(PathBuf, Vec<u8>)>);

static KNOWN: Mutex<BTreeMap<(Size, bool), Kept>> = Mutex::new(BTreeMap::new());

/// The experiment of this size under `parent`, which `make` writes the first time.
pub fn lay(parent: &Path, key: (Size, bool), make: impl FnOnce(&Path) -> PathBuf) -> PathBuf {
    let mut known = KNOWN.lock().unwrap();
    let (name, files) = known.entry(key).or_insert_with(|| {
        let folder = super::folder();
        let made = make(folder.path());
        let mut files = Vec::new();
        read(&made, &made, &mut files);
        (made.file_name().unwrap().into(), files)
    });
    let dir = parent.join(name);
    for (path, bytes) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

fn read(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_owned();
            files.push((name, fs::read(&path).unwrap()));
        }
    }
}
