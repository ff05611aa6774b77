//! The life-cycle suite: what each engine takes to create, start, pause, stop and restart a service, who detects a fault of it,
//! and how long until it is ready again.
//!
//! Every figure is of one service of a stack while the others run. Ready is what it is for a start-up (docs/measuring.md §4):
//! launched, with every endpoint matched. All instants are of the one clock of the host.

mod applications;
mod bench;
mod fault;
mod figures;
mod images;
mod operations;
mod ready;
mod recovery;
pub mod scenario;
mod scratch;
mod session;
mod stand;
mod suite;
mod summary;
mod trials;

pub use applications::{Application, NoSuchApplication, Step};
pub use fault::{EXIT_STATUS, Fault, Keeper, NoSuchFault, Settings};
pub use figures::{
    DETECTED, Figure, Operation, PRIMARY, READY_AGAIN, RECOVERY, RecoveryStep, STANDING_MEMORY,
    metrics, step_subject, subject,
};
pub use images::Images;
pub use ready::{Answers, Readiness};
pub use recovery::{Recovery, recoveries};
pub use session::Session;
pub use suite::{CompilerRoot, LifecycleError, Plan, SUITE, Trial, begin, resume, trial_of};
pub use summary::{Cell, Row, Summary};
pub use trials::Trials;
