//! What happens in the container's first process before its program.

use std::os::fd::{BorrowedFd, RawFd};

use libcontainer::capabilities::drop_privileges;
use libcontainer::oci_spec::runtime::{LinuxCapabilities, LinuxSeccomp, Spec};
use libcontainer::seccomp::initialize_seccomp;
use libcontainer::syscall::syscall::create_syscall;
use libcontainer::workload::default::DefaultExecutor;
use libcontainer::workload::{Executor, ExecutorError, ExecutorValidationError};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Runs the program as libcontainer does, after what libcontainer cannot do.
#[derive(Clone)]
pub(crate) struct ServiceExecutor {
    /// Set when the service stays in the host's mount namespace.
    pub return_to_host: Option<Return>,
}

/// The way back to the host's mount namespace, and what must wait until then because it forbids going.
#[derive(Clone)]
pub(crate) struct Return {
    /// Descriptor of the namespace, inherited from the helper.
    pub namespace: RawFd,
    /// Capabilities to keep.
    pub capabilities: Option<LinuxCapabilities>,
    /// Seccomp profile.
    pub seccomp: Option<LinuxSeccomp>,
}

impl Return {
    fn go(&self) -> Result<(), String> {
        // SAFETY: the helper keeps the descriptor open as long as it lives, and libcontainer only marks it
        // close-on-exec.
        let namespace = unsafe { BorrowedFd::borrow_raw(self.namespace) };
        move_into_link_name_space(namespace, Some(LinkNameSpaceType::Mount))
            .map_err(|error| format!("cannot return to the host's mount namespace: {error}"))?;
        if let Some(capabilities) = &self.capabilities {
            drop_privileges(capabilities, &*create_syscall())
                .map_err(|error| format!("cannot drop capabilities: {error}"))?;
        }
        if let Some(seccomp) = &self.seccomp {
            initialize_seccomp(seccomp)
                .map_err(|error| format!("cannot load the seccomp profile: {error}"))?;
        }
        Ok(())
    }
}

impl Executor for ServiceExecutor {
    /// The last step before the container counts as created: what fails here fails `create`.
    fn validate(&self, spec: &Spec) -> Result<(), ExecutorValidationError> {
        if let Some(way) = &self.return_to_host {
            way.go()
                .map_err(ExecutorValidationError::ArgValidationError)?;
        }
        // The helper removes everything when it ends; this is for the case that it cannot. It is single-threaded,
        // so the signal comes when the process ends and not before. Set last: changing credentials clears it.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
            ExecutorValidationError::ArgValidationError(format!(
                "cannot ask for a signal at the helper's death: {error}"
            ))
        })?;
        DefaultExecutor {}.validate(spec)
    }

    /// Only returns when the program cannot be executed; the reason then stands in the service's log.
    fn exec(&self, spec: &Spec) -> Result<(), ExecutorError> {
        let result = DefaultExecutor {}.exec(spec);
        if let Err(error) = &result {
            eprintln!("stowplan: {}", stowplan_host::chain(error));
        }
        result
    }
}
