//! The mounts of a container, as Docker makes them by default.

use std::path::Path;

use serde_json::{Value, json};

use crate::protocol::HelperPlan;

/// Size of `/dev/shm`, Docker's default.
const SHM: &str = "size=65536k";

/// `mounts` of the OCI configuration.
pub(crate) fn mounts(plan: &HelperPlan, rootless: bool) -> Vec<Value> {
    let dev = mount(
        "/dev",
        "tmpfs",
        "tmpfs",
        &["nosuid", "strictatime", "mode=755", SHM],
    );
    if !plan.isolation.mount {
        // The throw-away root: just enough for libcontainer to work in it.
        return vec![dev];
    }
    let mut mounts = vec![proc(plan), dev, terminals(rootless), sys(plan), shm(plan)];
    mounts.extend(message_queues(plan));
    mounts.push(bind(
        &plan.service_dir,
        &["bind", "rprivate", "nosuid", "nodev"],
    ));
    for wanted in plan.access().iter().flat_map(|access| &access.mounts) {
        let options: &[&str] = if wanted.read_only {
            &["rbind", "rprivate", "ro"]
        } else {
            &["rbind", "rprivate"]
        };
        mounts.push(mount(&wanted.to, "bind", &wanted.from, options));
    }
    mounts
}

fn proc(plan: &HelperPlan) -> Value {
    if plan.isolation.user && !plan.isolation.pid {
        // A user namespace may only mount the proc of a PID namespace that it owns.
        return bind("/proc", &["rbind", "rprivate", "nosuid", "noexec", "nodev"]);
    }
    mount("/proc", "proc", "proc", &["nosuid", "noexec", "nodev"])
}

fn terminals(rootless: bool) -> Value {
    let mut options = vec![
        "nosuid",
        "noexec",
        "newinstance",
        "ptmxmode=0666",
        "mode=0620",
    ];
    if !rootless {
        // The group `tty`, which a user namespace with one id does not have.
        options.push("gid=5");
    }
    mount("/dev/pts", "devpts", "devpts", &options)
}

fn sys(plan: &HelperPlan) -> Value {
    if plan.isolation.user && !plan.isolation.net {
        // Likewise, sysfs belongs to the network namespace.
        return bind(
            "/sys",
            &["rbind", "rprivate", "nosuid", "noexec", "nodev", "rro"],
        );
    }
    mount(
        "/sys",
        "sysfs",
        "sysfs",
        &["nosuid", "noexec", "nodev", "ro"],
    )
}

fn shm(plan: &HelperPlan) -> Value {
    if plan.isolation.ipc {
        let options = ["nosuid", "noexec", "nodev", "mode=1777", SHM];
        return mount("/dev/shm", "tmpfs", "shm", &options);
    }
    bind("/dev/shm", &["bind", "rprivate", "nosuid", "nodev"])
}

fn message_queues(plan: &HelperPlan) -> Option<Value> {
    if plan.isolation.user && !plan.isolation.ipc {
        let options = ["bind", "rprivate", "nosuid", "noexec", "nodev"];
        return Path::new("/dev/mqueue")
            .is_dir()
            .then(|| bind("/dev/mqueue", &options));
    }
    let options = ["nosuid", "noexec", "nodev"];
    Some(mount("/dev/mqueue", "mqueue", "mqueue", &options))
}

fn mount(destination: &str, kind: &str, source: &str, options: &[&str]) -> Value {
    json!({"destination": destination, "type": kind, "source": source, "options": options})
}

/// The host's `path` at the same path.
fn bind(path: &str, options: &[&str]) -> Value {
    mount(path, "bind", path, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::{isolation, plan};

    fn destinations(plan: &HelperPlan) -> Vec<String> {
        mounts(plan, false)
            .iter()
            .map(|mount| mount["destination"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_run_folder_comes_after_the_shm_that_would_hide_it() {
        let order = destinations(&plan(isolation(true)));
        let at = |name: &str| order.iter().position(|path| path == name).unwrap();
        assert!(at("/dev") < at("/dev/shm"));
        assert!(at("/dev/shm") < at("/dev/shm/stowplan-r1/sensing"));
    }

    #[test]
    fn a_user_namespace_binds_what_it_may_not_mount() {
        let mut switches = isolation(false);
        switches.mount = true;
        switches.user = true;
        let kinds: Vec<_> = mounts(&plan(switches), false)
            .iter()
            .filter(|m| m["type"] == "bind")
            .map(|m| m["destination"].as_str().unwrap().to_owned())
            .collect();
        assert!(kinds.contains(&"/proc".to_owned()) && kinds.contains(&"/sys".to_owned()));
    }
}
