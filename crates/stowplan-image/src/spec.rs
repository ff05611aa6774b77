//! What goes into an image, and its digest.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::ImageError;

/// Name of the node program at the root of an image.
pub const PROGRAM_NAME: &str = "stowplan-node";

/// Raised whenever the same spec gives other contents, so that older images are not taken for newer ones.
const LAYOUT: u32 = 2;

/// Contents of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// The static node program on the host.
    pub node_program: PathBuf,
    /// Start-up files.
    pub libs: Vec<LibFile>,
}

/// A start-up file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LibFile {
    /// Path below the image's `files/`.
    pub path: String,
    /// Size in bytes. The contents follow from the path alone, so that a file of the same path and size is the
    /// same file in every image.
    pub bytes: u64,
}

impl ImageSpec {
    /// The start-up files by path, each once.
    pub(crate) fn files(&self) -> Result<BTreeMap<&str, u64>, ImageError> {
        let mut files = BTreeMap::new();
        for lib in &self.libs {
            check_path(&lib.path)?;
            if let Some(first) = files.insert(lib.path.as_str(), lib.bytes)
                && first != lib.bytes
            {
                return Err(ImageError::TwoSizes {
                    path: lib.path.clone(),
                    first,
                    second: lib.bytes,
                });
            }
        }
        Ok(files)
    }
}

fn check_path(path: &str) -> Result<(), ImageError> {
    let bad = |reason| {
        Err(ImageError::BadPath {
            path: path.into(),
            reason,
        })
    };
    if path.is_empty() || path.ends_with('/') {
        return bad("names no file");
    }
    if path.contains('\0') {
        return bad("has a NUL");
    }
    if !Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return bad("is not a plain relative path");
    }
    Ok(())
}

/// Digest of an image with this program and these files, in hex.
pub(crate) fn digest(program_sha256: &str, files: &BTreeMap<&str, u64>) -> String {
    let mut hash = Sha256::new();
    hash.update(format!(
        "stowplan-image/{LAYOUT}\nprogram {program_sha256}\n"
    ));
    for (path, bytes) in files {
        // The length keeps a path with a line feed from looking like two files.
        hash.update(format!("file {} {bytes} {path}\n", path.len()));
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(libs: &[(&str, u64)]) -> ImageSpec {
        ImageSpec {
            node_program: "/bin/x".into(),
            libs: libs
                .iter()
                .map(|(path, bytes)| LibFile {
                    path: (*path).into(),
                    bytes: *bytes,
                })
                .collect(),
        }
    }

    #[test]
    fn paths_that_leave_the_image_are_refused() {
        for path in ["", "/abs", "../up", "a/../../b", "a/", "./a", "a\0b"] {
            let error = spec(&[(path, 1)]).files().unwrap_err();
            assert!(
                matches!(error, ImageError::BadPath { .. }),
                "{path:?}: {error}"
            );
        }
        assert!(spec(&[("a/b.so", 1)]).files().is_ok());
    }

    #[test]
    fn one_path_has_one_size() {
        assert_eq!(spec(&[("a", 1), ("a", 1)]).files().unwrap().len(), 1);
        let error = spec(&[("a", 1), ("a", 2)]).files().unwrap_err();
        assert_eq!(
            error.to_string(),
            "start-up file \"a\" has two sizes: 1 and 2 bytes"
        );
    }

    #[test]
    fn the_digest_depends_on_program_paths_and_sizes_but_not_on_order() {
        let one = spec(&[("a", 1), ("b", 2)]);
        let two = spec(&[("b", 2), ("a", 1)]);
        let base = digest("00", &one.files().unwrap());
        assert_eq!(base, digest("00", &two.files().unwrap()));
        assert_ne!(base, digest("01", &one.files().unwrap()));
        assert_ne!(
            base,
            digest("00", &spec(&[("a", 1), ("b", 3)]).files().unwrap())
        );
        assert_ne!(base, digest("00", &spec(&[("a", 1)]).files().unwrap()));
        assert_eq!(base.len(), 64);
    }
}
