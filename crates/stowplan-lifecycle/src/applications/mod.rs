//! Applications: built, changed, created, started and stopped at each place (fernandez2023, Table IV).
//!
//! The compiler and its userland are the same everywhere, the toolbox; what differs is what an engine does with them.

mod build;
mod kinds;
mod life;
mod place;
mod source;

pub use kinds::{Application, NoSuchApplication, Step};
pub(crate) use place::Applications;
