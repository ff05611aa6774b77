//! What can go wrong with an image.

use std::io;
use std::path::{Path, PathBuf};

/// Why an image could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A file operation failed.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried, as `read` or `create`.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The node program is not an executable of this kind of machine.
    #[error("{} is not a 64-bit ELF program: {reason}", path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The node program needs a dynamic loader, which an image does not have.
    #[error("{} needs the dynamic loader {loader}", path.display())]
    Dynamic {
        /// The file.
        path: PathBuf,
        /// The loader that it asks for.
        loader: String,
    },
    /// Not an OCI image, or not the one that it says.
    #[error("{} is not an OCI image that can be used: {reason}", path.display())]
    Layout {
        /// The folder or archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A layer of an OCI image cannot be unpacked.
    #[error("cannot unpack layer {layer} of {}", path.display())]
    Layer {
        /// The folder or archive of the image.
        path: PathBuf,
        /// Digest of the layer.
        layer: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A start-up file's path would leave the image or is empty.
    #[error("start-up file {path:?}: {reason}")]
    BadPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// One path with two sizes.
    #[error("start-up file {path:?} has two sizes: {first} and {second} bytes")]
    TwoSizes {
        /// The path.
        path: String,
        /// The size given first.
        first: u64,
        /// The other one.
        second: u64,
    },
}

impl ImageError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Dynamic { .. } | Self::NotAProgram { .. } => Some(
                "build the static program with `cargo xtask node`, or point STOWPLAN_NODE at one"
                    .into(),
            ),
            Self::Layout { .. } => Some(
                "an image is a folder or a tar archive in the OCI image layout, as `podman save --format oci-archive` \
                 or `skopeo copy IMAGE oci-archive:FILE` make it"
                    .into(),
            ),
            Self::Layer { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free space, or set XDG_CACHE_HOME to a folder with more of it".into())
            }
            Self::Layer { .. } => None,
            Self::Io { source, path, .. } => match source.kind() {
                io::ErrorKind::StorageFull => Some(format!(
                    "free space on the file system of {}",
                    path.display()
                )),
                io::ErrorKind::PermissionDenied => {
                    Some("set XDG_CACHE_HOME to a folder that you may write".into())
                }
                _ => None,
            },
            Self::BadPath { .. } => Some(
                "give a path below the image's files/ folder, as `perception/libfoo.so`".into(),
            ),
            Self::TwoSizes { .. } => Some("give the groups different names, or one size".into()),
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }
}
