//! Running a program with a time-out, and what children of ours must not inherit.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use stowplan_host::HostError;

/// Signals that end a recording in good order.
pub const RECORDED: [i32; 2] = [libc::SIGINT, libc::SIGTERM];

/// Blocks [`RECORDED`] in this thread and all that it starts, so that they can be read from a descriptor.
///
/// # Errors
/// When the kernel refuses.
pub fn block_signals() -> io::Result<()> {
    mask(libc::SIG_BLOCK)
}

/// Undoes [`block_signals`], and lets [`RECORDED`] end a program again: what a script starts in its background ignores
/// SIGINT. Safe between fork and exec.
///
/// # Errors
/// When the kernel refuses.
pub fn unblock_signals() -> io::Result<()> {
    for signal in RECORDED {
        // SAFETY: no handler is installed that could be called.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    mask(libc::SIG_UNBLOCK)
}

fn mask(how: i32) -> io::Result<()> {
    // SAFETY: the set is initialised before it is used, and lives during the call.
    let done = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in RECORDED {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut())
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(done))
    }
}

/// Program and arguments as they are told in an error.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

/// Runs it to its end, at most `longest`; gives its output.
///
/// # Errors
/// When it cannot be started, does not end in time or fails; with its arguments and what it said.
pub(crate) fn run(mut command: Command, longest: Duration) -> Result<String, HostError> {
    let name = shown(&command);
    let failed = |e: io::Error| HostError::new(format!("cannot run '{name}'")).because(e);
    // What is read here is a few lines: less than a pipe holds, so that it need not be read while the program runs.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let in_time = ends_within(&child, longest);
    if !in_time {
        // It may end in this moment by itself.
        let _ = child.kill();
    }
    let output = child.wait_with_output().map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if in_time && output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = [text(&output.stderr), text(&output.stdout)].join("\n");
    let how = if in_time {
        format!("ended with {}", output.status)
    } else {
        format!("did not end within {} s", longest.as_secs())
    };
    Err(HostError::new(format!("'{name}' {how}: {}", said.trim())))
}

/// Whether the process ends within that time.
pub(crate) fn ends_within(child: &Child, longest: Duration) -> bool {
    let Ok(fd) = pid(child.id()).and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?)) else {
        return false;
    };
    let timeout = Timespec::try_from(longest).ok();
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return matches!(ended, Ok(n) if n > 0),
        }
    }
}

pub(crate) fn pid(raw: u32) -> io::Result<Pid> {
    let pid = i32::try_from(raw).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_gives_its_output_or_says_why_not() {
        let long = Duration::from_secs(60);
        assert_eq!(run(sh("echo out"), long).unwrap(), "out");
        let error = run(sh("echo no disk >&2; exit 3"), long).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("sh -c echo no disk"), "{text}");
        assert!(text.ends_with("exit status: 3: no disk"), "{text}");
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let error = run(sh("exec sleep 1000"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("did not end within"), "{error}");
    }
}
