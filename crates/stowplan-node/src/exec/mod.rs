//! `exec`: one ROS process.

mod background;
pub(crate) mod control;
mod threads;

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

use stowplan_ctf::events::stowplan::ProcessStart;
use stowplan_wire::announce::Announcement;

use crate::announce::Agent;
use crate::dds::Matching;
use crate::error::NodeError;
use crate::graph::Process;
use crate::link::Link;
use crate::plan::Planned;
use crate::record::Buffer;
use crate::signals::{self, Signals};
use crate::{fingerprint, record};
use threads::Threads;

/// Arguments of `exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecArgs {
    /// `plan.json`.
    pub plan: PathBuf,
    /// Process name.
    pub process: String,
    /// Folder of start-up files.
    pub files: PathBuf,
    /// Descriptor of the link to the launcher; without it nodes are loaded at once.
    pub load_fd: Option<RawFd>,
}

/// Runs a process until it is asked to end. `first_ns` is when the program's first instruction ran.
///
/// # Errors
/// When it cannot go on; the agent has been told then, if it could be reached.
pub fn run(args: &ExecArgs, first_ns: u64) -> Result<(), NodeError> {
    let signals = Signals::block(&[libc::SIGTERM, libc::SIGINT])?;
    signals::name_process(&args.process);
    let planned = Planned::read(&args.plan)?;
    let (plan, folder) = (&planned.plan, &planned.folder);
    let index = plan
        .processes
        .iter()
        .position(|process| process.name == args.process)
        .ok_or_else(|| NodeError::NoProcess {
            service: plan.service.clone(),
            process: args.process.clone(),
        })?;
    let agent = Agent::connect(folder)?;
    let name = &args.process;
    agent.say(&Announcement::Up {
        process: Some(name.clone()),
        first_instruction_ns: first_ns,
        build_id: stowplan_wire::build_id(),
    })?;
    agent.say(&fingerprint::at_start(Some(name)))?;
    let agent = Arc::new(agent);
    let told = Arc::clone(&agent);
    run_process(args, first_ns, planned, index, agent, &signals).inspect_err(|error| {
        // The error is printed too; an agent that is gone cannot be told.
        let _told = told.say(&Announcement::Failed {
            process: Some(name.clone()),
            message: error.report(),
        });
    })
}

fn run_process(
    args: &ExecArgs,
    first_ns: u64,
    planned: Planned,
    index: usize,
    agent: Arc<Agent>,
    signals: &Signals,
) -> Result<(), NodeError> {
    if planned.plan.record {
        let path = planned.folder.join(format!("{}.ring", args.process));
        record::install(Buffer::open(&path, &planned.plan.service, &args.process)?);
        record::event_at(
            first_ns,
            &ProcessStart {
                host_monotonic_ns: first_ns,
            },
        );
    }
    // SAFETY: the launcher passed the number of a descriptor that it opened for this process.
    let link = args
        .load_fd
        .map(|fd| Link::from_inherited(unsafe { OwnedFd::from_raw_fd(fd) }));
    let matching = Matching::leak().map_err(NodeError::system("watch for matches"))?;
    let participant = planned.participant(planned.user_data(index))?;
    let process = Process::new(
        planned,
        index,
        args.files.clone(),
        agent,
        participant,
        matching,
    )?;
    let threads = Threads::start(Arc::new(process), link)?;
    control::run(&threads, signals)?;
    threads.finish()
}
