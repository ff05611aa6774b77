//! Which runtime a container was started with.

use stowplan_engine::ObservedContainer;
use stowplan_engine_daemon::program_in_bundle;

use crate::Daemon;

/// The program of the runtime that the container with this first process and id was started with; `None` where that cannot be seen.
pub(crate) fn of(daemon: Daemon, pid: u32, id: &str) -> Option<String> {
    called(daemon, pid, id, &ObservedContainer::of(pid, id))
}

/// The same, of a container that was looked at.
pub(crate) fn called(
    daemon: Daemon,
    pid: u32,
    id: &str,
    seen: &ObservedContainer,
) -> Option<String> {
    match daemon {
        Daemon::Docker => program_in_bundle(pid, id),
        // The monitor is told which one to call.
        Daemon::Podman => of_conmon(&seen.arguments),
    }
}

/// The program that conmon was told to call: `--runtime` or `-r`, conmon(8).
pub(crate) fn of_conmon(arguments: &[String]) -> Option<String> {
    let at = arguments
        .iter()
        .position(|argument| argument == "-r" || argument == "--runtime")?;
    arguments.get(at + 1).cloned()
}
