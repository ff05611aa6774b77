//! The embedded OCI engine against the kernel: life, isolation, limits, many at once. Needs root for most.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod access;
mod common;
mod image;
mod isolation;
mod life;
mod limits;
mod many;
mod outside;
mod rootless;
