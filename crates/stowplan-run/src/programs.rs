//! Where the static programs and the images are.

use std::path::PathBuf;

/// Where the static programs and the images are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `stowplan-node`.
    pub node: PathBuf,
    /// `stowplan-agent`.
    pub agent: PathBuf,
    /// Store of images.
    pub image_store: PathBuf,
}
