//! A runtime that speaks the Kubernetes Container Runtime Interface (CRI v1) on its socket: the connection, how it is set up, and
//! its store of images, into which images are written that nobody has to pull.

#[expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    unused_qualifications,
    reason = "written by `cargo proto` from the descriptions in `proto/`"
)]
pub mod api;
mod client;
mod crio;
mod endpoint;
mod folders;
mod images;
mod logs;
mod runtime;
mod settings;

pub use client::{Client, below, inside, insist, is_absent, patient, request};
pub use crio::runtime_of;
pub use endpoint::Endpoint;
pub use folders::image_folders;
pub use images::{
    Store, image_digests, image_settings, is_made_as, named, provide_pause, remove_pulled,
};
pub use logs::last as last_of_log;
pub use runtime::Runtime;
pub use settings::Handler;
