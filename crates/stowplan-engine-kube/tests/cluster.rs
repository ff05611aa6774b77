//! What others do to a cluster while a run is in it: each is told with the pod and the cause, and nothing is left. Needs the
//! Kubernetes of tests to run, and root.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::path::Path;
use std::time::{Duration, Instant};

use stowplan_engine::{Deployment, Engine, EngineError, Probe};
use stowplan_engine_conformance::Bench;
use stowplan_engine_kube::KubeEngine;
use stowplan_host::process::is_alive;
use stowplan_host::{Host as _, chain};
use stowplan_testkit::{KubeLab, Kubernetes, ShellRoot, User as _};
use stowplan_wire::deployment::{BindMount, Program, Select};

/// Longest wait until the cluster tells of something.
const PATIENCE: Duration = Duration::from_secs(60);

/// The only test of this program: the engine finds the cluster by the environment.
#[test]
fn what_others_do_to_a_run_is_told_and_nothing_is_left() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let Some(mut lab) = KubeLab::running() else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { lab.use_here() };
    for case in [
        namespace_goes,
        pod_is_evicted,
        quota_is_used_up,
        limit_is_none,
        parameters_are_a_config_map,
        gpus_are_what_the_node_advertises,
    ] {
        case(&root);
        let left = Kubernetes.left_by(std::process::id());
        assert_eq!(left, [""; 0]);
    }
    token_has_expired(&root);
    cpus_are_given_where_the_node_does_so(&root, &mut lab);
}

fn begin(root: &ShellRoot, test: &str) -> (Bench, Box<dyn Deployment>) {
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(KubeEngine::new(agent, network_of))
    };
    let bench = Bench::begin(make, root, test, 1).unwrap();
    let deployment = bench.prepare().unwrap();
    (bench, deployment)
}

fn kubectl(arguments: &[&str], input: &str) {
    Kubernetes.kubectl(arguments, input).unwrap();
}

/// The run's namespace, and the pod of its service.
fn names(bench: &Bench) -> (String, String) {
    let run = &bench.plan.run;
    (format!("stowplan-{run}"), format!("stowplan-{run}-s0"))
}

/// The error of a service that runs.
fn error_of(deployment: &mut dyn Deployment) -> EngineError {
    loop {
        match deployment.events(PATIENCE) {
            Err(error) => return error,
            Ok(events) => assert!(!events.is_empty(), "nothing was told"),
        }
    }
}

/// Ends what is left, which has to be nothing.
fn end(bench: Bench, mut deployment: Box<dyn Deployment>) {
    let services = deployment.locators().unwrap_or_default();
    deployment.destroy().unwrap();
    drop(deployment);
    for service in services {
        assert!(!is_alive(service.pid, service.start_ticks), "{service:?}");
    }
    bench.close().unwrap();
}

fn namespace_goes(root: &ShellRoot) {
    let (bench, mut deployment) = begin(root, "namespace");
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let (namespace, pod) = names(&bench);
    kubectl(&["delete", "namespace", &namespace, "--wait=false"], "");
    let error = error_of(deployment.as_mut());
    assert_eq!(error.service.as_deref(), Some("s0"));
    let said = chain(&error);
    assert!(said.contains(&pod) && said.contains("namespace"), "{said}");
    end(bench, deployment);
}

fn pod_is_evicted(root: &ShellRoot) {
    let (bench, mut deployment) = begin(root, "evicted");
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let (namespace, pod) = names(&bench);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction");
    let eviction = format!(
        r#"{{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {{"name": "{pod}", "namespace": "{namespace}"}}}}"#
    );
    kubectl(&["create", "--raw", &path, "--filename", "-"], &eviction);
    let said = chain(&error_of(deployment.as_mut()));
    assert!(said.contains(&pod), "{said}");
    end(bench, deployment);
}

fn quota_is_used_up(root: &ShellRoot) {
    let (bench, mut deployment) = begin(root, "quota");
    let (namespace, pod) = names(&bench);
    let quota = r#"{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}"#;
    kubectl(
        &["create", "--namespace", &namespace, "--filename", "-"],
        quota,
    );
    deployment.create(&Select::All).unwrap();
    let error = deployment.start(&Select::All).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("s0"));
    let said = chain(&error);
    assert!(said.contains("quota") && said.contains(&pod), "{said}");
    end(bench, deployment);
}

/// What the node does not have is not waited for.
fn limit_is_none(root: &ShellRoot) {
    let (mut bench, deployment) = begin(root, "small");
    drop(deployment);
    bench.plan.services[0].limits.cpu_weight = Some(10_000);
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    let said = chain(&deployment.start(&Select::All).unwrap_err());
    assert!(said.contains("Insufficient cpu"), "{said}");
    end(bench, deployment);
}

/// A file of parameters is what it is on the host, though the cluster carries it; what else is mounted comes from the host.
fn parameters_are_a_config_map(root: &ShellRoot) {
    let (mut bench, deployment) = begin(root, "parameters");
    drop(deployment);
    let folder = tempfile::tempdir().unwrap();
    let mount = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        BindMount {
            from: path.display().to_string(),
            to: format!("/given/{name}"),
            read_only: true,
        }
    };
    let script =
        "read -r a < /given/a.yaml; read -r b < /given/b.txt; echo \"$a, $b\"; exec sleep 1000";
    if let Program::Command {
        command, access, ..
    } = &mut bench.plan.services[0].program
    {
        *command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        access.mounts = vec![mount("a.yaml", "rate: 10\n"), mount("b.txt", "host\n")];
    }
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let (namespace, pod) = names(&bench);
    let map = format!("configmap/{pod}-parameters");
    let has = Kubernetes.field(&namespace, &map, ".data");
    assert!(
        has.contains(r"rate: 10\n") && !has.contains("host"),
        "{has}"
    );
    let begin = Instant::now();
    while deployment.log("s0", 1 << 10).unwrap() != "rate: 10, host\n" {
        assert!(begin.elapsed() < PATIENCE, "{:?}", deployment.log("s0", 99));
        std::thread::sleep(Duration::from_millis(10));
    }
    end(bench, deployment);
}

/// GPUs that the node says it has. Nobody gives a pod one, so that only what is asked for and what is refused is seen.
struct Advertised;

impl Advertised {
    fn gpus(count: u32) -> Self {
        let add = |field: &str| {
            format!(
                r#"{{"op": "add", "path": "/status/{field}/nvidia.com~1gpu", "value": "{count}"}}"#
            )
        };
        Self::patch(&format!("[{}, {}]", add("capacity"), add("allocatable"))).unwrap();
        Self
    }

    fn patch(operations: &str) -> Result<String, String> {
        let patch = ["patch", "node", "node1", "--subresource=status"];
        Kubernetes.kubectl(
            &[&patch[..], &["--type=json", "--patch", operations]].concat(),
            "",
        )
    }
}

impl Drop for Advertised {
    fn drop(&mut self) {
        // The kubelet takes it out of what may be had by itself, and may have done so.
        for field in ["capacity", "allocatable"] {
            let _ = Self::patch(&format!(
                r#"[{{"op": "remove", "path": "/status/{field}/nvidia.com~1gpu"}}]"#
            ));
        }
    }
}

/// A named GPU is one of those that the node counts. What it does not have is refused before anything starts.
fn gpus_are_what_the_node_advertises(root: &ShellRoot) {
    let (mut bench, deployment) = begin(root, "gpus");
    drop(deployment);
    let wants = |bench: &mut Bench, devices: &[&str]| {
        if let Program::Command { access, .. } = &mut bench.plan.services[0].program {
            access.devices = devices.iter().map(|&device| device.to_owned()).collect();
        }
    };
    wants(&mut bench, &["nvidia.com/gpu=0"]);
    let error = bench.prepare().err().unwrap();
    assert_eq!(error.service.as_deref(), Some("s0"));
    assert!(chain(&error).contains("has 0 of nvidia.com/gpu"), "{error}");
    assert!(error.hint.unwrap().contains("device plugin"));
    let _advertised = Advertised::gpus(1);
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let told = deployment.deviations().join("\n");
    assert!(told.contains("chooses which 1 of nvidia.com/gpu"), "{told}");
    assert!(!told.contains("admission"), "{told}");
    let (namespace, pod) = names(&bench);
    let pod = format!("pod/{pod}");
    let has = Kubernetes.field(&namespace, &pod, ".spec.containers[0].resources");
    assert!(has.contains(r#""limits":{"nvidia.com/gpu":"1"}"#), "{has}");
    drop(deployment);
    wants(&mut bench, &["nvidia.com/gpu=0", "nvidia.com/gpu=1"]);
    let said = chain(&bench.prepare().err().unwrap());
    assert!(
        said.contains("has 1 of nvidia.com/gpu") && said.contains("ask for 2"),
        "{said}"
    );
    wants(&mut bench, &["amd.com/gpu=0"]);
    let said = chain(&bench.prepare().err().unwrap());
    assert!(said.contains("program.devices"), "{said}");
    bench.close().unwrap();
}

fn token_has_expired(root: &ShellRoot) {
    let (bench, deployment) = begin(root, "token");
    drop(deployment);
    let name = std::env::var("STOWPLAN_KUBECONFIG").unwrap();
    let text = std::fs::read_to_string(&name).unwrap();
    let (before, after) = text.split_once("token: \"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("expired");
    std::fs::write(&other, format!("{before}token: \"expired\"{after}")).unwrap();
    // SAFETY: the only test of this program.
    unsafe { std::env::set_var("STOWPLAN_KUBECONFIG", &other) };
    let probe = bench.engine.probe(bench.host.as_ref());
    // SAFETY: the only test of this program.
    unsafe { std::env::set_var("STOWPLAN_KUBECONFIG", &name) };
    let Probe::Absent { reason, hint } = probe else {
        panic!("{probe:?}");
    };
    assert!(
        reason.contains("Unauthorized") && hint.contains("token"),
        "{reason} ({hint})"
    );
    bench.close().unwrap();
}

/// A node whose CPU manager does nothing is refused; one with the static policy gives a pod as many CPUs as it asks for.
fn cpus_are_given_where_the_node_does_so(root: &ShellRoot, lab: &mut KubeLab) {
    let (mut bench, deployment) = begin(root, "cpus");
    drop(deployment);
    let limits = &mut bench.plan.services[0].limits;
    limits.cpuset = Some(vec![1]);
    limits.memory_bytes = Some(64 << 20);
    let error = bench.prepare().err().unwrap();
    let said = chain(&error);
    assert!(said.contains("CPU manager is 'none'"), "{said}");
    assert!(error.hint.unwrap().contains("static"));
    if std::thread::available_parallelism().unwrap().get() < 2 {
        bench.close().unwrap();
        return;
    }
    lab.cpu_manager("static");
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let locators = deployment.locators().unwrap();
    let has = bench.host.limits(&locators[0]).unwrap();
    assert_eq!(has.cpuset.map(|cpus| cpus.len()), Some(1));
    let label = deployment.label().unwrap();
    assert_eq!(label["engine.qos_class"], "Guaranteed");
    assert_eq!(label["engine.cpu_manager"], "static");
    end(bench, deployment);
}
