//! The program of a service as the kernel wants it.

use std::ffi::{CString, NulError};
use std::path::Path;

use rustix::process::{getegid, geteuid};
use stowplan_engine::{EngineError, NODE_ENVIRONMENT};
use stowplan_host::{Device, Ids};
use stowplan_wire::deployment::{Access, DeploymentPlan, Program, ServiceStart};

/// Program, arguments and environment, ready for `execve`.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// File to execute.
    pub(crate) path: CString,
    /// Arguments with the program's own name first.
    pub(crate) arguments: Vec<CString>,
    /// `NAME=VALUE`.
    pub(crate) environment: Vec<CString>,
    /// Whom it runs as, where that is another user than this one.
    pub(crate) user: Option<Ids>,
    /// Folder that it starts in.
    pub(crate) working_dir: CString,
}

pub(crate) fn prepare(
    plan: &DeploymentPlan,
    service: &ServiceStart,
) -> Result<Prepared, EngineError> {
    let base = NODE_ENVIRONMENT.map(|(name, value)| format!("{name}={value}"));
    let none = Access::default();
    let access = match &service.program {
        Program::Node => &none,
        Program::Command { access, .. } => access,
    };
    let (arguments, environment) = match &service.program {
        Program::Node => {
            let arguments = vec![
                format!("{}/stowplan-node", plan.image_dir),
                "launch".to_owned(),
                format!("{}/{}/plan.json", plan.run_dir, service.name),
                "--files".to_owned(),
                format!("{}/files", plan.image_dir),
            ];
            (arguments, base.to_vec())
        }
        Program::Command { command, env, .. } => {
            let mut environment: Vec<String> = env
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            if !env.iter().any(|(name, _)| name == "PATH") {
                environment.extend(base);
            }
            (command.clone(), environment)
        }
    };
    let Some(program) = arguments.first() else {
        return Err(EngineError::new("the command is empty"));
    };
    let path = find(program, &environment).ok_or_else(|| {
        EngineError::new(format!("there is no program '{program}'"))
            .hint("give the absolute path of an executable file, or its name in a folder of PATH")
    })?;
    let texts = |list: Vec<String>| -> Result<Vec<CString>, NulError> {
        list.into_iter().map(CString::new).collect()
    };
    let zero = |e: NulError| EngineError::new("an argument has a zero byte").because(e);
    finds_its_files(access)?;
    Ok(Prepared {
        path: CString::new(path).map_err(zero)?,
        arguments: texts(arguments).map_err(zero)?,
        environment: texts(environment).map_err(zero)?,
        user: other_user(access)?,
        working_dir: CString::new(access.working_dir.as_deref().unwrap_or("/")).map_err(zero)?,
    })
}

/// What a program is given of the host only has to be there.
fn finds_its_files(access: &Access) -> Result<(), EngineError> {
    for device in &access.devices {
        Device::find(device)?;
    }
    if let Some(mount) = access
        .mounts
        .iter()
        .find(|mount| !Path::new(&mount.from).exists())
    {
        return Err(EngineError::new(format!("there is no {}", mount.from)));
    }
    if let Some(folder) = access
        .working_dir
        .as_ref()
        .filter(|path| !Path::new(path).is_dir())
    {
        return Err(EngineError::new(format!(
            "there is no folder {folder} to start in"
        )));
    }
    Ok(())
}

/// Of these mounts, those that the program may write to though it was to read them only: there is no mount.
pub(crate) fn writable_mounts(plan: &DeploymentPlan) -> impl Iterator<Item = String> {
    plan.services.iter().flat_map(|service| {
        let mounts = match &service.program {
            Program::Node => &[][..],
            Program::Command { access, .. } => &access.mounts,
        };
        let read_only = mounts.iter().filter(|mount| mount.read_only);
        read_only.map(|mount| {
            format!(
                "service '{}' has the host's own {}, not a mount that can only be read",
                service.name, mount.to
            )
        })
    })
}

/// The user of a program that does not run as this one.
fn other_user(access: &Access) -> Result<Option<Ids>, EngineError> {
    let Some(user) = &access.user else {
        return Ok(None);
    };
    let own = Ids {
        user: geteuid().as_raw(),
        group: getegid().as_raw(),
    };
    let wanted = Ids::find(Path::new("/"), user)?;
    if wanted == own {
        return Ok(None);
    }
    if own.user != 0 {
        return Err(
            EngineError::new(format!("it cannot run as '{user}' without root"))
                .hint("run as root, or leave 'user' out"),
        );
    }
    Ok(Some(wanted))
}

/// The file of a program: itself where its name has a slash, else the first in PATH of the service.
fn find(program: &str, environment: &[String]) -> Option<String> {
    let runs = |path: &str| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file())
            && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if program.contains('/') {
        return runs(program).then(|| program.to_owned());
    }
    environment
        .iter()
        .find_map(|variable| variable.strip_prefix("PATH="))?
        .split(':')
        .map(|folder| format!("{folder}/{program}"))
        .find(|path| runs(path))
}
