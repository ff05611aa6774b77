//! What an engine can do, as data.

use serde::{Deserialize, Serialize};
use stowplan_model::{CpuGroups, PlaceFacts, ServiceKind};
use stowplan_wire::deployment::{DeploymentPlan, IsolationPlan, LimitsPlan, Program, Restarts};

use crate::EngineError;

/// Everything that may be asked of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Variants; the first is used when none is named.
    pub variants: Vec<Variant>,
    /// Most services in one deployment; `None` is no limit.
    pub max_services: Option<u32>,
}

/// What one variant of an engine can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent ability"
)]
pub struct Variant {
    /// Name after the colon of the place; empty where the engine has no variants.
    pub name: String,
    /// What its services are. Differences between places are told apart by it.
    pub services: ServiceKind,
    /// Where the control groups of its services lie: plain processes in groups that lie as these are its control.
    pub cpu_groups: CpuGroups,
    /// A service can exist before its program runs, so that t0' (docs/measuring.md §4) is defined.
    pub separate_create: bool,
    /// Services can be frozen.
    pub pause: bool,
    /// An event with the wait status comes when a service ends by itself.
    pub exit_status: bool,
    /// An event comes when the kernel ends a process of a service for lack of memory.
    pub oom_event: bool,
    /// The engine can start a service again that has ended by itself.
    #[serde(default)]
    pub restarts: bool,
    /// It starts such a service again where nobody asks for a restart policy, but only after this time, ms. `None` where it does not,
    /// or where its default is what [`Variant::restarts`] gives.
    #[serde(default)]
    pub restarts_by_default_ms: Option<u64>,
    /// Its health checks; `None` where it has none.
    #[serde(default)]
    pub health: Option<HealthSupport>,
    /// Each service has CPU and memory accounting of its own.
    pub accounting: bool,
    /// Services can be put into the network of the experiment. Where they cannot at one of its places, the whole experiment runs in
    /// the machine's network, which they are in.
    pub joins_network: bool,
    /// Real programs with the host's root file system.
    pub command: bool,
    /// Real programs with a root file system of their own.
    pub rootfs: bool,
    /// Files and folders of the host at other places in a service.
    pub mounts: bool,
    /// Devices of the host in a service.
    pub devices: bool,
    /// Kinds of devices that it gives by their names of the Container Device Interface itself, as `nvidia.com/gpu`. Of all others it
    /// is told what their descriptions say.
    #[serde(default)]
    pub device_kinds: Vec<String>,
    /// Real programs as another user.
    pub user: bool,
    /// A service without a CPU weight has the kernel's own, 100; else one that the engine chooses, which a result tells.
    pub default_weight: bool,
    /// Limits per service.
    pub limits: LimitSupport,
    /// Isolation features that can be switched one by one; what is not in the list is as the engine has it.
    pub isolation: Vec<IsolationFeature>,
}

impl Variant {
    /// What a container can be asked for, all of it; isolation features cannot be switched.
    #[must_use]
    pub fn container(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            services: ServiceKind::Containers,
            cpu_groups: CpuGroups::InRun,
            separate_create: true,
            pause: true,
            exit_status: true,
            oom_event: true,
            restarts: false,
            restarts_by_default_ms: None,
            health: None,
            accounting: true,
            joins_network: true,
            command: true,
            rootfs: true,
            mounts: true,
            devices: true,
            device_kinds: Vec::new(),
            user: true,
            default_weight: true,
            limits: LimitSupport::all(),
            isolation: Vec::new(),
        }
    }

    /// What plain processes can be asked for, all of it, with these limits.
    #[must_use]
    pub fn processes(name: &str, cpu_groups: CpuGroups, limits: LimitSupport) -> Self {
        Self {
            services: ServiceKind::Processes,
            cpu_groups,
            oom_event: limits.memory,
            rootfs: false,
            mounts: false,
            limits,
            ..Self::container(name)
        }
    }

    /// Whether it gives this device, by its name of the Container Device Interface, itself.
    #[must_use]
    pub fn gives(&self, device: &str) -> bool {
        let kind = device.split_once('=').map(|(kind, _)| kind);
        kind.is_some_and(|kind| self.device_kinds.iter().any(|own| own == kind))
    }

    /// What differences between its places and others are told apart by.
    #[must_use]
    pub fn facts(&self) -> PlaceFacts {
        let all = IsolationFeature::ALL;
        PlaceFacts {
            services: self.services,
            cpu_groups: self.cpu_groups,
            ablates: all.iter().all(|feature| self.isolation.contains(feature)),
            joins_network: self.joins_network,
        }
    }
}

/// What an engine does about a service that fails a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthSupport {
    /// It tells that.
    Tells,
    /// It ends the service, and starts it again where that restarts.
    Ends,
}

/// Which limits a service can have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent limit of the kernel"
)]
pub struct LimitSupport {
    /// CPU numbers.
    pub cpuset: bool,
    /// CPU weight.
    pub cpu_weight: bool,
    /// CPU quota.
    pub cpu_quota: bool,
    /// Memory limit.
    pub memory: bool,
    /// Scheduling class.
    pub scheduling: bool,
}

/// One switch of [`IsolationPlan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationFeature {
    /// Mount namespace.
    Mount,
    /// PID namespace.
    Pid,
    /// IPC namespace.
    Ipc,
    /// UTS namespace.
    Uts,
    /// Network namespace.
    Net,
    /// User namespace.
    User,
    /// Cgroup.
    Cgroup,
    /// Read-only root.
    ReadOnlyRoot,
    /// Overlay root.
    Overlay,
    /// Seccomp profile.
    Seccomp,
    /// Reduced capabilities.
    Capabilities,
}

impl IsolationFeature {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Mount,
        Self::Pid,
        Self::Ipc,
        Self::Uts,
        Self::Net,
        Self::User,
        Self::Cgroup,
        Self::ReadOnlyRoot,
        Self::Overlay,
        Self::Seccomp,
        Self::Capabilities,
    ];

    /// Name in files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Pid => "pid",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
            Self::Net => "net",
            Self::User => "user",
            Self::Cgroup => "cgroup",
            Self::ReadOnlyRoot => "read_only_root",
            Self::Overlay => "overlay",
            Self::Seccomp => "seccomp",
            Self::Capabilities => "capabilities",
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mount => "mount namespace, own root",
            Self::Pid => "PID namespace",
            Self::Ipc => "IPC namespace",
            Self::Uts => "UTS namespace",
            Self::Net => "network namespace",
            Self::User => "user namespace",
            Self::Cgroup => "control group",
            Self::ReadOnlyRoot => "read-only root",
            Self::Overlay => "overlay root",
            Self::Seccomp => "seccomp profile",
            Self::Capabilities => "fewer capabilities",
        }
    }

    /// Whether `plan` switches it on.
    #[must_use]
    pub const fn in_plan(self, plan: &IsolationPlan) -> bool {
        let mut plan = *plan;
        *self.switch(&mut plan)
    }

    /// Its switch in `plan`.
    pub const fn switch(self, plan: &mut IsolationPlan) -> &mut bool {
        match self {
            Self::Mount => &mut plan.mount,
            Self::Pid => &mut plan.pid,
            Self::Ipc => &mut plan.ipc,
            Self::Uts => &mut plan.uts,
            Self::Net => &mut plan.net,
            Self::User => &mut plan.user,
            Self::Cgroup => &mut plan.cgroup,
            Self::ReadOnlyRoot => &mut plan.read_only_root,
            Self::Overlay => &mut plan.overlay,
            Self::Seccomp => &mut plan.seccomp,
            Self::Capabilities => &mut plan.capabilities,
        }
    }
}

/// Something that a plan asks for and an engine cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The service, or `None` for the whole deployment.
    pub service: Option<String>,
    /// The ability that is missing, as `limits.memory`.
    pub capability: String,
}

impl Capabilities {
    /// The variant of this name, or the first when `None`.
    #[must_use]
    pub fn variant(&self, name: Option<&str>) -> Option<&Variant> {
        match name {
            None => self.variants.first(),
            Some(name) => self.variants.iter().find(|variant| variant.name == name),
        }
    }

    /// What `plan` asks for and this engine cannot do; empty when it can do everything.
    ///
    /// Isolation features that an engine cannot switch are as it has them, but for two: services that are asked into networks of
    /// their own are not put into that of the run, and those that are asked into the machine's IPC namespace not into
    /// one of their own. Plain processes have no isolation, whatever is asked of others.
    #[must_use]
    pub fn refuse(&self, plan: &DeploymentPlan) -> Vec<Refusal> {
        let whole = |capability: String| Refusal {
            service: None,
            capability,
        };
        let Some(variant) = self.variant(plan.variant.as_deref()) else {
            let name = plan.variant.clone().unwrap_or_default();
            return vec![whole(format!("variant.{name}"))];
        };
        let mut refusals = Vec::new();
        if let Some(max) = self.max_services
            && plan.services.len() > max as usize
        {
            refusals.push(whole(format!("max-services.{max}")));
        }
        let isolation = plan.isolation;
        for (feature, asked) in [
            (IsolationFeature::Ipc, !isolation.ipc),
            (IsolationFeature::Net, isolation.net),
        ] {
            if asked && !variant.can_switch(feature) {
                refusals.push(whole(format!("isolation.{}", feature.name())));
            }
        }
        for service in &plan.services {
            let program = variant.cannot_run(&service.program);
            let missing = variant.limits.missing(&service.limits);
            let restarts = match service.restarts {
                Restarts::Never => true,
                Restarts::AtOnce => variant.restarts,
                Restarts::ByDefault => variant.restarts_by_default_ms.is_some(),
            };
            let health = service.health.is_some() && variant.health.is_none();
            refusals.extend(
                missing
                    .into_iter()
                    .chain(program)
                    .chain((!restarts).then_some("restarts"))
                    .chain(health.then_some("health"))
                    .map(|capability| Refusal {
                        service: Some(service.name.clone()),
                        capability: capability.to_owned(),
                    }),
            );
        }
        refusals
    }

    /// [`Capabilities::refuse`] as an error for `prepare`.
    ///
    /// # Errors
    /// When the plan asks for something the engine cannot do.
    pub fn require(&self, engine: &str, plan: &DeploymentPlan) -> Result<(), EngineError> {
        let refusals = self.refuse(plan);
        let Some(first) = refusals.first() else {
            return Ok(());
        };
        let place = plan.variant.as_ref().map_or_else(
            || engine.to_owned(),
            |variant| format!("{engine}:{variant}"),
        );
        let list = refusals
            .iter()
            .map(|refusal| refusal.capability.as_str())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(", ");
        let mut error = EngineError::new(format!("{place} cannot do: {list}"))
            .hint("choose another engine or variant, or leave this out of the deployment");
        error.service.clone_from(&first.service);
        Err(error)
    }
}

impl Variant {
    /// Whether a feature is as it is asked for, or its services are no containers.
    fn can_switch(&self, feature: IsolationFeature) -> bool {
        self.services != ServiceKind::Containers || self.isolation.contains(&feature)
    }

    /// What a program asks for and this variant cannot do.
    fn cannot_run(&self, program: &Program) -> Vec<&'static str> {
        let Program::Command { rootfs, access, .. } = program else {
            return Vec::new();
        };
        // What is to be seen where it is anyway needs no mount.
        let moved = access.mounts.iter().any(|mount| mount.from != mount.to);
        let devices = access.devices.iter().any(|device| !self.gives(device));
        [
            (rootfs.is_none(), self.command, "program.command"),
            (rootfs.is_some(), self.rootfs, "program.rootfs"),
            (moved, self.mounts, "program.mounts"),
            (devices, self.devices, "program.devices"),
            (access.user.is_some(), self.user, "program.user"),
        ]
        .into_iter()
        .filter(|(asked, can, _)| *asked && !*can)
        .map(|(_, _, name)| name)
        .collect()
    }
}

impl LimitSupport {
    /// All limits.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            cpuset: true,
            cpu_weight: true,
            cpu_quota: true,
            memory: true,
            scheduling: true,
        }
    }

    fn missing(self, limits: &LimitsPlan) -> Vec<&'static str> {
        [
            (limits.cpuset.is_some(), self.cpuset, "limits.cpuset"),
            (
                limits.cpu_weight.is_some(),
                self.cpu_weight,
                "limits.cpu-weight",
            ),
            (
                limits.cpu_quota.is_some(),
                self.cpu_quota,
                "limits.cpu-quota",
            ),
            (limits.memory_bytes.is_some(), self.memory, "limits.memory"),
            (
                limits.scheduling.is_some(),
                self.scheduling,
                "limits.scheduling",
            ),
        ]
        .into_iter()
        .filter(|(asked, can, _)| *asked && !*can)
        .map(|(_, _, name)| name)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use stowplan_wire::deployment::{Access, BindMount, ServiceStart};

    use super::*;

    fn plan(limits: LimitsPlan) -> DeploymentPlan {
        DeploymentPlan {
            run: "r".to_owned(),
            run_dir: "/r".to_owned(),
            variant: Some("flat".to_owned()),
            image_dir: "/i".to_owned(),
            services: vec![ServiceStart {
                limits,
                log: "/r/sensing.log".to_owned(),
                ..ServiceStart::new("sensing", Program::Node)
            }],
            isolation: IsolationPlan::CONTAINER,
            parallelism: 0,
        }
    }

    fn flat() -> Capabilities {
        Capabilities {
            variants: vec![Variant::processes(
                "flat",
                CpuGroups::One,
                LimitSupport {
                    cpuset: true,
                    ..LimitSupport::default()
                },
            )],
            max_services: Some(1),
        }
    }

    #[test]
    fn what_is_asked_and_cannot_be_had_is_named() {
        let asked = LimitsPlan {
            cpuset: Some(vec![0]),
            memory_bytes: Some(1),
            ..LimitsPlan::default()
        };
        assert_eq!(
            flat().refuse(&plan(asked)),
            vec![Refusal {
                service: Some("sensing".to_owned()),
                capability: "limits.memory".to_owned()
            }]
        );
        assert!(flat().refuse(&plan(LimitsPlan::default())).is_empty());
    }

    #[test]
    fn a_network_for_each_service_is_refused_by_containers_that_cannot_have_it() {
        let mut plan = plan(LimitsPlan::default());
        plan.isolation.net = true;
        assert!(flat().refuse(&plan).is_empty());
        let containers = |isolation: Vec<IsolationFeature>| Capabilities {
            variants: vec![Variant {
                isolation,
                ..Variant::container("flat")
            }],
            max_services: None,
        };
        assert!(
            containers(vec![IsolationFeature::Net])
                .refuse(&plan)
                .is_empty()
        );
        let error = containers(Vec::new()).require("docker", &plan).unwrap_err();
        assert_eq!(error.to_string(), "docker:flat cannot do: isolation.net");
        plan.isolation.ipc = false;
        let error = containers(Vec::new()).require("docker", &plan).unwrap_err();
        assert_eq!(
            error.to_string(),
            "docker:flat cannot do: isolation.ipc, isolation.net"
        );
    }

    #[test]
    fn a_mount_at_its_own_place_needs_none() {
        let mount = |to: &str| {
            let mut plan = plan(LimitsPlan::default());
            plan.services[0].program = Program::Command {
                command: vec!["/bin/true".to_owned()],
                env: Vec::new(),
                rootfs: None,
                access: Access {
                    mounts: vec![BindMount {
                        from: "/maps".to_owned(),
                        to: to.to_owned(),
                        read_only: true,
                    }],
                    ..Access::default()
                },
            };
            plan
        };
        assert!(flat().refuse(&mount("/maps")).is_empty());
        let refused = flat().refuse(&mount("/other"));
        assert_eq!(refused[0].capability, "program.mounts");
    }

    #[test]
    fn an_unknown_variant_is_refused() {
        let mut plan = plan(LimitsPlan::default());
        plan.variant = Some("round".to_owned());
        let error = flat().require("bare", &plan).unwrap_err();
        assert_eq!(error.to_string(), "bare:round cannot do: variant.round");
    }
}
