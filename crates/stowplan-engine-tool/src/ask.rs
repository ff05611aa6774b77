//! A short call of a tool, with a time-out.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use stowplan_engine::{EngineError, NODE_ENVIRONMENT};
use stowplan_host::wait_readable;

/// Runs `program` until it ends, at most `patience`; gives what it wrote to standard output.
///
/// # Errors
/// When it cannot be run, ends with another status than 0 or not in time: with all its arguments and what it wrote to
/// standard error.
pub fn ask(program: &str, arguments: &[&str], patience: Duration) -> Result<String, EngineError> {
    let line = [&[program], arguments].concat().join(" ");
    let failed = |what: &str| EngineError::new(format!("'{line}' {what}"));
    let buffer = |name: &str| {
        memfd_create(name, MemfdFlags::CLOEXEC)
            .map(File::from)
            .map_err(|e| failed("has nowhere to write to").because(e))
    };
    let (mut output, mut complaint) = (buffer("output")?, buffer("complaint")?);
    let copy = |file: &File| {
        let copied = file.try_clone();
        copied.map_err(|e| failed("has nowhere to write to").because(e))
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(NODE_ENVIRONMENT)
        .stdin(Stdio::null())
        .stdout(copy(&output)?)
        .stderr(copy(&complaint)?)
        .spawn()
        .map_err(|e| failed("cannot be run").because(e))?;
    let in_time = ends_in_time(child.id(), patience);
    if !in_time {
        // It may have ended just now, which is as good.
        let _ = child.kill();
    }
    let status = child
        .wait()
        .map_err(|e| failed("cannot be waited for").because(e))?;
    let complaint = text(&mut complaint);
    if !in_time {
        return Err(failed(&format!(
            "did not end within {} s: {complaint}",
            patience.as_secs()
        )));
    }
    if !status.success() {
        return Err(failed(&format!("ended with {status}: {complaint}")));
    }
    Ok(text(&mut output))
}

fn ends_in_time(pid: u32, patience: Duration) -> bool {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else {
        return true;
    };
    // A child that was not waited for has its pid.
    pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|end| wait_until(end.as_fd(), patience))
}

/// Waits until the descriptor is readable, at most `patience`. Whether it is.
pub(crate) fn wait_until(fd: std::os::fd::BorrowedFd<'_>, patience: Duration) -> bool {
    wait_readable(&[fd], Instant::now() + patience)
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // What cannot be read back is not worth a second error.
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_tool_is_asked_and_its_complaint_is_told() {
        let word = ask("/bin/sh", &["-c", "echo $0 $PATH | cut -c-6", "a"], LONG);
        assert_eq!(word.unwrap(), "a /usr");
        let error = ask("/bin/sh", &["-c", "echo no >&2; exit 3"], LONG).unwrap_err();
        let text = "'/bin/sh -c echo no >&2; exit 3' ended with exit status: 3: no";
        assert_eq!(error.to_string(), text);
        let error = ask("no-such-tool", &["-v"], LONG).unwrap_err();
        assert_eq!(error.to_string(), "'no-such-tool -v' cannot be run");
    }

    #[test]
    fn a_tool_that_hangs_is_ended() {
        let error = ask("sleep", &["1000"], Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("did not end within 0 s"));
    }
}
