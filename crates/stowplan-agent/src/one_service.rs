//! What is told and done to the node programs of one service, with the instant before it.

use rustix::process::{Pid, Signal, kill_process};
use stowplan_engine::EngineError;
use stowplan_host::process::clock_ns;
use stowplan_wire::agent::{Answer, Recipients, ServiceSignal};
use stowplan_wire::announce::Control;

use crate::agent::{Agent, CallError, unwritable};

/// Tells node programs of a service something.
pub(crate) fn tell(
    agent: &mut Agent,
    service: &str,
    to: Recipients,
    control: &Control,
) -> Result<Answer, CallError> {
    let packet = serde_json::to_vec(control).map_err(unwritable)?;
    let nodes = &mut agent.run()?.nodes;
    nodes.serve();
    let begin_ns = clock_ns();
    let told = nodes.of_service(service, to);
    let told = told.inspect(|connection| connection.tell(&packet)).count();
    some(told, service, begin_ns)
}

/// Sends a signal to node programs of a service.
pub(crate) fn signal(
    agent: &mut Agent,
    service: &str,
    to: Recipients,
    signal: ServiceSignal,
) -> Result<Answer, CallError> {
    let signal = match signal {
        ServiceSignal::Kill => Signal::KILL,
        ServiceSignal::Stop => Signal::STOP,
    };
    let nodes = &mut agent.run()?.nodes;
    nodes.serve();
    let pids = nodes.of_service(service, to).map(|one| one.pid);
    let pids: Vec<Pid> = pids
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect();
    let begin_ns = clock_ns();
    for pid in &pids {
        kill_process(*pid, signal).map_err(|error| {
            let pid = pid.as_raw_nonzero();
            let error = EngineError::new(format!("cannot signal process {pid}")).because(error);
            error.of_service(service, None)
        })?;
    }
    some(pids.len(), service, begin_ns)
}

/// The answer where some processes were meant.
fn some(processes: usize, service: &str, begin_ns: u64) -> Result<Answer, CallError> {
    if processes > 0 {
        return Ok(Answer::Clock(begin_ns));
    }
    let error = EngineError::new("none of its node programs is connected");
    Err(error.of_service(service, None).into())
}
