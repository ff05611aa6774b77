//! Services as sessions of setsid(1), each in a control group of its own: the smallest engine that measures.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{
    Capabilities, CpuGroups, Deployment, Engine, EngineError, LimitSupport, Probe, Variant,
};
use stowplan_engine_tool::{Invocation, Tool, ToolDeployment, ask, command_in_root, environment};
use stowplan_host::Host;
use stowplan_wire::deployment::{DeploymentPlan, Program, ServiceStart};

const NAME: &str = "setsid";

/// Becomes setsid(1), which complains in the file that also has the pid; the program keeps the errors of the service.
const HOLDER: &str = "exec setsid --fork --wait /bin/sh -c \"$@\" 3>&2 2>>\"$2\"";

/// Tells its pid, which the program then has, and becomes the program with these variables and no others.
const SCRIPT: &str = "cd / && echo $$ >\"$0\" && exec env -i \"$@\" 2>&3 3>&-";

/// What setsid(1) says of a program that a signal ended; its own status is the number of the signal then.
const KILLED: &str = "did not exit normally";

/// The engine.
pub struct Setsid;

impl Engine for Setsid {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let version = ask(NAME, &["--version"], Duration::from_secs(10));
        Probe::of(version.map(|said| said.trim().to_owned()), || {
            "apt-get install util-linux".to_owned()
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                separate_create: false,
                user: false,
                ..Variant::processes("", CpuGroups::InRun, LimitSupport::all())
            }],
            max_services: None,
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require(NAME, plan)?;
        let deployment = ToolDeployment::prepare(Box::new(SetsidTool), plan, host)?;
        Ok(Box::new(deployment))
    }
}

struct SetsidTool;

impl Tool for SetsidTool {
    fn program(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self, _plan: &DeploymentPlan, _host: &dyn Host) -> Result<(), EngineError> {
        Ok(())
    }

    fn invocation(
        &self,
        plan: &DeploymentPlan,
        service: &ServiceStart,
        _budget_us: Option<u64>,
    ) -> Result<Invocation, EngineError> {
        let pid_file = PathBuf::from(format!("{}/{}.pid", plan.run_dir, service.name));
        let mut arguments: Vec<_> = ["-c", HOLDER, "sh", SCRIPT].map(Into::into).into();
        arguments.push(pid_file.clone().into());
        let variables = environment(&service.program).into_iter();
        arguments.extend(variables.map(|(name, value)| format!("{name}={value}").into()));
        arguments.extend(words(plan, service)?.into_iter().map(Into::into));
        Ok(Invocation {
            program: "/bin/sh".to_owned(),
            arguments,
            log: Some(pid_file),
            ..Invocation::default()
        })
    }

    fn leader(&self, said: &str) -> Option<u32> {
        said.split_once('\n')?.0.parse().ok()
    }

    fn status(&self, status: i32, log: &str) -> i32 {
        if log.contains(KILLED) {
            128 + (status & 0x7f)
        } else {
            status
        }
    }

    fn remove(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn deviations(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Program and arguments; those of a node program name the files of its image, which is no root here.
fn words(plan: &DeploymentPlan, service: &ServiceStart) -> Result<Vec<String>, EngineError> {
    if service.program != Program::Node {
        return command_in_root(plan, service, Path::new("/"));
    }
    let mut words = command_in_root(plan, service, Path::new(&plan.image_dir))?;
    for word in &mut words {
        if ["/stowplan-node", "/files"].contains(&word.as_str()) {
            word.insert_str(0, &plan.image_dir);
        }
    }
    Ok(words)
}
