//! What of an instance's files is in the page cache when it is created, on a server of the test's own. Needs root, and for
//! btrfs its programs.

use std::path::Path;

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_host::cold::{cold, residency};
use stowplan_testkit::{InstanceServer, OwnDaemon, ShellRoot, User, skip};
use stowplan_wire::deployment::Select;

/// The only test of this program: the engine finds its server by the environment.
#[test]
fn an_instance_is_cold_where_the_engine_says_that_it_is_shown() {
    let Some(own) = OwnDaemon::start(Server::Lxd.name()) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let folder = Path::new(&own.variable().1).to_owned();
    let user = InstanceServer::at(&folder);
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    for (driver, is_shown) in [("dir", false), ("btrfs", true)] {
        if let Err(reason) = user.make_pool(driver) {
            skip!("no pool with the driver {driver}: {reason}");
            continue;
        }
        let make = |agent: &Path, network_of| -> Box<dyn Engine> {
            Box::new(LxdEngine::new(Server::Lxd, agent, network_of))
        };
        let bench = Bench::open(make, &root, driver, 1).unwrap();
        let mut deployment = bench.prepare().unwrap();
        let files = deployment.image_files();
        assert_eq!(files.unshown.is_none(), is_shown, "{files:?}");
        let proof = cold(&files.paths).unwrap();
        assert!(proof.resident * 100 <= proof.pages, "{driver}: {proof:?}");
        deployment.create(&Select::All).unwrap();
        let [instance] = &user.of_run(&bench.plan.run)[..] else {
            panic!("one instance");
        };
        let shell = format!("containers/{instance}/rootfs/bin/sh");
        let (pages, resident) = residency(&user.pool_folder().join(shell)).unwrap();
        assert!(pages > 10, "{pages}");
        assert_eq!(resident, if is_shown { 0 } else { pages }, "{driver}");
        deployment.start(&Select::All).unwrap();
        deployment.destroy().unwrap();
        drop(deployment);
        bench.close().unwrap();
        user.remove_pool();
        let left = user.left_by(std::process::id());
        assert_eq!(left, Vec::<String>::new(), "{driver}");
    }
}
