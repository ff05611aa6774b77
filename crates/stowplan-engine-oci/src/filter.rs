//! A seccomp profile as the program that the kernel runs for every system call.
//!
//! Translating Docker's profile takes longer than all else that makes a container. Every container of a deployment has
//! the same, so the agent translates it once and the helpers pass it to the kernel.

use std::fs::File;
use std::io::{self, Read, Seek};

use libseccomp::error::SeccompError;
use libseccomp::{
    ScmpAction, ScmpArch, ScmpArgCompare, ScmpCompareOp, ScmpFilterContext, ScmpSyscall,
};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::capabilities::Capabilities;
use crate::seccomp::{self, Compare, Rule};

/// Instructions as seccomp(2) takes them (`struct sock_filter`), eight bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filter(Vec<u64>);

/// Why a profile could not be translated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// The library refused something.
    #[error("libseccomp")]
    Library(#[from] SeccompError),
    /// The program could not be read back from it.
    #[error("cannot read the filter from memory")]
    Memory(#[from] io::Error),
}

impl Filter {
    /// Docker's default profile for a container with these capabilities. System calls that the library does not know
    /// are left out, as in other runtimes: what is not allowed is refused.
    pub(crate) fn of_docker(kept: Capabilities) -> Result<Self, FilterError> {
        let mut context = ScmpFilterContext::new(refuse(seccomp::EPERM))?;
        for architecture in seccomp::ARCHITECTURES {
            context.add_arch(architecture.parse::<ScmpArch>()?)?;
        }
        for call in seccomp::allowed(kept) {
            if let Ok(call) = ScmpSyscall::from_name(call) {
                context.add_rule(ScmpAction::Allow, call)?;
            }
        }
        for rule in seccomp::rules(kept) {
            add(&mut context, &rule)?;
        }
        let mut memory =
            File::from(memfd_create("filter", MemfdFlags::CLOEXEC).map_err(io::Error::from)?);
        context.export_bpf(&memory)?;
        memory.rewind()?;
        let mut bytes = Vec::new();
        memory.read_to_end(&mut bytes)?;
        let (words, _) = bytes.as_chunks();
        Ok(Self(
            words.iter().copied().map(u64::from_ne_bytes).collect(),
        ))
    }

    /// Gives it to this process, which needs `no_new_privs` or `CAP_SYS_ADMIN`, for ever.
    pub(crate) fn install(&self) -> io::Result<()> {
        let mut instructions: Vec<libc::sock_filter> =
            self.0.iter().copied().map(instruction).collect();
        let program = libc::sock_fprog {
            len: instructions.len().try_into().map_err(io::Error::other)?,
            filter: instructions.as_mut_ptr(),
        };
        // SAFETY: the program and its instructions live until the call returns; the kernel checks and copies them.
        let done = unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

const fn instruction(word: u64) -> libc::sock_filter {
    let [c0, c1, jt, jf, k0, k1, k2, k3] = word.to_ne_bytes();
    libc::sock_filter {
        code: u16::from_ne_bytes([c0, c1]),
        jt,
        jf,
        k: u32::from_ne_bytes([k0, k1, k2, k3]),
    }
}

const fn refuse(errno: u32) -> ScmpAction {
    ScmpAction::Errno(errno.cast_signed())
}

fn add(context: &mut ScmpFilterContext, rule: &Rule) -> Result<(), SeccompError> {
    let Ok(call) = ScmpSyscall::from_name(rule.call) else {
        return Ok(());
    };
    let action = rule.errno.map_or(ScmpAction::Allow, refuse);
    let Some((compare, value)) = rule.first_argument else {
        return context.add_rule(action, call).map(drop);
    };
    let (operator, value) = match compare {
        Compare::NotEqual => (ScmpCompareOp::NotEqual, value),
        Compare::Equal => (ScmpCompareOp::Equal, value),
        Compare::NoBitOf => (ScmpCompareOp::MaskedEqual(value), 0),
    };
    let argument = ScmpArgCompare::new(0, operator, value);
    context
        .add_rule_conditional(action, call, &[argument])
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;
    use crate::capabilities::DOCKER_DEFAULT;

    /// Whether a program succeeds under the filter of these capabilities.
    fn succeeds(kept: Capabilities, command: &[&str]) -> bool {
        let filter = Filter::of_docker(kept).unwrap();
        let mut child = Command::new(command[0]);
        child.args(&command[1..]);
        let install = move || {
            // SAFETY: concerns this process alone, and takes no memory.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            filter.install()
        };
        // SAFETY: the allocator is fit for a child of fork(2) here, as in every use of the filter.
        unsafe { child.pre_exec(install) };
        child.output().unwrap().status.success()
    }

    #[test]
    fn programs_run_but_not_in_new_namespaces() {
        let all = Capabilities::from_bits(u64::MAX);
        let into_user_namespace = ["unshare", "--user", "true"];
        assert!(succeeds(
            DOCKER_DEFAULT,
            &["sh", "-c", "true | cat; true & wait"]
        ));
        assert!(!succeeds(DOCKER_DEFAULT, &into_user_namespace));
        assert!(succeeds(all, &into_user_namespace));
    }

    #[test]
    fn arguments_decide_where_the_profile_says_so() {
        let personality = |value: &str| succeeds(DOCKER_DEFAULT, &["setarch", value, "true"]);
        // UNAME26 alone is 0x20000, which is allowed; ADDR_NO_RANDOMIZE is not.
        assert!(personality("--uname-2.6"));
        assert!(!personality("--addr-no-randomize"));
    }
}
