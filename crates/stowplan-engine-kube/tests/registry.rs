//! How images come to the node: by a registry of the test's own, or not again where the node has them. Needs the Kubernetes of tests
//! and root.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::path::Path;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_engine_conformance::Bench;
use stowplan_engine_kube::KubeEngine;
use stowplan_host::chain;
use stowplan_testkit::{KubeLab, Kubernetes, OwnRegistry, RegistrySettings, ShellRoot, User as _};
use stowplan_wire::deployment::Select;

const VARIABLE: &str = "STOWPLAN_KUBE_REGISTRY";

/// The only test of this program: the engine finds cluster and registry by the environment.
#[test]
fn images_come_by_a_registry_or_are_there() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let Some(lab) = KubeLab::running() else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { lab.use_here() };
    let before = Kubernetes.images();
    for case in [
        what_the_node_has_is_not_imported_again,
        an_image_is_pulled_by_its_digest_and_removed_again,
        a_registry_that_keeps_what_it_has_is_told,
        a_password_is_that_of_docker,
        a_registry_that_takes_nothing_is_named,
    ] {
        case(&root);
        set(VARIABLE, None);
        assert_eq!(Kubernetes.images(), before);
        assert_eq!(Kubernetes.left_by(std::process::id()), [""; 0]);
    }
}

fn set(name: &str, value: Option<&str>) {
    // SAFETY: the only test of this program.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}

fn begin(root: &ShellRoot, test: &str) -> Bench {
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(KubeEngine::new(agent, network_of))
    };
    Bench::begin(make, root, test, 1).unwrap()
}

/// A registry that is named to engines.
fn registry(settings: RegistrySettings) -> Option<OwnRegistry> {
    let registry = OwnRegistry::start(settings)?;
    set(VARIABLE, Some(&format!("{}/team", registry.host())));
    Some(registry)
}

fn running(bench: &Bench) -> Box<dyn Deployment> {
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    deployment
}

/// How its images have come.
fn came(deployment: &dyn Deployment) -> String {
    // A label is read of what runs, which has to be found.
    deployment.locators().unwrap();
    deployment.label().unwrap()["engine.images"].clone()
}

/// A field of the one pod of a run.
fn of_pod(bench: &Bench, field: &str) -> String {
    let namespace = format!("stowplan-{}", bench.plan.run);
    Kubernetes.field(&namespace, &format!("pod/{namespace}-s0"), field)
}

fn end(bench: Bench, deployment: Box<dyn Deployment>) {
    drop(deployment);
    bench.close().unwrap();
}

/// What is refused before anything is made.
fn refused(root: &ShellRoot, test: &str) -> EngineError {
    let bench = begin(root, test);
    let error = bench.prepare().err().unwrap();
    bench.close().unwrap();
    error
}

fn what_the_node_has_is_not_imported_again(root: &ShellRoot) {
    let (first, second) = (begin(root, "first"), begin(root, "second"));
    let one = running(&first);
    assert_eq!(came(one.as_ref()), "imported");
    let two = running(&second);
    assert_eq!(came(two.as_ref()), "already there");
    assert_eq!(
        of_pod(&first, ".status.containerStatuses[0].imageID"),
        of_pod(&second, ".status.containerStatuses[0].imageID")
    );
    // Who goes first takes the image from nobody.
    end(first, one);
    drop(two);
    let again = running(&second);
    assert_eq!(came(again.as_ref()), "already there");
    end(second, again);
}

fn an_image_is_pulled_by_its_digest_and_removed_again(root: &ShellRoot) {
    let settings = RegistrySettings {
        deletes: true,
        ..RegistrySettings::default()
    };
    let Some(registry) = registry(settings) else {
        return;
    };
    let images = format!("{}/team/stowplan", registry.host());
    let bench = begin(root, "pulled");
    let deployment = running(&bench);
    assert_eq!(came(deployment.as_ref()), format!("pushed to {images}"));
    assert_eq!(deployment.deviations(), [""; 0]);
    let image = of_pod(&bench, ".spec.containers[0].image");
    let digest = image
        .strip_prefix(&format!("{images}@"))
        .unwrap()
        .to_owned();
    assert!(digest.starts_with("sha256:"), "{image}");
    assert_eq!(
        of_pod(&bench, ".spec.containers[0].imagePullPolicy"),
        "IfNotPresent"
    );
    assert_eq!(
        of_pod(&bench, ".status.containerStatuses[0].imageID"),
        image
    );
    assert!(Kubernetes.images().contains(&image));
    let tags = || registry.get("/v2/team/stowplan/tags/list");
    assert!(
        tags().contains(&format!("{}-", std::process::id())),
        "{}",
        tags()
    );
    end(bench, deployment);
    assert!(
        !tags().contains(&format!("{}-", std::process::id())),
        "{}",
        tags()
    );
    let manifest = registry.get(&format!("/v2/team/stowplan/manifests/{digest}"));
    assert!(manifest.contains("404 Not Found"), "{manifest}");
}

fn a_registry_that_keeps_what_it_has_is_told(root: &ShellRoot) {
    let Some(registry) = registry(RegistrySettings::default()) else {
        return;
    };
    let bench = begin(root, "kept");
    let deployment = running(&bench);
    let told = deployment.deviations().join("\n");
    assert!(
        told.contains(registry.host()) && told.contains("stays in the registry"),
        "{told}"
    );
    end(bench, deployment);
    let tags = registry.get("/v2/team/stowplan/tags/list");
    assert!(tags.contains(&format!("{}-", std::process::id())), "{tags}");
}

fn a_password_is_that_of_docker(root: &ShellRoot) {
    let settings = RegistrySettings {
        deletes: true,
        password: true,
        ..RegistrySettings::default()
    };
    let Some(registry) = registry(settings) else {
        return;
    };
    let error = refused(root, "unknown");
    let said = chain(&error);
    assert!(
        said.contains(registry.host()) && said.contains("refuses"),
        "{said}"
    );
    assert!(error.hint.unwrap().contains("docker login"));
    let login = registry.login().display().to_string();
    set("DOCKER_CONFIG", Some(&login));
    let bench = begin(root, "known");
    let deployment = running(&bench);
    assert!(came(deployment.as_ref()).starts_with("pushed to"));
    end(bench, deployment);
    set("DOCKER_CONFIG", None);
}

fn a_registry_that_takes_nothing_is_named(root: &ShellRoot) {
    let settings = RegistrySettings {
        read_only: true,
        ..RegistrySettings::default()
    };
    let Some(registry) = registry(settings) else {
        return;
    };
    let error = refused(root, "read-only");
    let said = chain(&error);
    assert!(said.contains("cannot be written"), "{said}");
    assert!(error.hint.unwrap().contains(VARIABLE));
    let host = registry.host().to_owned();
    drop(registry);
    let error = refused(root, "unreachable");
    let said = chain(&error);
    assert!(
        said.contains(&format!("the registry {host} does not take")),
        "{said}"
    );
    assert!(error.hint.unwrap().contains("start it"));
    set(VARIABLE, Some("team"));
    let said = refused(root, "no-registry").to_string();
    assert!(said.contains("'team'"), "{said}");
}
