//! The processes of a service, as children of the helper: it is their subreaper, so all of them end up here.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::error::HelperError;

/// How long killed processes may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Exit code, or 128 + signal, of a status as wait(2) gives it.
fn code(status: i32) -> i32 {
    let status = ExitStatus::from_raw(status);
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}

/// Takes the statuses of the children that have ended, without waiting. Gives that of `first` when it is among them.
pub(crate) fn reap(first: Option<Pid>) -> Option<i32> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if Some(pid) == first {
            ended = Some(code(status.as_raw()));
        }
    }
    ended
}

/// Kills every descendant and waits until none is left; gives the status of `first` when it is among them.
///
/// A killed process hands its children to the helper, so this goes on until there are none.
pub(crate) fn kill_all(first: Option<Pid>) -> Result<Option<i32>, HelperError> {
    let begin = Instant::now();
    let mut ended = None;
    loop {
        for pid in children() {
            // One that ended in between is what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == first => ended = Some(code(status.as_raw())),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Ok(ended),
        }
        if begin.elapsed() > PATIENCE {
            return Err(
                HelperError::new("a killed process of the service does not end")
                    .hint("it hangs in the kernel; see dmesg"),
            );
        }
    }
}

/// Children of this process, /proc/PID/task/TID/children (proc(5)).
fn children() -> Vec<Pid> {
    let own = std::process::id();
    fs::read_to_string(format!("/proc/{own}/task/{own}/children"))
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_the_exit_code_or_128_and_the_signal() {
        assert_eq!(code(3 << 8), 3);
        assert_eq!(code(9), 137);
    }
}
