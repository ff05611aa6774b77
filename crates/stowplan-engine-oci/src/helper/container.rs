//! One container, made by libcontainer.

use std::fs::{File, OpenOptions};
use std::path::Path;

use libcontainer::container::Container;
use libcontainer::container::builder::ContainerBuilder;
use libcontainer::syscall::syscall::SyscallType;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde_json::Value;

use super::error::{Context as _, HelperError};
use super::executed::{self, Executed};
use super::executor::{Return, ServiceExecutor};
use super::place::Place;
use crate::protocol::HelperPlan;
use crate::spec::{self, Surroundings};

/// Makes the container of `plan`, whose program waits for [`start`], and what tells whether that was executed.
pub(crate) fn create(
    plan: &HelperPlan,
    place: &Place,
    around: &Surroundings,
) -> Result<(Container, Executed), HelperError> {
    let root = place.root(plan)?;
    let bundle = place.folder("bundle")?;
    let state = place.folder("state")?;
    write_config(&bundle, &spec::config(plan, &root, around))?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&plan.service.log)
        .context(format_args!("cannot open the log {}", plan.service.log))?;
    let errors = log
        .try_clone()
        .context("cannot duplicate the log's descriptor")?;
    let (executed, reporter, end) = executed::pipe()?;
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    let container = ContainerBuilder::new(spec::container_id(plan), SyscallType::default())
        .with_root_path(state)
        .context("cannot use the state folder")?
        .with_executor(ServiceExecutor {
            return_to_host: way_back(plan, place, around)?,
            environment: spec::environment(plan),
            dumpable: around.rootless,
            filter: plan.filter.clone(),
            reporter,
        })
        .with_stdin(nothing)
        .with_stdout(log)
        .with_stderr(errors)
        .as_init(&bundle)
        .with_systemd(false)
        .with_detach(true)
        .build()
        .context("cannot create the container")
        .map_err(|error| error.hint("its log says more"));
    drop(end);
    // Libcontainer makes its caller undumpable, which hides the caller's own /proc files from it when it is not root.
    set_dumpable_behavior(DumpableBehavior::Dumpable).context("cannot make the helper dumpable")?;
    Ok((container?, executed))
}

/// Lets the program of a created container run, and waits until it was executed.
pub(crate) fn start(container: &mut Container, executed: &mut Executed) -> Result<(), HelperError> {
    container.start().context("cannot start the container")?;
    executed.wait()
}

fn write_config(bundle: &Path, config: &Value) -> Result<(), HelperError> {
    let path = bundle.join("config.json");
    std::fs::write(&path, config.to_string())
        .context(format_args!("cannot write {}", path.display()))
}

fn way_back(
    plan: &HelperPlan,
    place: &Place,
    around: &Surroundings,
) -> Result<Option<Return>, HelperError> {
    if plan.isolation.mount {
        return Ok(None);
    }
    Ok(Some(Return {
        host: place.host().raw(),
        capabilities: serde_json::from_value(spec::capabilities(plan, around))
            .context("the capabilities are not as libcontainer wants them")?,
    }))
}
