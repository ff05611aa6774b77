//! The suite of faults on a containerd of the test's own. Needs it to be installed, and root; an engine in
//! `$STOWPLAN_REQUIRE_ENGINES` has to be there.

use stowplan_engine_conformance::{Faults, faults};
use stowplan_engine_cri::{CriEngine, ENGINE, remove};
use stowplan_testkit::{OwnDaemon, ShellRoot};

/// The only test of this program: the engine finds its daemon by the environment.
#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let Some(own) = OwnDaemon::start(ENGINE) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let report = faults(Faults {
        daemon: Box::new(own),
        name: "containerd",
        make: &|agent, network_of| Box::new(CriEngine::new(None, agent, network_of)),
        remove: &remove,
        root: &root,
    });
    // The unit tests make a pod of a user's.
    let others = ["faults.name-taken unsupported(names of users)"];
    assert_eq!(report.others(), others);
}
