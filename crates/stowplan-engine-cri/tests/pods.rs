//! What is about pods of containerd alone: their pause processes, and handlers that do not work here. Needs a containerd to run, and root.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_cri::{CriEngine, ENGINE, remove};
use stowplan_host::cgroup::{Layout, Tree, top_folders};
use stowplan_host::chain;
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_testkit::{ShellRoot, User, skip, user_of};
use stowplan_wire::deployment::Select;

/// One test at a time: images of one would be taken for those of another.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(root: &ShellRoot, test: &str, services: usize) -> Option<Bench> {
    let endpoint = std::env::var("CONTAINER_RUNTIME_ENDPOINT").unwrap_or_default();
    if endpoint.contains("crio") {
        skip!("looks at containerd with its own tools, and this is CRI-O");
        return None;
    }
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(CriEngine::new(None, agent, network_of))
    };
    Bench::open(make, root, test, services)
}

fn root() -> ShellRoot {
    ShellRoot::below(env!("CARGO_TARGET_TMPDIR"))
}

/// Two engines load the image of pause processes where containerd has none; the last one to go removes it.
#[test]
fn the_image_of_pause_processes_goes_with_the_last_who_needs_it() {
    let (_turn, root) = (turn(), root());
    let (Some(one), Some(two)) = (open(&root, "one", 1), open(&root, "two", 2)) else {
        return;
    };
    let user = user_of(ENGINE);
    let pauses = |user: &dyn User| {
        let mut images = user.images();
        images.retain(|name| name.contains("pause"));
        images
    };
    let images = pauses(user.as_ref());
    one.close().unwrap();
    let mut deployment = two.prepare().unwrap();
    assert_eq!(pauses(user.as_ref()), images);
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    deployment.locators().unwrap();
    // containerd, and for each pod its shim and its pause process.
    assert_eq!(deployment.engine_processes().unwrap().len(), 5);
    deployment.destroy().unwrap();
    let told = deployment.deviations();
    drop(deployment);
    two.close().unwrap();
    if told.iter().any(|told| told.starts_with("pause image:")) {
        assert_eq!(pauses(user.as_ref()), Vec::<String>::new());
    }
    assert_eq!(user.left_by(std::process::id()), Vec::<String>::new());
}

#[test]
fn a_handler_that_does_not_work_here_says_why_before_anything_is_made() {
    let (_turn, root) = (turn(), root());
    let Some(mut bench) = open(&root, "handler", 1) else {
        return;
    };
    bench.plan.variant = Some("crun".to_owned());
    match bench.prepare() {
        // crun takes no hybrid control groups (crun, `src/libcrun/cgroup.c`).
        Ok(mut deployment) => {
            assert_ne!(Tree::detect().unwrap().layout, Layout::Hybrid);
            deployment.destroy().unwrap();
        }
        Err(error) => {
            let why = chain(&error);
            assert!(
                why.contains("hybrid mode")
                    || why.contains("unknown version")
                    || why.contains("no handler 'crun'"),
                "{why}"
            );
            let folders = top_folders(&format!("stowplan-{}", bench.plan.run)).unwrap();
            assert!(!folders.iter().any(|folder| folder.exists()));
        }
    }
    bench.plan.variant = Some("kata".to_owned());
    let error = bench.prepare().err().unwrap();
    assert_eq!(error.to_string(), "cri:kata cannot do: variant.kata");
    bench.close().unwrap();
}

#[test]
fn an_object_of_another_kind_is_none_of_ours() {
    let folder = Object::Folder {
        path: "/nowhere/x".to_owned(),
    };
    assert!(!remove(&folder, &DaemonVariables::default()).unwrap());
}
