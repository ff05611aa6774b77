//! Removing what a dead run left in a daemon.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon as _;
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_host::process::{all, kill_tree_and_wait};

use crate::client::Client;
use crate::images::Store;
use crate::{Daemon, fleet};

/// Removes a container or an image that a ledger names of the `daemon` that `at` tells of. Whether there was one; a
/// container of that name that was not made here stays.
///
/// # Errors
/// When the daemon does not answer or cannot remove it.
pub fn remove(daemon: Daemon, object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let client = || Client::connect_at(daemon, at);
    match object {
        Object::Container { id, .. } => {
            let removed = fleet::remove(&client()?, id)?;
            // One that is not removed is not ours.
            if removed && daemon == Daemon::Podman {
                end_monitors(id);
            }
            Ok(removed)
        }
        Object::Image { tag, .. } => Store(daemon).remove_image(&client()?, tag),
        _ => Ok(false),
    }
}

/// Longest wait for the end of what was killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends what watches over the container of this name, with the container's first process. How many there were.
///
/// A Podman that is killed while it starts a container knows it as one that does not run, and its removal leaves both.
fn end_monitors(name: &str) -> usize {
    let ended = all().filter(|pid| watches(*pid, name));
    let ended = ended.map(|pid| kill_tree_and_wait(pid, PATIENCE));
    ended.count()
}

/// Whether a process is the conmon(8) of the container of this name.
fn watches(pid: u32, name: &str) -> bool {
    // One that has ended has no command line.
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let program = Path::new(OsStr::from_bytes(words[0])).file_name();
    let is_named = |pair: &[&[u8]]| pair == [&b"-n"[..], name.as_bytes()];
    program == Some(OsStr::new("conmon")) && words.windows(2).any(is_named)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    /// A process with a command line as conmon's.
    fn monitor(program: &str, name: &str) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell.arg0(program);
        shell.args(["-c", "sleep 1000; :", "conmon", "-n", name]);
        let child = shell.spawn().unwrap();
        // Its arguments are there a moment after it is.
        let line = format!("/proc/{}/cmdline", child.id());
        while std::fs::read(&line).unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn what_watches_over_a_container_is_ended_and_nothing_else() {
        let own = format!("stowplan-{}-watched", std::process::id());
        let mut watching = monitor("/usr/bin/conmon", &own);
        let mut others = [
            monitor("/usr/bin/conmon", &format!("{own}-too")),
            monitor("/usr/bin/another", &own),
        ];
        assert_eq!(end_monitors(&own), 1);
        assert!(!watching.wait().unwrap().success());
        assert_eq!(end_monitors(&own), 0);
        for other in &mut others {
            assert_eq!(other.try_wait().unwrap(), None);
            assert!(kill_tree_and_wait(other.id(), PATIENCE));
            other.wait().unwrap();
        }
    }
}
