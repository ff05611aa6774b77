//! What one command line adds.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use stowplan_engine::{EngineError, NODE_ENVIRONMENT};
use stowplan_host::Host;
use stowplan_wire::deployment::{DeploymentPlan, Program, ServiceStart};

/// An engine that is a command line.
pub trait Tool {
    /// Name of its program, which holds the containers.
    fn program(&self) -> &'static str;

    /// Makes what belongs to the run and should not be in a start, and sees that every service can be started. What it
    /// makes is entered in the ledger first.
    ///
    /// # Errors
    /// When something cannot be made, or a service asks for what cannot be had.
    fn prepare(&mut self, plan: &DeploymentPlan, host: &dyn Host) -> Result<(), EngineError>;

    /// The command line that holds the container of a service in the foreground; `budget_us` is the real-time budget of a service
    /// with a real-time class, in µs of each second, where there are budgets.
    ///
    /// # Errors
    /// When there is none for this service.
    fn invocation(
        &self,
        plan: &DeploymentPlan,
        service: &ServiceStart,
        budget_us: Option<u64>,
    ) -> Result<Invocation, EngineError>;

    /// Pid of the container's first process, once the tool has said in `said` that it is about to run its program.
    fn leader(&self, said: &str) -> Option<u32>;

    /// Status of that process (exit code, or 128 + signal), from the tool's own status and the end of its log.
    fn status(&self, status: i32, log: &str) -> i32;

    /// Removes what [`Tool::prepare`] made. May be called again.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn remove(&mut self) -> Result<(), EngineError>;

    /// What differs from the engine's defaults, and from what was asked for.
    fn deviations(&self) -> Vec<String>;
}

/// A command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Program, found in PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables of its own environment, which the service does not see.
    pub environment: Vec<(String, String)>,
    /// The tool's own log, where it has one and says the first process there; otherwise it says it to `NOTIFY_SOCKET`,
    /// and complains in the log of the service.
    pub log: Option<PathBuf>,
    /// The groups that the tool itself makes for the container below those that it is started in; without them the container
    /// stays where the tool is started, in groups that get their limits before.
    pub group: Option<InnerGroup>,
    /// Whether the tool gives the program its scheduling class; otherwise the tool gets it and passes it on.
    pub gives_class: bool,
    /// Folders outside of the run folder that it makes and that a killed one leaves.
    pub leaves: Vec<PathBuf>,
}

/// Groups that a tool makes for a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerGroup {
    /// Their name.
    pub name: String,
    /// Whether the tool gives them the limits of the service; otherwise those above have them from the beginning, and these get
    /// the same when the tool has made them.
    pub limited: bool,
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        for argument in &self.arguments {
            write!(f, " {}", argument.to_string_lossy())?;
        }
        Ok(())
    }
}

/// Variables of a service's program.
#[must_use]
pub fn environment(program: &Program) -> Vec<(String, String)> {
    let base = NODE_ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match program {
        Program::Node => base.into(),
        Program::Command { env, .. } => {
            let mut all = env.clone();
            if !env.iter().any(|(name, _)| name == "PATH") {
                all.extend(base);
            }
            all
        }
    }
}

/// Program and arguments of a service as its container, whose root file system lies at `root` here, finds them; the
/// program with its whole path.
///
/// # Errors
/// When there is no such program.
pub fn command_in_root(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    root: &Path,
) -> Result<Vec<String>, EngineError> {
    let mut command = match &service.program {
        Program::Node => vec![
            "/stowplan-node".to_owned(),
            "launch".to_owned(),
            format!("{}/{}/plan.json", plan.run_dir, service.name),
            "--files".to_owned(),
            "/files".to_owned(),
        ],
        Program::Command { command, .. } => command.clone(),
    };
    let Some(program) = command.first_mut() else {
        return Err(EngineError::new("the command is empty"));
    };
    let environment = environment(&service.program);
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let folders = path.map_or("", |(_, folders)| folders);
    let found = if program.contains('/') {
        is_there(root, program).then(|| program.clone())
    } else {
        folders
            .split(':')
            .map(|folder| format!("{folder}/{program}"))
            .find(|path| is_there(root, path))
    };
    *program = found.ok_or_else(|| {
        EngineError::new(format!(
            "there is no program '{program}' in {}",
            root.display()
        ))
        .hint("give the absolute path of an executable file there, or its name in a folder of PATH")
    })?;
    Ok(command)
}

/// Whether something lies at `path` below `root`. A link to an absolute path leads elsewhere here than there, so it
/// counts as it is.
fn is_there(root: &Path, path: &str) -> bool {
    let path = root.join(path.trim_start_matches('/'));
    fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir())
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;

    use super::*;

    #[test]
    fn a_program_is_found_in_its_own_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("usr/bin/folder")).unwrap();
        fs::write(root.path().join("usr/bin/tool"), "").unwrap();
        let find = |program: &str| {
            let plan = command_plan("r", "/r", None, &[("a", &[program, "-x"])]);
            command_in_root(&plan, &plan.services[0], root.path())
        };
        assert_eq!(find("tool").unwrap(), ["/usr/bin/tool", "-x"]);
        assert_eq!(find("/usr/bin/tool").unwrap(), ["/usr/bin/tool", "-x"]);
        for absent in ["/bin/tool", "folder", "nothing"] {
            let error = find(absent).unwrap_err().to_string();
            assert!(
                error.contains(&format!("no program '{absent}' in")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_node_program_lies_at_the_top_of_the_image() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("stowplan-node"), "").unwrap();
        let mut plan = command_plan("r", "/r", None, &[("a", &["x"])]);
        plan.services[0].program = Program::Node;
        assert_eq!(
            command_in_root(&plan, &plan.services[0], root.path()).unwrap(),
            [
                "/stowplan-node",
                "launch",
                "/r/a/plan.json",
                "--files",
                "/files"
            ]
        );
        assert_eq!(environment(&Program::Node).len(), NODE_ENVIRONMENT.len());
    }
}
