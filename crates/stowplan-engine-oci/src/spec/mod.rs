//! The OCI runtime configuration of a service.

mod mounts;

use std::path::Path;

use serde_json::{Value, json};
use stowplan_engine::NODE_ENVIRONMENT;
use stowplan_host::Device;
use stowplan_wire::deployment::{IsolationPlan, Program};

use crate::capabilities::{Capabilities, DOCKER_DEFAULT};
use crate::protocol::HelperPlan;
use crate::seccomp;

/// Paths that Docker hides from a container, moby `oci/defaults.go`.
const MASKED: [&str; 9] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/scsi",
    "/sys/firmware",
];

/// Paths that Docker makes read-only in a container, moby `oci/defaults.go`.
const READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// What the helper itself finds out about its machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// Capabilities that the helper has.
    pub capabilities: Capabilities,
    /// Whether the helper is root in a user namespace of its own only, which is then that of the container too.
    pub rootless: bool,
}

impl Surroundings {
    /// Capabilities that a container has.
    pub(crate) const fn kept(&self, isolation: &IsolationPlan) -> Capabilities {
        if isolation.capabilities {
            self.capabilities.and(DOCKER_DEFAULT)
        } else {
            self.capabilities
        }
    }
}

/// The configuration (`config.json`) of the container of `plan` with its root at `root`.
///
/// Libcontainer always gets a mount namespace of its own: without one it would mount in the host's. When the plan
/// wants none, the root is a throw-away one and the executor goes back to the host's before the program runs; what
/// must happen after that (capabilities) is left out here and done there. So is seccomp always, see [`crate::filter`].
pub(crate) fn config(plan: &HelperPlan, root: &Path, around: &Surroundings) -> Value {
    let isolation = &plan.isolation;
    let mut process = json!({
        "terminal": false,
        "user": {"uid": plan.user.user, "gid": plan.user.group},
        "args": arguments(plan),
        "env": environment(plan),
        "cwd": plan.access().and_then(|access| access.working_dir.as_deref()).unwrap_or("/"),
    });
    if isolation.capabilities {
        process["noNewPrivileges"] = json!(true);
    }
    let mut linux = json!({
        "namespaces": namespaces(isolation, around.rootless),
        // Cgroups are made and entered by the helper, in the same way as the bare engine does it.
        "cgroupsPath": "",
    });
    if isolation.user && !around.rootless {
        // The ids stay as they are: files of the image and of the run folder keep their owner.
        let map = json!([{"containerID": 0, "hostID": 0, "size": 65_536}]);
        linux["uidMappings"] = map.clone();
        linux["gidMappings"] = map;
    }
    if isolation.mount {
        linux["devices"] = plan.devices.iter().map(device).collect();
        linux["maskedPaths"] = json!(MASKED);
        linux["readonlyPaths"] = json!(READ_ONLY);
        process["capabilities"] = capabilities(plan, around);
    }
    let mut config = json!({
        "ociVersion": "1.0.2",
        "root": {"path": root, "readonly": isolation.mount && isolation.read_only_root},
        "process": process,
        "mounts": mounts::mounts(plan, around.rootless),
        "linux": linux,
    });
    if isolation.uts {
        config["hostname"] = json!(plan.service.name);
    }
    config
}

/// The configuration with the seccomp profile, which another runtime translates for itself.
pub(crate) fn for_another_runtime(plan: &HelperPlan, root: &Path, around: &Surroundings) -> Value {
    let mut config = config(plan, root, around);
    if plan.isolation.mount && plan.isolation.seccomp {
        config["linux"]["seccomp"] = seccomp::profile(around.kept(&plan.isolation));
    }
    config
}

fn device(device: &Device) -> Value {
    json!({
        "path": device.path,
        "type": if device.block { "b" } else { "c" },
        "major": device.major,
        "minor": device.minor,
        "fileMode": device.mode,
        "uid": device.user,
        "gid": device.group,
    })
}

/// `process.capabilities` of `plan`; null when they are not reduced.
pub(crate) fn capabilities(plan: &HelperPlan, around: &Surroundings) -> Value {
    let isolation = &plan.isolation;
    let reduced = isolation
        .capabilities
        .then(|| around.kept(isolation).config());
    reduced.unwrap_or_default()
}

/// Name of the container and of its hostname: what libcontainer accepts as one.
pub(crate) fn container_id(plan: &HelperPlan) -> String {
    format!("stowplan-{}-{}", plan.run, plan.service.name)
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.') {
                c
            } else {
                '-'
            }
        })
        .collect()
}

fn namespaces(isolation: &IsolationPlan, rootless: bool) -> Value {
    let wanted = [
        (true, "mount"),
        (isolation.pid, "pid"),
        (isolation.ipc, "ipc"),
        (isolation.uts, "uts"),
        (isolation.net, "network"),
        (isolation.user && !rootless, "user"),
    ];
    wanted
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, kind)| json!({"type": kind}))
        .collect()
}

fn arguments(plan: &HelperPlan) -> Vec<String> {
    match &plan.service.program {
        Program::Command { command, .. } => command.clone(),
        Program::Node => {
            // Without a root of its own the service sees the image where it lies on the host.
            let root = if plan.isolation.mount {
                ""
            } else {
                plan.image_dir.as_str()
            };
            vec![
                format!("{root}/stowplan-node"),
                "launch".into(),
                format!("{}/plan.json", plan.service_dir),
                "--files".into(),
                format!("{root}/files"),
            ]
        }
    }
}

/// The program's environment as `NAME=VALUE`.
pub(crate) fn environment(plan: &HelperPlan) -> Vec<String> {
    let base = NODE_ENVIRONMENT.map(|(name, value)| format!("{name}={value}"));
    match &plan.service.program {
        Program::Node => base.to_vec(),
        Program::Command { env, .. } => {
            let mut all: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
            if !env.iter().any(|(name, _)| name == "PATH") {
                all.extend(base);
            }
            all
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use stowplan_host::Ids;
    use stowplan_wire::deployment::{Access, BindMount, ServiceStart};

    use super::*;

    pub(crate) fn isolation(on: bool) -> IsolationPlan {
        IsolationPlan {
            mount: on,
            pid: on,
            ipc: on,
            uts: on,
            net: false,
            user: false,
            cgroup: on,
            read_only_root: false,
            overlay: on,
            seccomp: on,
            capabilities: on,
        }
    }

    pub(crate) fn plan(isolation: IsolationPlan) -> HelperPlan {
        HelperPlan {
            run: "r1".into(),
            service_dir: "/dev/shm/stowplan-r1/sensing".into(),
            image_dir: "/images/0".into(),
            service: ServiceStart {
                log: "/dev/shm/stowplan-r1/sensing.log".into(),
                ..ServiceStart::new("sensing", Program::Node)
            },
            isolation,
            user: Ids::ROOT,
            devices: vec![],
            filter: None,
        }
    }

    fn all() -> Surroundings {
        Surroundings {
            capabilities: Capabilities::from_bits(u64::MAX),
            rootless: false,
        }
    }

    fn read(value: &Value) -> libcontainer::oci_spec::runtime::Spec {
        serde_json::from_value(value.clone()).expect("libcontainer reads it")
    }

    #[test]
    fn libcontainer_reads_every_combination_of_two_switches() {
        for bits in 0..(1_u32 << 11) {
            let on = |bit: u32| bits & (1 << bit) != 0;
            if !(bits.count_ones() <= 2 || bits.count_zeros() <= 23) {
                continue;
            }
            let isolation = IsolationPlan {
                mount: on(0),
                pid: on(1),
                ipc: on(2),
                uts: on(3),
                net: on(4),
                user: on(5),
                cgroup: on(6),
                read_only_root: on(7),
                overlay: on(8),
                seccomp: on(9),
                capabilities: on(10),
            };
            let (plan, root) = (plan(isolation), Path::new("/r"));
            assert_eq!(config(&plan, root, &all())["linux"]["seccomp"], Value::Null);
            let spec = read(&for_another_runtime(&plan, root, &all()));
            let linux = spec.linux().as_ref().unwrap();
            let namespaces = linux.namespaces().as_ref().unwrap().len() as u32;
            assert_eq!(namespaces, 1 + (bits >> 1 & 0x1F).count_ones());
            assert_eq!(linux.seccomp().is_some(), on(0) && on(9));
        }
    }

    #[test]
    fn the_node_program_is_found_inside_the_root_or_on_the_host() {
        let inside = config(&plan(isolation(true)), Path::new("/r"), &all());
        assert_eq!(
            inside["process"]["args"],
            json!([
                "/stowplan-node",
                "launch",
                "/dev/shm/stowplan-r1/sensing/plan.json",
                "--files",
                "/files"
            ])
        );
        let outside = config(&plan(isolation(false)), Path::new("/r"), &all());
        assert_eq!(outside["process"]["args"][0], "/images/0/stowplan-node");
        assert_eq!(outside["process"]["args"][4], "/images/0/files");
    }

    #[test]
    fn a_program_keeps_its_own_path() {
        let mut plan = plan(isolation(true));
        plan.service.program = Program::Command {
            command: vec!["/bin/true".into()],
            env: vec![("PATH".into(), "/opt".into()), ("A".into(), "b c".into())],
            rootfs: None,
            access: Access::default(),
        };
        let config = config(&plan, Path::new("/r"), &all());
        assert_eq!(config["process"]["env"], json!(["PATH=/opt", "A=b c"]));
    }

    #[test]
    fn a_program_has_what_it_was_given_of_the_host() {
        let mut plan = plan(isolation(true));
        let mount = |to: &str, read_only| BindMount {
            from: "/srv/maps".into(),
            to: to.into(),
            read_only,
        };
        plan.service.program = Program::Command {
            command: vec!["/bin/true".into()],
            env: vec![],
            rootfs: None,
            access: Access {
                mounts: vec![mount("/maps", true), mount("/dev/shm/maps", false)],
                working_dir: Some("/maps".into()),
                ..Access::default()
            },
        };
        plan.user = Ids { user: 7, group: 9 };
        plan.devices = vec![Device::find("/dev/null").unwrap()];
        let config = config(&plan, Path::new("/r"), &all());
        read(&config);
        assert_eq!(config["process"]["user"], json!({"uid": 7, "gid": 9}));
        assert_eq!(config["process"]["cwd"], "/maps");
        assert_eq!(config["linux"]["devices"][0]["minor"], 3);
        let mounts = config["mounts"].as_array().unwrap();
        let at = |to: &str| mounts.iter().position(|mount| mount["destination"] == to);
        assert!(at("/dev/shm") < at("/dev/shm/maps"));
        let options = |to: &str| mounts[at(to).unwrap()]["options"].to_string();
        assert!(options("/maps").contains("\"ro\""));
        assert!(!options("/dev/shm/maps").contains("\"ro\""));
    }

    #[test]
    fn capabilities_are_left_to_the_executor_without_a_mount_namespace() {
        let mut switches = isolation(true);
        switches.mount = false;
        let plan = plan(switches);
        let config = config(&plan, Path::new("/r"), &all());
        assert_eq!(config["process"]["capabilities"], Value::Null);
        let late = capabilities(&plan, &all());
        assert_eq!(late["bounding"].as_array().unwrap().len(), 14);
    }

    #[test]
    fn names_are_made_fit_for_libcontainer() {
        let mut plan = plan(isolation(true));
        plan.service.name = "a/b c".into();
        assert_eq!(container_id(&plan), "stowplan-r1-a-b-c");
    }
}
