//! The embedded OCI engine against the kernel: life, isolation, limits, many at once. Needs root.

mod common;
mod isolation;
mod life;
mod limits;
mod many;
