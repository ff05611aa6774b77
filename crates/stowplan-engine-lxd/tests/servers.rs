//! The storage pool, on the servers of this machine. Needs one to run, and root.

use std::path::Path;

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_lxd::{LxdEngine, Server, remove};
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_testkit::{ShellRoot, user_of};
use stowplan_wire::deployment::Select;

#[test]
fn a_pool_is_made_where_there_is_none_and_goes_with_what_a_dead_run_has_in_it() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    for server in Server::ALL {
        let make = |agent: &Path, network_of| -> Box<dyn Engine> {
            Box::new(LxdEngine::new(server, agent, network_of))
        };
        let Some(bench) = Bench::open(make, &root, "pool", 1) else {
            continue;
        };
        let user = user_of(server.name());
        let mut deployment = bench.prepare().unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let own = format!("stowplan-{}-", std::process::id());
        let own = user.pools().into_iter().find(|name| name.starts_with(&own));
        let told = deployment.deviations();
        let told = told.iter().any(|told| told.starts_with("storage pool: "));
        // On a machine whose user has a pool, that one is used.
        assert_eq!(told, own.is_some());
        if let Some(pool) = own {
            let entry = Object::Pool {
                engine: server.name().to_owned(),
                name: pool.clone(),
            };
            let at = DaemonVariables::of_this_process();
            assert!(remove(server, &entry, &at).unwrap());
            assert!(!remove(server, &entry, &at).unwrap());
            assert!(!user.pools().contains(&pool));
            assert_eq!(user.of_run(&bench.plan.run), Vec::<String>::new());
        }
        deployment.destroy().unwrap();
        drop(deployment);
        bench.close().unwrap();
        let left = user.left_by(std::process::id());
        assert_eq!(left, Vec::<String>::new(), "{server:?}");
    }
}
