//! The arguments of systemd-nspawn, systemd-nspawn(1).

use std::ffi::OsString;
use std::path::Path;

use stowplan_engine_tool::environment;
use stowplan_wire::deployment::{Access, BindMount, DeploymentPlan, Program, ServiceStart};

/// Where programs share memory by name, shm_overview(7).
const SHARED_MEMORY: &str = "/dev/shm";

/// The arguments for the container `machine` of a service with its root file system at `root`, which runs `command`.
pub(crate) fn arguments(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    machine: &str,
    root: &Path,
    command: Vec<String>,
) -> Vec<OsString> {
    let mut root_option = OsString::from("--directory=");
    root_option.push(root);
    let mut arguments = vec![
        OsString::from("--quiet"),
        // No service manager is asked: the container stays in the control groups that the tool is started in.
        "--register=no".into(),
        "--keep-unit".into(),
        // Neither settings of another container of this name nor the host's journal have to do with it.
        "--settings=no".into(),
        "--link-journal=no".into(),
        format!("--machine={machine}").into(),
        root_option,
        // One image serves all services, and what they write is not in the next run.
        "--volatile=overlay".into(),
        // Output goes where it goes for plain processes, not through a terminal that the tool would have to serve.
        "--console=pipe".into(),
    ];
    if plan.isolation.net {
        arguments.push("--private-network".into());
    }
    if !plan.isolation.ipc {
        arguments.push(bind(SHARED_MEMORY, SHARED_MEMORY, false));
    }
    let own = format!("{}/{}", plan.run_dir, service.name);
    arguments.push(bind(&own, &own, false));
    let variables = environment(&service.program);
    arguments.extend(
        variables
            .iter()
            .map(|(name, value)| format!("--setenv={name}={value}").into()),
    );
    if let Program::Command { access, .. } = &service.program {
        arguments.extend(of_access(access));
    }
    arguments.push("--".into());
    arguments.extend(command.into_iter().map(OsString::from));
    arguments
}

fn of_access(access: &Access) -> Vec<OsString> {
    let mounts = access.mounts.iter();
    let mounts = mounts.map(
        |BindMount {
             from,
             to,
             read_only,
         }| bind(from, to, *read_only),
    );
    let devices = access.devices.iter().map(|path| bind(path, path, false));
    let user = access
        .user
        .iter()
        .map(|user| format!("--user={user}").into());
    let folder = access.working_dir.iter();
    let folder = folder.map(|path| format!("--chdir={path}").into());
    mounts.chain(devices).chain(user).chain(folder).collect()
}

fn bind(from: &str, to: &str, read_only: bool) -> OsString {
    let option = if read_only { "--bind-ro" } else { "--bind" };
    format!("{option}={}:{}", escaped(from), escaped(to)).into()
}

/// A colon ends a path, unless a backslash stands before it.
fn escaped(path: &str) -> String {
    path.replace('\\', "\\\\").replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;

    use super::*;

    fn lines(plan: &DeploymentPlan) -> Vec<String> {
        let command = vec!["/bin/x".to_owned(), "--help".to_owned()];
        arguments(plan, &plan.services[0], "m", Path::new("/i"), command)
            .into_iter()
            .map(|argument| argument.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_program_gets_its_arguments_after_those_of_the_tool() {
        let plan = command_plan("r", "/r", None, &[("a", &["x"])]);
        let lines = lines(&plan);
        let tail: Vec<&str> = lines.iter().rev().take(3).map(String::as_str).collect();
        assert_eq!(tail, ["--help", "/bin/x", "--"]);
        assert!(lines.contains(&"--bind=/r/a:/r/a".to_owned()), "{lines:?}");
        assert!(lines.contains(&"--directory=/i".to_owned()));
        assert!(lines.iter().any(|line| line.starts_with("--setenv=PATH=")));
        assert!(!lines.contains(&"--private-network".to_owned()));
    }

    #[test]
    fn shared_memory_is_the_hosts_where_that_is_asked() {
        let mut plan = command_plan("r", "/r", None, &[("a", &["x"])]);
        let shared = "--bind=/dev/shm:/dev/shm".to_owned();
        assert!(lines(&plan).contains(&shared));
        plan.isolation.ipc = true;
        assert!(!lines(&plan).contains(&shared));
    }

    #[test]
    fn a_network_of_its_own_has_nothing_but_a_loopback() {
        let mut plan = command_plan("r", "/r", None, &[("a", &["x"])]);
        plan.isolation.net = true;
        assert!(lines(&plan).contains(&"--private-network".to_owned()));
    }

    #[test]
    fn what_a_program_has_of_the_host_becomes_options() {
        let mut plan = command_plan("r", "/r", None, &[("a", &["x"])]);
        if let Program::Command { access, env, .. } = &mut plan.services[0].program {
            *env = vec![("A".to_owned(), "b c:d".to_owned())];
            *access = Access {
                mounts: vec![BindMount {
                    from: "/maps:1".to_owned(),
                    to: "/m".to_owned(),
                    read_only: true,
                }],
                devices: vec!["/dev/null".to_owned()],
                user: Some("ros".to_owned()),
                working_dir: Some("/m".to_owned()),
            };
        }
        let lines = lines(&plan);
        for option in [
            "--bind-ro=/maps\\:1:/m",
            "--bind=/dev/null:/dev/null",
            "--user=ros",
            "--chdir=/m",
            "--setenv=A=b c:d",
        ] {
            assert!(lines.contains(&option.to_owned()), "{option}: {lines:?}");
        }
    }
}
