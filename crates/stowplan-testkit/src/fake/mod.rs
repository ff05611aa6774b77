//! A fake engine on a fake host: nothing runs, and yet everything that the traits promise holds.
//!
//! The host is far away: its clock is not this machine's, its pids exist nowhere, its files are made when they
//! are asked for. The engine tells its events late and cannot pause. What passes here is what the traits alone
//! ask for, before a virtual machine or a cluster does.
//!
//! Services act by the behaviours of the conformance suite, which name themselves among their arguments. Services of the
//! node program announce what real ones do, at instants that are known.

mod engine;
mod health;
mod host;
mod nodes;
mod process;
mod site;
mod world;

use std::cell::RefCell;
use std::rc::Rc;

pub use engine::FakeEngine;
pub use health::CHECK_NS;
pub use host::FakeHost;
pub use nodes::{ANSWER_NS, DYING_NS, LAUNCHED_NS, MATCHED_NS, UP_NS};
pub use world::{DEFAULT_RESTART_NS, Fault, LATE_NS, RESTART_NS};

/// A fake host and an engine on it. Its clock reads some days after the boot of a machine that is not this one.
#[must_use]
pub fn fake() -> (Rc<FakeHost>, FakeEngine) {
    on("far-away", &Rc::default(), 777_777_777_777_777)
}

/// Two fake hosts on which the same time passes, each with an engine. The clock of the second is so far ahead.
#[must_use]
pub fn two(ahead_ns: u64) -> [(Rc<FakeHost>, FakeEngine); 2] {
    let time = Rc::default();
    let boot_ns = 5_000_000_000;
    [
        on("near", &time, boot_ns),
        on("far-away", &time, boot_ns + ahead_ns),
    ]
}

fn on(name: &str, time: &world::Time, boot_ns: u64) -> (Rc<FakeHost>, FakeEngine) {
    let world = world::World::new(name, Rc::clone(time), boot_ns);
    let world = Rc::new(RefCell::new(world));
    (
        Rc::new(FakeHost::new(Rc::clone(&world))),
        FakeEngine::new(world),
    )
}

/// The same with an engine that does one thing wrong.
#[must_use]
pub fn faulty(fault: Fault) -> (Rc<FakeHost>, FakeEngine) {
    let (host, engine) = fake();
    engine.has_fault(fault);
    (host, engine)
}
