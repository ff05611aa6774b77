//! What the runtime is asked for, for one service.

use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_engine_daemon::{
    Conversion, CpuTime, access, agent_mount, arguments, cpus, environment, memory_bytes, mounts,
    of_service, shares,
};
use stowplan_host::Ids;
use stowplan_host::cgroup::Layout;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, LimitsPlan, Program, ServiceStart};

use crate::pods::{self, labelled};
use stowplan_engine_daemon::cri::api::runtime::v1::{
    ContainerConfig, ContainerMetadata, Device, Int64Value, KeyValue, LinuxContainerConfig,
    LinuxContainerResources, LinuxContainerSecurityContext, LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext, Mount, NamespaceMode, NamespaceOption, PodSandboxConfig,
};
use stowplan_engine_daemon::cri::named;

/// A pod with one container.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pod {
    /// The service.
    pub(crate) service: String,
    pub(crate) sandbox: PodSandboxConfig,
    pub(crate) container: ContainerConfig,
}

/// Namespaces as the kubelet asks for them: each container has its own processes, and the network is that of the node.
const fn namespaces() -> NamespaceOption {
    NamespaceOption {
        network: NamespaceMode::Node as i32,
        pid: NamespaceMode::Container as i32,
        ipc: NamespaceMode::Pod as i32,
    }
}

/// A pod of this name in the network of the node.
pub(crate) fn sandbox(
    name: &str,
    run: &str,
    service: Option<&str>,
    cgroup_parent: &str,
) -> PodSandboxConfig {
    PodSandboxConfig {
        linux: Some(LinuxPodSandboxConfig {
            cgroup_parent: cgroup_parent.to_owned(),
            security_context: Some(LinuxSandboxSecurityContext {
                namespace_options: Some(namespaces()),
            }),
        }),
        ..pods::named(name, run, service)
    }
}

/// A container that is the runtime's default, with these arguments.
pub(crate) fn plain(name: &str, image: &str, command: Vec<String>) -> ContainerConfig {
    ContainerConfig {
        metadata: Some(ContainerMetadata {
            name: name.to_owned(),
        }),
        image: Some(named(image)),
        command,
        linux: Some(LinuxContainerConfig {
            resources: None,
            security_context: Some(LinuxContainerSecurityContext {
                namespace_options: Some(namespaces()),
                ..LinuxContainerSecurityContext::default()
            }),
        }),
        ..ContainerConfig::default()
    }
}

/// The pod of a service.
pub(crate) fn pod(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    image: &str,
    cgroup_parent: &str,
    agent: &Path,
    layout: Layout,
) -> Result<Pod, EngineError> {
    let name = of_service(&plan.run, &service.name);
    let access = access(&service.program);
    let log = Path::new(&service.log);
    let text = |part: Option<&Path>| part.map(|p| p.display().to_string()).unwrap_or_default();
    let variables = environment(&service.program).into_iter();
    let mounts = mounts(plan, service).into_iter();
    let mounts = mounts.chain(agent_mount(agent, service));
    let mut container = ContainerConfig {
        working_dir: access.working_dir.unwrap_or_default(),
        envs: variables
            .map(|(key, value)| KeyValue { key, value })
            .collect(),
        mounts: mounts.map(mount).collect(),
        devices: access.devices.into_iter().map(device).collect(),
        labels: labelled(&name, &plan.run, Some(&service.name)),
        log_path: text(log.file_name().map(Path::new)),
        ..plain(&service.name, image, arguments(plan, service))
    };
    let mut sandbox = sandbox(&name, &plan.run, Some(&service.name), cgroup_parent);
    if !plan.isolation.ipc {
        share_ipc(&mut sandbox, &mut container);
    }
    if let Some(linux) = &mut container.linux {
        linux.resources = resources(&service.limits, layout);
        if let (Some(context), Some(user)) = (&mut linux.security_context, &access.user) {
            let ids = Ids::find(root(&service.program), user)?;
            context.run_as_user = Some(number(ids.user));
            context.run_as_group = Some(number(ids.group));
        }
    }
    Ok(Pod {
        service: service.name.clone(),
        sandbox: PodSandboxConfig {
            log_directory: text(log.parent()),
            ..sandbox
        },
        container,
    })
}

/// The IPC namespace of the node, with its `/dev/shm`.
fn share_ipc(sandbox: &mut PodSandboxConfig, container: &mut ContainerConfig) {
    let of_pod = sandbox.linux.as_mut().and_then(|linux| {
        let context = linux.security_context.as_mut()?;
        context.namespace_options.as_mut()
    });
    let of_container = container.linux.as_mut().and_then(|linux| {
        let context = linux.security_context.as_mut()?;
        context.namespace_options.as_mut()
    });
    for options in of_pod.into_iter().chain(of_container) {
        options.ipc = NamespaceMode::Node as i32;
    }
}

fn root(program: &Program) -> &Path {
    match program {
        Program::Command {
            rootfs: Some(root), ..
        } => Path::new(root),
        Program::Node | Program::Command { rootfs: None, .. } => Path::new("/"),
    }
}

fn number(value: u32) -> Int64Value {
    Int64Value {
        value: value.into(),
    }
}

fn mount(mount: BindMount) -> Mount {
    Mount {
        host_path: mount.from,
        container_path: mount.to,
        readonly: mount.read_only,
    }
}

fn device(path: String) -> Device {
    Device {
        host_path: path.clone(),
        container_path: path,
        permissions: "rwm".to_owned(),
    }
}

/// Zero and nothing are the runtime's default. On cgroup v2 the weight is said in the kernel's own words, which no OCI runtime
/// converts.
fn resources(limits: &LimitsPlan, layout: Layout) -> Option<LinuxContainerResources> {
    let time = CpuTime::of(limits);
    let v2 = layout == Layout::V2;
    let weight = limits.cpu_weight.filter(|_| v2);
    let unified = weight.map(|weight| ("cpu.weight".to_owned(), weight.to_string()));
    let shares = shares(limits, Conversion::Same).filter(|_| !v2);
    let memory = memory_bytes(limits).unwrap_or_default();
    let resources = LinuxContainerResources {
        cpu_period: time.map_or(0, |time| time.period_us),
        cpu_quota: time.map_or(0, |time| time.quota_us),
        cpu_shares: shares.unwrap_or_default(),
        memory_limit_in_bytes: memory,
        // Memory and swap together, which a runtime leaves out where the kernel does not account for swap.
        memory_swap_limit_in_bytes: memory,
        cpuset_cpus: cpus(limits).unwrap_or_default(),
        unified: unified.into_iter().collect(),
    };
    (resources != LinuxContainerResources::default()).then_some(resources)
}

#[cfg(test)]
mod tests {
    use stowplan_wire::deployment::{Access, IsolationPlan};

    use super::*;

    fn plan(program: Program, limits: LimitsPlan) -> DeploymentPlan {
        DeploymentPlan {
            run: "7-1".to_owned(),
            run_dir: "/nowhere".to_owned(),
            variant: None,
            image_dir: "/images/0".to_owned(),
            services: vec![ServiceStart {
                limits,
                log: "/nowhere/sensing.log".to_owned(),
                ..ServiceStart::new("sensing", program)
            }],
            isolation: IsolationPlan::CONTAINER,
            parallelism: 0,
        }
    }

    fn of(plan: &DeploymentPlan) -> Pod {
        let (parent, agent) = ("/stowplan-7-1", Path::new("/agent"));
        pod(plan, &plan.services[0], "i", parent, agent, Layout::V1).unwrap()
    }

    fn made(program: Program, limits: LimitsPlan) -> Pod {
        of(&plan(program, limits))
    }

    #[test]
    fn a_node_program_gets_its_plan_and_nothing_else_that_is_not_the_runtimes_default() {
        let pod = made(Program::Node, LimitsPlan::default());
        let command = [
            "/stowplan-node",
            "launch",
            "/nowhere/sensing/plan.json",
            "--files",
            "/files",
        ];
        let command = command.map(str::to_owned).to_vec();
        let mut expected = plain("sensing", "i", command);
        expected.envs.clone_from(&pod.container.envs);
        expected.labels = labelled("stowplan-7-1-sensing", "7-1", Some("sensing"));
        expected.log_path = "sensing.log".to_owned();
        assert_eq!(pod.container, expected);
        assert_eq!(pod.container.envs[0].key, "PATH");
        assert_eq!(pod.sandbox.log_directory, "/nowhere");
        let linux = pod.sandbox.linux.unwrap();
        assert_eq!(linux.cgroup_parent, "/stowplan-7-1");
    }

    #[test]
    fn the_nodes_ipc_is_asked_for_the_pod_and_its_container() {
        let ipc = |pod: Pod| {
            let linux = pod.sandbox.linux.unwrap().security_context.unwrap();
            let container = pod.container.linux.unwrap().security_context.unwrap();
            [linux.namespace_options, container.namespace_options].map(|o| o.unwrap().ipc())
        };
        let mut plan = plan(Program::Node, LimitsPlan::default());
        assert_eq!(ipc(of(&plan)), [NamespaceMode::Pod; 2]);
        plan.isolation.ipc = false;
        assert_eq!(ipc(of(&plan)), [NamespaceMode::Node; 2]);
    }

    #[test]
    fn limits_are_the_apis_own() {
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 2]),
            cpu_weight: Some(300),
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            scheduling: None,
        };
        let pod = made(Program::Node, limits);
        let expected = LinuxContainerResources {
            cpu_period: 100_000,
            cpu_quota: 20_000,
            cpu_shares: 3072,
            memory_limit_in_bytes: 1 << 26,
            memory_swap_limit_in_bytes: 1 << 26,
            cpuset_cpus: "0,2".to_owned(),
            ..LinuxContainerResources::default()
        };
        assert_eq!(pod.container.linux.unwrap().resources, Some(expected));
    }

    #[test]
    fn a_weight_is_the_kernels_own_on_v2() {
        let limits = LimitsPlan {
            cpu_weight: Some(300),
            ..LimitsPlan::default()
        };
        let resources = resources(&limits, Layout::V2).unwrap();
        assert_eq!(resources.cpu_shares, 0);
        assert_eq!(resources.unified["cpu.weight"], "300");
    }

    #[test]
    fn a_real_program_has_what_it_was_given() {
        let access = Access {
            mounts: vec![BindMount {
                from: "/srv".to_owned(),
                to: "/maps".to_owned(),
                read_only: true,
            }],
            devices: vec!["/dev/null".to_owned()],
            user: Some("7:9".to_owned()),
            working_dir: Some("/maps".to_owned()),
        };
        let program = Program::Command {
            command: vec!["/bin/true".to_owned()],
            env: vec![("A".to_owned(), "b c".to_owned())],
            rootfs: Some("/roots/1".to_owned()),
            access,
        };
        let container = made(program, LimitsPlan::default()).container;
        assert_eq!(container.working_dir, "/maps");
        let mount = &container.mounts[0];
        assert_eq!((mount.host_path.as_str(), mount.readonly), ("/srv", true));
        assert_eq!(container.devices[0].host_path, "/dev/null");
        let context = container.linux.unwrap().security_context.unwrap();
        assert_eq!(context.run_as_user, Some(number(7)));
        assert_eq!(context.run_as_group, Some(number(9)));
    }
}
