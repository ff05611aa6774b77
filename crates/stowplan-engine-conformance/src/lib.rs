//! One test suite that every engine passes.
//!
//! It knows engines by their traits and capabilities alone. What a service did is seen through the engine
//! (events, logs, locators) and through the host (accounting, limits, files of /proc and of control groups),
//! so that the suite is the same for a process here, a container, a guest and a machine far away.
//!
//! Engines whose services have a root file system of their own pass [`access`] as well, and those with a daemon [`faults`], on a daemon that the suite may kill;
//! those without one pass [`faults_alone`].

mod access;
mod agent;
mod alone;
mod behaviour;
mod bench;
mod ends;
mod faults;
mod life;
mod limits;
mod look;
mod report;
mod setup;
mod trial;
mod with_agent;

pub use agent::AgentStage;
pub use alone::{Alone, UsersOwn, faults_alone};
pub use behaviour::{Behaviour, MARK};
pub use bench::Bench;
pub use faults::{Faults, faults};
pub use report::{CaseResult, Outcome, Report};
pub use setup::{Setup, Stage};
pub use with_agent::{Make, conforms, conforms_as, joins_the_agents_network};

use trial::Stop;

/// What a case finds out.
type Checked = Result<(), Stop>;

/// A case: its name and what it does.
struct Case {
    name: &'static str,
    check: fn(&Setup<'_>) -> Checked,
}

/// Runs every case. A case that fails does not keep the others from running.
#[must_use]
pub fn run(setup: &Setup<'_>) -> Report {
    run_some(setup, |_| true)
}

/// Runs the cases whose name `wanted` takes.
#[must_use]
pub fn run_some(setup: &Setup<'_>, wanted: impl Fn(&str) -> bool) -> Report {
    let cases = life::CASES.iter().chain(ends::CASES).chain(limits::CASES);
    report(setup, cases.filter(|case| wanted(case.name)))
}

/// Runs the cases of what real programs in a root file system of their own have of their host, as whom and where they run.
#[must_use]
pub fn access(setup: &Setup<'_>) -> Report {
    report(setup, access::CASES.iter())
}

fn report<'a>(setup: &Setup<'_>, cases: impl Iterator<Item = &'a Case>) -> Report {
    Report {
        engine: setup.stage.engine().name(),
        variant: setup.variant.clone(),
        host: setup.stage.host().id(),
        cases: cases
            .map(|case| CaseResult::new(case.name, (case.check)(setup)))
            .collect(),
    }
}
