//! The core of every suite: which deployment runs when, for how long, what of it is done, and where its results are.
//!
//! A [`Suite`] says what it measures and how one job of it runs. This crate gives it blocks in a balanced order, a
//! budget, a pilot that fixes the number of blocks, resuming after an interruption, a result folder, and progress.
#![forbid(unsafe_code)]

mod failure;
mod job;
mod observe;
mod open_result;
mod pilot;
mod run;
mod schedule;
mod suite;

pub use failure::RunFailed;
pub use job::Job;
pub use observe::{Observer, Step};
pub use open_result::OpenResult;
pub use pilot::{Fixed, Sizing, pilot, planned};
pub use run::{Asked, Caller, finish, run};
pub use schedule::{End, Outcome, jobs};
pub use suite::{JobContext, Kept, Suite};
