//! What goes wrong around a daemon: names that are taken, images that vanish, a run that dies.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;

use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use common::{Rootfs, available};
use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_engine_docker::{Daemon, DockerEngine, remove};
use stowplan_host::ledger::Object;
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{ContainerDaemon, agent_program, command_plan};
use stowplan_wire::deployment::{DeploymentPlan, Program, Select};

/// An open run on a real daemon.
struct Bench {
    daemon: ContainerDaemon,
    host: Rc<AgentHost>,
    engine: DockerEngine,
    run: String,
    plan: DeploymentPlan,
    _root: Rootfs,
}

impl Bench {
    /// `None` where the daemon is not available. `test` names the run.
    fn open(daemon: Daemon, test: &str, services: usize) -> Option<Self> {
        let host = AgentHost::spawn(agent_program(), Network::Machine).unwrap();
        let engine = DockerEngine::new(daemon, agent_program(), host.agent_pid());
        if !available(&engine, &host) {
            return None;
        }
        let run = format!("{test}-{}-{}", daemon.name(), std::process::id());
        let run_dir = host.open_run(&run, vec![], String::new(), 0).unwrap();
        let root = Rootfs::new();
        let names: Vec<String> = (0..services).map(|number| format!("s{number}")).collect();
        let command: &[&str] = &["/bin/sh", "-c", "sleep 1000 & wait"];
        let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), command)).collect();
        let mut plan = command_plan(&run, &run_dir, None, &wanted);
        for service in &mut plan.services {
            if let Program::Command { rootfs, .. } = &mut service.program {
                *rootfs = Some(root.path());
            }
        }
        Some(Self {
            daemon: ContainerDaemon::of(daemon.name()),
            host,
            engine,
            run,
            plan,
            _root: root,
        })
    }

    fn prepare(&self) -> Result<Box<dyn Deployment>, EngineError> {
        self.engine.prepare(&self.plan, self.host.clone())
    }

    /// Containers of this run, whoever made them.
    fn containers(&self) -> Vec<String> {
        self.daemon
            .containers(&format!("stowplan.run={}", self.run))
    }
}

/// One test at a time: images of one would be taken for those of another.
fn each(test: impl Fn(Daemon)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Daemon::ALL.into_iter().for_each(test);
}

#[test]
fn a_container_of_the_user_with_a_name_that_a_run_needs_is_left_alone() {
    each(|daemon| {
        let Some(bench) = Bench::open(daemon, "taken", 1) else {
            return;
        };
        let mut deployment = bench.prepare().unwrap();
        let name = format!("stowplan-{}-s0", bench.run);
        // With a label that looks like ours, but not with all of them.
        let image = bench.daemon.images("localhost/stowplan:")[0].clone();
        let body = format!(
            r#"{{"Image": "{image}", "Cmd": ["/bin/true"], "Labels": {{"stowplan.run": "another"}}}}"#
        );
        let (status, made) =
            bench
                .daemon
                .call("POST", &format!("/containers/create?name={name}"), &body);
        assert_eq!(status, 201, "{made}");
        let error = deployment.create(&Select::All).unwrap_err();
        assert_eq!(error.service.as_deref(), Some("s0"));
        assert!(error.to_string().contains(&name), "{error}");
        assert!(error.hint.unwrap().contains("leaves it alone"));
        deployment.destroy().unwrap();
        let entry = Object::Container {
            engine: daemon.name().to_owned(),
            id: name.clone(),
        };
        assert!(!remove(daemon, &entry).unwrap());
        let (status, _) = bench
            .daemon
            .call("GET", &format!("/containers/{name}/json"), "");
        assert_eq!(status, 200, "{daemon:?}: the user's container is gone");
        let (status, _) = bench
            .daemon
            .call("DELETE", &format!("/containers/{name}"), "");
        assert_eq!(status, 204);
        drop(deployment);
        bench.host.close_run().unwrap();
    });
}

#[test]
fn what_a_ledger_names_is_removed_and_what_is_gone_is_no_error() {
    each(|daemon| {
        let Some(bench) = Bench::open(daemon, "left", 2) else {
            return;
        };
        let mut deployment = bench.prepare().unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let made = bench.containers();
        assert!(made.len() >= 2, "{made:?}");
        for name in &made {
            let entry = Object::Container {
                engine: daemon.name().to_owned(),
                id: name.clone(),
            };
            assert!(remove(daemon, &entry).unwrap(), "{name}");
            assert!(!remove(daemon, &entry).unwrap(), "{name}");
        }
        assert_eq!(bench.containers(), Vec::<String>::new());
        // The run finds out that everything is gone, and ends in order.
        deployment.destroy().unwrap();
        drop(deployment);
        bench.host.close_run().unwrap();
    });
}

#[test]
fn an_image_that_vanishes_is_an_error_and_is_loaded_again() {
    each(|daemon| {
        let Some(bench) = Bench::open(daemon, "image", 1) else {
            return;
        };
        let mut deployment = bench.prepare().unwrap();
        let own = format!("localhost/stowplan:{}-", std::process::id());
        let before = bench.daemon.images(&own);
        for image in &before {
            let path = format!("/images/{image}?force=true");
            let _ = bench.daemon.call("DELETE", &path, "");
        }
        let error = deployment.create(&Select::All).unwrap_err();
        assert_eq!(error.service.as_deref(), Some("s0"));
        deployment.destroy().unwrap();
        drop(deployment);
        let mut deployment = bench.prepare().unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.destroy().unwrap();
        drop(deployment);
        bench.host.close_run().unwrap();
        bench.engine.remove_images().unwrap();
    });
}

#[test]
fn a_hundred_services_start_and_go() {
    each(|daemon| {
        let Some(bench) = Bench::open(daemon, "hundred", 100) else {
            return;
        };
        let mut deployment = bench.prepare().unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let locators = deployment.locators().unwrap();
        let pids: std::collections::BTreeSet<u32> = locators.iter().map(|l| l.pid).collect();
        assert_eq!(pids.len(), 100, "{daemon:?}");
        assert!(!pids.contains(&0));
        deployment.destroy().unwrap();
        assert_eq!(bench.containers(), Vec::<String>::new());
        drop(deployment);
        bench.host.close_run().unwrap();
    });
}
