//! What the pods of a run really are, and who works for them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use stowplan_engine::{EngineError, Facts, ObservedContainer, agreed, contradiction};
use stowplan_engine_daemon::cri;
use stowplan_engine_daemon::{program_in_bundle, runtime_name, runtime_version, watchers};
use stowplan_host::process;

use crate::cluster::{self, Cluster};
use crate::state::{Phase, Seen};

/// Parts of a cluster, by the first or second of their arguments: several of them are one program in some distributions.
const PARTS: [&str; 8] = [
    "etcd",
    "k3s",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "rke2",
];

/// The label of pods with these first processes: one value of each fact for all of them.
///
/// # Errors
/// When two differ, or what the kernel shows contradicts what the runtime says.
pub(crate) fn read(
    cluster: &Cluster,
    runtime: &cri::Client,
    pods: &[(Seen, u32)],
) -> Result<Facts, EngineError> {
    let handler = runtime.settings.handler(None)?;
    let (mut all, mut program) = (Vec::new(), None);
    let mut shares = Shares::default();
    for (seen, pid) in pods {
        let Phase::Running(id) = &seen.phase else {
            continue;
        };
        let kernel = ObservedContainer::of(*pid, id);
        if !kernel.parent.starts_with(runtime.runtime.monitor()) {
            let (said, found) = (runtime.runtime.monitor(), &kernel.parent);
            return Err(contradiction("monitor", said, found));
        }
        if handler.snapshotter.starts_with("overlay") != (kernel.root == "overlay") {
            return Err(contradiction(
                "snapshotter",
                &handler.snapshotter,
                &kernel.root,
            ));
        }
        let called = program_in_bundle(*pid, id);
        let configured = format!("{}, as configured", handler.program);
        all.push(Facts::from([
            ("engine.monitor".to_owned(), kernel.parent.clone()),
            (
                "engine.runtime".to_owned(),
                runtime_name(called.as_deref(), &configured),
            ),
            ("engine.storage".to_owned(), handler.snapshotter.clone()),
        ]));
        program = called;
        shares.add(seen, &kernel.cgroup, (*pid, id));
    }
    let mut facts = agreed(all)?;
    facts.extend(runtime_version(program.as_deref()));
    facts.extend(shares.facts());
    facts.extend(of_cluster(cluster));
    Ok(facts)
}

/// What holds for the whole node.
fn of_cluster(cluster: &Cluster) -> Facts {
    let node = &cluster.node;
    let unread = || "not told by the kubelet".to_owned();
    let or = |told: &Option<String>| told.clone().unwrap_or_else(unread);
    let facts = [
        ("engine.kubernetes", cluster::label(&cluster.version)),
        ("engine.kubernetes_version", cluster.version.clone()),
        ("engine.node_runtime", node.runtime.clone()),
        ("engine.cgroup_driver", or(&node.cgroup_driver)),
        ("engine.cpu_manager", or(&node.cpu_manager)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// What share of the CPUs pods really get, which follows from what each asks for: services may differ in it.
#[derive(Default)]
struct Shares {
    classes: BTreeSet<String>,
    groups: BTreeSet<String>,
    weights: BTreeSet<String>,
}

impl Shares {
    fn add(&mut self, seen: &Seen, cgroup: &str, (pid, id): (u32, &str)) {
        self.classes.insert(seen.qos.clone());
        self.groups.insert(without_uid(cgroup, &seen.uid));
        self.weights.extend(weights(pid, &seen.uid, id));
    }

    fn facts(self) -> Facts {
        let told = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join("; ");
        let facts = [
            ("engine.qos_class", told(self.classes)),
            ("engine.cgroup", told(self.groups)),
            ("engine.cpu_weights", told(self.weights)),
        ];
        facts.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// A path with `UID` for that of the pod, which systemd's driver writes with underscores.
fn without_uid(path: &str, uid: &str) -> String {
    path.replace(uid, "UID")
        .replace(&uid.replace('-', "_"), "UID")
}

/// The weights that the kernel has on the way to a process's control group, from the top: `kubepods 2048 > …`.
fn weights(pid: u32, uid: &str, id: &str) -> Option<String> {
    let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let (root, path, file) = cpu_group(&cgroup)?;
    let mut told = Vec::new();
    let mut folder = Path::new(root).to_owned();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        folder.push(part);
        let value = fs::read_to_string(folder.join(file)).ok()?;
        let name = without_uid(part, uid).replace(id, "ID");
        told.push(format!("{name} {}", value.trim()));
    }
    Some(told.join(" > "))
}

/// Where the controller `cpu` is mounted, the group in it, and the file with its weight.
fn cpu_group(cgroup: &str) -> Option<(&'static str, &str, &'static str)> {
    let mut v2 = None;
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if controllers.split(',').any(|name| name == "cpu") {
            return Some(("/sys/fs/cgroup/cpu", path, "cpu.shares"));
        }
        if controllers.is_empty() {
            v2 = Some(("/sys/fs/cgroup", path, "cpu.weight"));
        }
    }
    v2
}

/// The processes of the cluster on this machine: its parts, the node's runtime, and what it has for each of these services.
pub(crate) fn processes(runtime: &cri::Client, first: &[u32]) -> Vec<u32> {
    let shims = watchers(first);
    let of_shims = |pid: &u32| {
        let parent = process::parent_of(*pid);
        parent.is_some_and(|parent| shims.contains(&parent)) && !first.contains(pid)
    };
    let all: Vec<u32> = process::all().collect();
    let pauses = all.iter().copied().filter(of_shims);
    let parts = all.iter().copied().filter(|pid| is_part(*pid));
    let mut found: BTreeSet<u32> = pauses.chain(parts).collect();
    found.extend(runtime.daemon_pid());
    found.extend(&shims);
    found.into_iter().collect()
}

fn is_part(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    is_part_line(&String::from_utf8_lossy(&line))
}

fn is_part_line(line: &str) -> bool {
    line.split('\0').take(2).any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        PARTS.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_those_of_the_controller() {
        let v1 = "4:memory:/a\n3:cpu:/b/c\n0::/\n";
        assert_eq!(
            cpu_group(v1),
            Some(("/sys/fs/cgroup/cpu", "/b/c", "cpu.shares"))
        );
        let v2 = "0::/kubepods.slice/x\n";
        assert_eq!(
            cpu_group(v2),
            Some(("/sys/fs/cgroup", "/kubepods.slice/x", "cpu.weight"))
        );
    }

    #[test]
    fn a_group_is_one_for_all_pods() {
        assert_eq!(
            without_uid("/kubepods/podab-c/ID", "ab-c"),
            "/kubepods/podUID/ID"
        );
        assert_eq!(
            without_uid("/kubepods-podab_c.slice/ID", "ab-c"),
            "/kubepods-podUID.slice/ID"
        );
    }

    #[test]
    fn parts_are_told_by_their_first_words() {
        for line in [
            "/usr/local/bin/k3s\0server",
            "/x/k8sone\0kubelet\0--a",
            "etcd\0--name",
        ] {
            assert!(is_part_line(line), "{line}");
        }
        assert!(!is_part_line("vim\0notes\0kubelet"));
    }
}
