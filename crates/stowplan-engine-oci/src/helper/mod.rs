//! The helper process of one service: `stowplan-agent oci`.
//!
//! Single-threaded on purpose: libcontainer forks and then allocates, which hangs or fails in a caller with threads. It
//! works in a mount namespace of its own and is the subreaper of its service, so that whatever happens to it, mounts
//! and processes go with it.

mod after_create;
mod causes;
mod container;
mod error;
mod executed;
mod executor;
mod hierarchies;
mod place;
mod probe;
mod processes;
mod readback;
mod rootless;
mod service;
mod view;
mod wake;

use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{geteuid, getpid, set_child_subreaper, setsid};

use stowplan_wire::deployment::DeploymentPlan;

use error::{Context as _, HelperError};
use service::Service;
use wake::{Lines, tell};

use crate::capabilities::Capabilities;
use crate::protocol::{Command, HelperPlan, Message, Opening};
use crate::spec::{self, Surroundings};

/// Runs a helper process: reads its plan and commands from standard input, answers on standard output, and never
/// returns. Call it first thing in a program that has no other thread.
pub fn helper_main() -> ! {
    let mut lines = Lines::new(std::io::stdin().as_raw_fd());
    let code = match run(&mut lines) {
        Ok(()) => 0,
        Err(error) => {
            tell(&Message::Failed(error.failure()));
            1
        }
    };
    std::process::exit(code);
}

/// The OCI runtime configuration (`config.json`) of one service of `plan` with its root at `root`, as another runtime
/// can take it. It names no cgroup. `None` where there is no such service, what it wants is not there, or this process's
/// capabilities cannot be read.
#[must_use]
pub fn runtime_config(plan: &DeploymentPlan, service: &str, root: &Path) -> Option<String> {
    let start = plan.services.iter().find(|start| start.name == service)?;
    let around = surroundings().ok()?;
    let plan = HelperPlan::new(plan, start).ok()?;
    Some(spec::for_another_runtime(&plan, root, &around).to_string())
}

/// What containers of this user will find: a helper that is not root becomes root of a user namespace.
pub(crate) fn surroundings() -> Result<Surroundings, HelperError> {
    let rootless = !geteuid().is_root();
    let capabilities = if rootless {
        Capabilities::from_bits(u64::MAX)
    } else {
        readback::own_capabilities()?
    };
    Ok(Surroundings {
        capabilities,
        rootless,
    })
}

fn run(lines: &mut Lines) -> Result<(), HelperError> {
    causes::to_log();
    wake::unblock_signals();
    // Ctrl-C in a terminal is for the command line, not for us.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).context("cannot become subreaper")?;
    let Some(first) = lines.next_line().context("cannot read the plan")? else {
        return Ok(());
    };
    match serde_json::from_str(&first).context("the plan is not as expected")? {
        Opening::Probe => {
            probe::probe()?;
            tell(&Message::Done);
            Ok(())
        }
        Opening::Run(plan) => {
            let mut service = Service::open(*plan)?;
            tell(&Message::Done);
            let served = serve(lines, &mut service);
            // End of input, or no way to go on: nothing may be left.
            service.remove()?;
            served
        }
    }
}

fn serve(lines: &mut Lines, service: &mut Service) -> Result<(), HelperError> {
    let input = std::io::stdin();
    loop {
        while let Some(line) = lines.next_read() {
            let command: Command =
                serde_json::from_str(&line).context("the command is not as expected")?;
            let answer = service.obey(&command);
            tell(&answer.unwrap_or_else(|error| Message::Failed(error.failure())));
        }
        let (line, child, oom) = {
            let mut wanted = vec![
                PollFd::new(&input, PollFlags::IN),
                PollFd::new(service.children(), PollFlags::IN),
            ];
            wanted.extend(service.oom());
            match poll(&mut wanted, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot poll"),
            }
            let ready = |index: usize| {
                wanted
                    .get(index)
                    .is_some_and(|wanted: &PollFd<'_>| !wanted.revents().is_empty())
            };
            (ready(0), ready(1), ready(2))
        };
        if oom {
            service.look_for_oom();
        }
        if child {
            service.look();
        }
        if line && !lines.read().context("cannot read commands")? {
            return Ok(());
        }
    }
}
