//! The suite of faults on daemons of the test's own. Needs them to be installed, and root; an engine in
//! `$STOWPLAN_REQUIRE_ENGINES` has to be there.

use std::path::Path;

use stowplan_engine::{Engine, EngineError, SharedNetwork};
use stowplan_engine_conformance::{Faults, faults};
use stowplan_engine_docker::swarm::{self, SwarmEngine};
use stowplan_engine_docker::{Daemon, DockerEngine, remove};
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_testkit::{OwnDaemon, ShellRoot};

/// One of the engines here.
struct Row {
    name: &'static str,
    /// What its daemon is called in errors.
    daemon: &'static str,
    make: fn(&Path, SharedNetwork) -> Box<dyn Engine>,
    remove: fn(&Object, &DaemonVariables) -> Result<bool, EngineError>,
}

const ROWS: [Row; 3] = [
    Row {
        name: "docker",
        daemon: "docker",
        make: |agent, network_of| Box::new(DockerEngine::new(Daemon::Docker, agent, network_of)),
        remove: |object, at| remove(Daemon::Docker, object, at),
    },
    Row {
        name: "podman",
        daemon: "podman",
        make: |agent, network_of| Box::new(DockerEngine::new(Daemon::Podman, agent, network_of)),
        remove: |object, at| remove(Daemon::Podman, object, at),
    },
    Row {
        name: swarm::ENGINE,
        daemon: "docker",
        make: |agent, network_of| Box::new(SwarmEngine::new(agent, network_of)),
        remove: |object, at| match object {
            // Its images are the daemon's, and so is what it tries out.
            other if other.engine() != Some(swarm::ENGINE) => remove(Daemon::Docker, other, at),
            service => swarm::remove(service, at),
        },
    },
];

/// The only test of this program: the engines find their daemons by the environment.
#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    for row in ROWS {
        let Some(own) = OwnDaemon::start(row.name) else {
            continue;
        };
        // SAFETY: no other thread of this program reads or writes the environment.
        unsafe { own.use_here() };
        let report = faults(Faults {
            daemon: Box::new(own),
            name: row.daemon,
            make: &row.make,
            remove: &row.remove,
            root: &root,
        });
        assert_eq!(report.others(), Vec::<String>::new(), "{}", row.name);
    }
}
