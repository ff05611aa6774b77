//! Root file systems for services.
//!
//! An *image* is a folder that holds the static node program, the start-up files of the stack and the
//! mount points that a container needs:
//!
//! ```text
//! STORE/images/DIGEST/
//!   stowplan-node      the program, one inode in every image that has the same one
//!   files/…            start-up files (docs/measuring.md §1, "Start-up cost of a node")
//!   etc/  proc/  sys/  dev/  tmp/
//! ```
//!
//! Beside them, roots of real programs are unpacked from OCI images into `STORE/roots/DIGEST/`. Engines with an
//! image store of their own get either as an archive ([`write_archive`], [`write_unified_archive`]).
//!
//! Images are addressed by the digest of everything in them, so an image that exists is complete and never
//! changes. Files that images share are hard links to one inode: a page that one service has read is warm
//! for another, as it is between the layers of a container image.

mod archive;
mod build;
mod elf;
mod error;
mod filler;
mod layer;
mod oci;
mod spec;
mod store;
mod unpack;

pub use archive::{Blob, Contents, Settings, blobs, write_archive, write_unified_archive};
pub use build::{Image, build, lay_root};
pub use elf::require_static;
pub use error::ImageError;
pub use oci::RootConfig;
pub use spec::{ImageSpec, LibFile, PROGRAM_NAME};
pub use store::default_store;
pub use unpack::{Root, unpack};
