//! What the server is asked for, for one instance.

use std::path::Path;

use serde_json::{Map, Value, json};
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{access, environment, mounts};
use stowplan_engine_tool::{command_in_root, lxc};
use stowplan_host::Device;
use stowplan_wire::deployment::{DeploymentPlan, LimitsPlan, Program, ServiceStart};

use crate::command::{self, Command};
use crate::names;

/// What all instances of an engine stand on.
pub(crate) struct Ground<'a> {
    /// The static agent program.
    pub(crate) agent: &'a Path,
    /// The process in whose network instances are; `None` where each has one of its own.
    pub(crate) network_of: Option<u32>,
    /// Real-time budget, in µs of each second, of each instance that wants a real-time class, where there are budgets.
    pub(crate) budget_us: Option<u64>,
    /// Whether the kernel accounts for swap.
    pub(crate) swap_accounting: bool,
    /// Storage pool of the root file systems.
    pub(crate) pool: &'a str,
}

/// What an instance gets.
struct Draft {
    config: Map<String, Value>,
    lxc: lxc::Config,
    devices: Map<String, Value>,
}

impl Draft {
    fn new(
        ground: &Ground<'_>,
        arguments: &[String],
        keys: Map<String, Value>,
    ) -> Result<Self, EngineError> {
        let command = Command::of(arguments, ground.network_of.is_none());
        let mut lxc = lxc::Config::default();
        lxc.set("lxc.init.cmd", &command.line)?;
        // Instances have no interface of their own, for which the server makes an empty network. That of the run replaces it.
        if let Some(process) = ground.network_of {
            lxc.set("lxc.namespace.share.net", &network(process))?;
        }
        lxc.set("lxc.signal.halt", "SIGTERM")?;
        lxc.set("lxc.log.level", "info")?;
        let mut config = keys;
        for (key, value) in [
            // Root in the instance is root on the host, as in containers of other engines.
            ("security.privileged", "true"),
            // A server that is started again starts what ran before.
            ("boot.autostart", "false"),
        ] {
            config.insert(key.to_owned(), value.into());
        }
        let root = json!({"type": "disk", "path": "/", "pool": ground.pool});
        if command.by_agent {
            let agent = ground.agent.display().to_string();
            lxc.mount(&agent, command::AGENT, true)?;
        }
        Ok(Self {
            config,
            lxc,
            devices: Map::from_iter([("root".to_owned(), root)]),
        })
    }

    /// The body of `POST /1.0/instances` without the name.
    fn request(mut self, image: &str) -> Value {
        let lxc = self.lxc.text();
        self.config.insert("raw.lxc".to_owned(), lxc.into());
        json!({
            "type": "container",
            "source": {"type": "image", "fingerprint": image},
            "profiles": [],
            "config": self.config,
            "devices": self.devices,
        })
    }

    /// The limits that the server has keys for are its own: it writes CPU sets anew whenever an instance starts. A weight
    /// it knows in steps of a percent only, and a quota in whole milliseconds and not beside a weight.
    fn limit(&mut self, limits: &LimitsPlan, swap_accounting: bool) -> Result<(), EngineError> {
        let mut of_server = Vec::new();
        if let Some(cpus) = &limits.cpuset {
            // A number alone would be how many.
            let ranges: Vec<String> = cpus.iter().map(|cpu| format!("{cpu}-{cpu}")).collect();
            of_server.push(("limits.cpu", ranges.join(",")));
        }
        if let Some(bytes) = limits.memory_bytes {
            of_server.push(("limits.memory", bytes.to_string()));
        }
        for (key, value) in of_server {
            self.config.insert(key.to_owned(), value.into());
        }
        // The CPU set from the first instruction on as well: the server writes its own some time after the start.
        self.lxc.limits(&LimitsPlan {
            memory_bytes: None,
            ..limits.clone()
        })?;
        // `limits.memory.swap` has meant different things (LXD's pull requests 12044 and 12466).
        if swap_accounting {
            self.lxc.no_swap(limits)?;
        }
        Ok(())
    }

    fn environment(&mut self, program: &Program) -> Result<(), EngineError> {
        for (name, value) in environment(program) {
            // The server writes it into a line of liblxc's configuration without looking.
            let key = format!("environment.{name}");
            lxc::Config::default().set(&key, &value)?;
            self.config.insert(key, value.into());
        }
        Ok(())
    }

    fn nodes(&mut self, paths: &[String]) -> Result<(), EngineError> {
        for (number, path) in paths.iter().enumerate() {
            let found = Device::find(path)?;
            let kind = if found.block {
                "unix-block"
            } else {
                "unix-char"
            };
            let device = json!({
                "type": kind,
                "source": path,
                "path": path,
                "mode": format!("{:04o}", found.mode),
                "uid": found.user.to_string(),
                "gid": found.group.to_string(),
            });
            self.devices.insert(format!("device{number}"), device);
        }
        Ok(())
    }
}

/// The file that stands for the network of a process.
pub(crate) fn network(of_process: u32) -> String {
    format!("/proc/{of_process}/ns/net")
}

/// The root file system of a service, on the host.
fn root_of<'a>(plan: &'a DeploymentPlan, program: &'a Program) -> &'a Path {
    match program {
        Program::Command {
            rootfs: Some(root), ..
        } => Path::new(root),
        Program::Node | Program::Command { rootfs: None, .. } => Path::new(&plan.image_dir),
    }
}

/// The instance of a service, of the image with this fingerprint.
pub(crate) fn service(
    ground: &Ground<'_>,
    plan: &DeploymentPlan,
    service: &ServiceStart,
    image: &str,
) -> Result<Value, EngineError> {
    let root = root_of(plan, &service.program);
    let arguments = command_in_root(plan, service, root)?;
    let keys = names::keys(&plan.run, Some(&service.name));
    let mut draft = Draft::new(ground, &arguments, keys)?;
    draft.lxc.set("lxc.console.logfile", &service.log)?;
    // The server's sizes would have the log begin again at 128 KiB, and be replaced with what is in memory at the end.
    for size in ["lxc.console.size", "lxc.console.buffer.size"] {
        draft.lxc.set(size, "")?;
    }
    draft.lxc.ipc(plan.isolation.ipc)?;
    draft.limit(&service.limits, ground.swap_accounting)?;
    draft
        .lxc
        .class(service.limits.scheduling, ground.budget_us)?;
    draft.environment(&service.program)?;
    // Not the server's devices: it mounts those before liblxc's own lines, which would hide what is below /dev/shm.
    draft.lxc.mounts(&mounts(plan, service))?;
    let access = access(&service.program);
    if plan.isolation.net && access.user.is_some() {
        let why = "a program of another user than root cannot have a network of its own: it could not set its loopback up";
        return Err(EngineError::new(why));
    }
    draft.nodes(&access.devices)?;
    draft.lxc.program(root, &access)?;
    Ok(draft.request(image))
}

/// The instance that does nothing, to see whether one can be started.
pub(crate) fn nothing(ground: &Ground<'_>, run: &str, image: &str) -> Result<Value, EngineError> {
    let arguments = ["/stowplan-agent", "hold"].map(str::to_owned);
    let draft = Draft::new(ground, &arguments, names::keys(run, None))?;
    Ok(draft.request(image))
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;
    use stowplan_wire::deployment::{Access, BindMount, IsolationPlan};

    use super::*;

    fn ground() -> Ground<'static> {
        Ground {
            agent: Path::new("/agent"),
            network_of: Some(7),
            budget_us: None,
            swap_accounting: true,
            pool: "p",
        }
    }

    /// A plan with one program in a root file system of its own.
    fn plan(root: &Path, limits: LimitsPlan, access: Access) -> DeploymentPlan {
        std::fs::write(root.join("x"), "").unwrap();
        let mut plan = command_plan("7-1", "/nowhere", None, &[("a", &["/x"])]);
        plan.isolation = IsolationPlan::CONTAINER;
        plan.services[0].limits = limits;
        plan.services[0].program = Program::Command {
            command: vec!["/x".to_owned(), "two words".to_owned()],
            env: vec![("A".to_owned(), "b c".to_owned())],
            rootfs: Some(root.display().to_string()),
            access,
        };
        plan
    }

    fn made(plan: &DeploymentPlan) -> Value {
        service(&ground(), plan, &plan.services[0], "i").unwrap()
    }

    fn lines(made: &Value) -> Vec<String> {
        let text = made["config"]["raw.lxc"].as_str().unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_program_gets_a_root_the_network_and_its_log() {
        let root = tempfile::tempdir().unwrap();
        let plan = plan(root.path(), LimitsPlan::default(), Access::default());
        let made = made(&plan);
        let expected = [
            "lxc.init.cmd = /.stowplan-agent exec /x two%20words",
            "lxc.namespace.share.net = /proc/7/ns/net",
            "lxc.signal.halt = SIGTERM",
            "lxc.log.level = info",
            "lxc.mount.entry = /agent .stowplan-agent none bind,ro,create=file 0 0",
            "lxc.console.logfile = /nowhere/a.log",
            "lxc.console.size = ",
            "lxc.console.buffer.size = ",
            "lxc.mount.entry = shm dev/shm tmpfs nosuid,nodev,create=dir 0 0",
        ];
        assert_eq!(lines(&made), expected);
        assert_eq!(made["devices"]["root"]["pool"], "p");
        assert_eq!(made["config"]["environment.A"], "b c");
        assert_eq!(made["config"]["user.stowplan.service"], "a");
        assert_eq!(made["profiles"], json!([]));
        assert_eq!(made["source"]["fingerprint"], "i");
    }

    #[test]
    fn in_a_network_of_its_own_a_program_is_roots() {
        let root = tempfile::tempdir().unwrap();
        let mut plan = plan(root.path(), LimitsPlan::default(), Access::default());
        plan.isolation.net = true;
        let ground = Ground {
            network_of: None,
            ..ground()
        };
        let made = service(&ground, &plan, &plan.services[0], "i").unwrap();
        let lines = lines(&made);
        assert!(lines[0].contains("exec-with-loopback /x"), "{lines:?}");
        assert!(
            !lines.iter().any(|line| line.contains("share.net")),
            "{lines:?}"
        );
        if let Program::Command { access, .. } = &mut plan.services[0].program {
            access.user = Some("nobody".to_owned());
        }
        let refused = service(&ground, &plan, &plan.services[0], "i").unwrap_err();
        assert!(refused.to_string().contains("loopback"), "{refused}");
    }

    #[test]
    fn limits_are_the_servers_where_it_has_them_and_liblxcs_else() {
        let root = tempfile::tempdir().unwrap();
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 2]),
            cpu_weight: Some(300),
            cpu_quota: Some(0.2),
            memory_bytes: Some(1 << 26),
            scheduling: None,
        };
        let made = made(&plan(root.path(), limits, Access::default()));
        assert_eq!(made["config"]["limits.cpu"], "0-0,2-2");
        assert_eq!(made["config"]["limits.memory"], "67108864");
        let lines = lines(&made);
        for line in [
            "lxc.cgroup.cpuset.cpus = 0,2",
            "lxc.cgroup.cpu.shares = 3072",
            "lxc.cgroup.cpu.cfs_quota_us = 20000",
            "lxc.cgroup2.cpu.weight = 300",
            "lxc.cgroup.memory.memsw.limit_in_bytes = 67108864",
            "lxc.cgroup2.memory.swap.max = 0",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
        let of_memory = lines.iter().filter(|line| line.contains("memory"));
        assert_eq!(of_memory.count(), 2, "{lines:?}");
    }

    #[test]
    fn a_real_program_has_what_it_was_given() {
        let root = tempfile::tempdir().unwrap();
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
        let made = made(&plan(root.path(), LimitsPlan::default(), access));
        let device = &made["devices"]["device0"];
        assert_eq!(
            (&device["type"], &device["path"]),
            (&"unix-char".into(), &"/dev/null".into())
        );
        let lines = lines(&made);
        for line in [
            "lxc.mount.entry = /srv maps none bind,ro,create=dir 0 0",
            "lxc.init.uid = 7",
            "lxc.init.gid = 9",
            "lxc.init.cwd = /maps",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
    }

    #[test]
    fn what_the_server_would_write_into_other_lines_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let mut plan = plan(root.path(), LimitsPlan::default(), Access::default());
        if let Program::Command { env, .. } = &mut plan.services[0].program {
            *env = vec![("A".to_owned(), "b\nlxc.init.cmd = /y".to_owned())];
        }
        let error = service(&ground(), &plan, &plan.services[0], "i").unwrap_err();
        assert!(error.to_string().contains("environment.A"), "{error}");
    }
}
