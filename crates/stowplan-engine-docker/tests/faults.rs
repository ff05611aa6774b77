//! The suite of faults on daemons of the test's own. Needs them to be installed, and root; an engine in
//! `$STOWPLAN_REQUIRE_ENGINES` has to be there.

use stowplan_engine_conformance::{Faults, faults};
use stowplan_engine_docker::{Daemon, DockerEngine, remove};
use stowplan_testkit::{OwnDaemon, ShellRoot};

/// The only test of this program: the engines find their daemons by the environment.
#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    for daemon in Daemon::ALL {
        let Some(own) = OwnDaemon::start(daemon.name()) else {
            continue;
        };
        // SAFETY: no other thread of this program reads or writes the environment.
        unsafe { own.use_here() };
        let report = faults(Faults {
            daemon: Box::new(own),
            name: daemon.name(),
            make: &|agent, network_of| Box::new(DockerEngine::new(daemon, agent, network_of)),
            remove: &|object, at| remove(daemon, object, at),
            root: &root,
        });
        assert_eq!(report.others(), Vec::<String>::new(), "{daemon:?}");
    }
}
