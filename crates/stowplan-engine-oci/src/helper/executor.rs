//! What happens in the container's first process before its program.

use std::collections::HashMap;
use std::ffi::{CString, NulError};
use std::io;

use libcontainer::capabilities::drop_privileges;
use libcontainer::oci_spec::runtime::{LinuxCapabilities, Spec};
use libcontainer::syscall::syscall::create_syscall;
use libcontainer::workload::ExecutorValidationError::ArgValidationError;
use libcontainer::workload::default::DefaultExecutor;
use libcontainer::workload::{
    Executor, ExecutorError, ExecutorSetEnvsError, ExecutorValidationError,
};
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};

use super::executed::Reporter;
use super::view::RawView;
use crate::filter::Filter;

/// Runs the program as libcontainer does, after what libcontainer cannot do.
#[derive(Clone)]
pub(crate) struct ServiceExecutor {
    /// Set when the service stays in the host's mount namespace.
    pub return_to_host: Option<Return>,
    /// The program's environment, exactly: libcontainer would add a HOME.
    pub environment: Vec<String>,
    /// Whether the helper, being no root, may only look at the process when it is dumpable.
    pub dumpable: bool,
    /// What system calls its program may make; all, where there is none.
    pub filter: Option<Filter>,
    /// Who waits for the program.
    pub reporter: Reporter,
}

/// The way back to the host's mount namespace, and what must wait until then because it forbids going.
#[derive(Clone)]
pub(crate) struct Return {
    /// The host's mounts, by descriptors inherited from the helper.
    pub host: RawView,
    /// Capabilities to keep.
    pub capabilities: Option<LinuxCapabilities>,
}

impl Return {
    fn go(&self) -> Result<(), String> {
        self.host
            .enter()
            .map_err(|error| format!("cannot return to the host's mount namespace: {error}"))?;
        if let Some(capabilities) = &self.capabilities {
            drop_privileges(capabilities, &*create_syscall())
                .map_err(|error| format!("cannot drop capabilities: {error}"))?;
        }
        Ok(())
    }
}

impl Executor for ServiceExecutor {
    /// The last step before the container counts as created: what fails here fails `create`.
    fn validate(&self, spec: &Spec) -> Result<(), ExecutorValidationError> {
        if let Some(way) = &self.return_to_host {
            way.go().map_err(ArgValidationError)?;
        }
        if self.dumpable {
            let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
        }
        // The helper removes everything when it ends; this is for the case that it cannot. It is single-threaded,
        // so the signal comes when the process ends and not before. Set last: changing credentials clears it.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
            ArgValidationError(format!(
                "cannot ask for a signal at the helper's death: {error}"
            ))
        })?;
        DefaultExecutor {}.validate(spec)?;
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        filter
            .install()
            .map_err(|error| ArgValidationError(format!("cannot load the seccomp filter: {error}")))
    }

    /// The environment comes with the program.
    fn setup_envs(&self, _: HashMap<String, String>) -> Result<(), ExecutorSetEnvsError> {
        Ok(())
    }

    /// Only returns when the program cannot be executed; the helper is told, and the reason stands in the service's log.
    fn exec(&self, spec: &Spec) -> Result<(), ExecutorError> {
        let arguments = spec
            .process()
            .as_ref()
            .and_then(|process| process.args().clone())
            .unwrap_or_default();
        reset_signals();
        let error = execute(&arguments, &self.environment);
        let program = arguments.first().map_or("", String::as_str);
        let why = format!("cannot execute {program}: {error}");
        eprintln!("stowplan: {why}");
        self.reporter.failed(&why);
        Err(ExecutorError::Other(error.to_string()))
    }
}

/// Gives the program the signals as a login gives them. What the agent and this program block or ignore for themselves
/// (SIGTERM, SIGPIPE) would pass on: the service could not be asked to end.
fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: takes no memory of ours. It fails for SIGKILL and SIGSTOP, which nobody can ignore.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    super::wake::unblock_signals();
}

/// Becomes another program, found in the PATH of its own environment; returns why that failed.
fn execute(arguments: &[String], environment: &[String]) -> io::Error {
    let texts = |list: &[String]| -> Result<Vec<CString>, NulError> {
        list.iter()
            .map(|text| CString::new(text.as_str()))
            .collect()
    };
    let (Ok(arguments), Ok(environment)) = (texts(arguments), texts(environment)) else {
        return io::Error::new(io::ErrorKind::InvalidInput, "it has a zero byte");
    };
    let Some(program) = arguments.first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
    };
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter()
            .map(|text| text.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    for path in candidates(program, &environment) {
        // SAFETY: all three are terminated as execve(2) wants them and live until it returns, if it does.
        unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::NotFound {
            return error;
        }
    }
    io::ErrorKind::NotFound.into()
}

/// The files that a program name can mean: itself where it has a slash, else one in each folder of PATH.
fn candidates(program: &CString, environment: &[CString]) -> Vec<CString> {
    if program.as_bytes().contains(&b'/') {
        return vec![program.clone()];
    }
    let path = environment
        .iter()
        .find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="))
        .unwrap_or_default();
    path.split(|byte| *byte == b':')
        .filter_map(|folder| CString::new([folder, b"/", program.as_bytes()].concat()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_slash_is_looked_for_in_path() {
        let environment = [c"A=b".to_owned(), c"PATH=/x:/y z".to_owned()];
        let found = candidates(&c"sh".to_owned(), &environment);
        assert_eq!(found, [c"/x/sh".to_owned(), c"/y z/sh".to_owned()]);
        let own = candidates(&c"./sh".to_owned(), &environment);
        assert_eq!(own, [c"./sh".to_owned()]);
    }

    #[test]
    fn what_cannot_be_executed_says_why() {
        let run = |program: &str| execute(&[program.to_owned()], &["PATH=/nonexistent".to_owned()]);
        assert_eq!(run("nothing").kind(), io::ErrorKind::NotFound);
        assert_eq!(run("/etc/passwd").kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(execute(&[], &[]).kind(), io::ErrorKind::InvalidInput);
    }
}
