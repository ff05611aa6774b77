//! The suite of faults on servers of the test's own. Needs them to be installed, and root; an engine in
//! `$STOWPLAN_REQUIRE_ENGINES` has to be there.

use stowplan_engine_conformance::{Faults, faults};
use stowplan_engine_lxd::{LxdEngine, Server, remove};
use stowplan_testkit::{OwnDaemon, ShellRoot};

/// The only test of this program: the engines find their servers by the environment.
#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    for server in Server::ALL {
        let Some(own) = OwnDaemon::start(server.name()) else {
            continue;
        };
        // SAFETY: no other thread of this program reads or writes the environment.
        unsafe { own.use_here() };
        let report = faults(Faults {
            daemon: Box::new(own),
            name: server.name(),
            make: &|agent, network_of| Box::new(LxdEngine::new(server, agent, network_of)),
            remove: &|object, at| remove(server, object, at),
            root: &root,
        });
        assert_eq!(report.others(), Vec::<String>::new(), "{server:?}");
    }
}
