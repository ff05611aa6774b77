//! What the repository asks of itself.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests unwrap as the tests do"
)]

mod engines;
mod layers;
mod options;
mod prose;
mod reference;
mod sources;
mod tidy;
