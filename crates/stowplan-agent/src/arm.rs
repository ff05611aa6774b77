//! The measured window: everything that allocates is done before it, and nothing of ours speaks in it.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stowplan_engine::{EngineError, FailureKind};
use stowplan_host::preemption::SwitchRecorder;
use stowplan_host::process::clock_ns;
use stowplan_wire::agent::Answer;
use stowplan_wire::announce::{Announcement, Control};
use stowplan_wire::deployment::EngineEventKind;

use crate::agent::{Agent, CallError, unwritable};
use crate::watch::Until;
use crate::window::Window;

/// What this process has used since it began.
struct Used {
    switches: u64,
    cpu_ns: u64,
}

fn used() -> Used {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    // SAFETY: fills a local rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    Used {
        switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
        cpu_ns: cpu.tv_sec.unsigned_abs() * 1_000_000_000 + cpu.tv_nsec.unsigned_abs(),
    }
}

/// Does what takes time, so that nothing of it comes off the lead. With `preemption` the kernel records from now on when threads
/// lose their CPU, until that is asked for: calls that begin in the window end after it.
pub(crate) fn before_window(
    agent: &mut Agent,
    longest: Duration,
    preemption: bool,
) -> Result<Answer, CallError> {
    agent.serve_others();
    agent.host.reserve_samples(longest);
    let switches = preemption.then(|| SwitchRecorder::start(longest));
    let run = agent.run()?;
    run.switches = switches.transpose()?;
    run.nodes.take_ended();
    Ok(Answer::Clock(clock_ns()))
}

/// Arms every node program, and answers when all are ready for the instant.
pub(crate) fn arm(agent: &mut Agent, t_arm_ns: u64, window_ns: u64) -> Result<Answer, CallError> {
    let window = Window {
        t_arm_ns,
        t_disarm_ns: t_arm_ns + window_ns,
    };
    let run = agent.run()?;
    run.window = Some(window);
    let control = Control::Arm {
        t_arm_ns,
        t_disarm_ns: window.t_disarm_ns,
    };
    run.nodes.tell(&control).map_err(unwritable)?;
    wait_for_all(agent, t_arm_ns)?;
    Ok(Answer::Done)
}

/// Keeps still until the window is over, and tells what it cost.
pub(crate) fn wait_window(agent: &mut Agent) -> Result<Answer, CallError> {
    let run = agent.run()?;
    let Some(window) = run.window.take() else {
        return Err(EngineError::new("no window was armed").into());
    };
    if clock_ns() > window.t_arm_ns {
        let error = EngineError::new("the window began before it was waited for");
        let error = error.of_kind(FailureKind::Timeout);
        return Err(error
            .hint("the machine is overloaded; use less work")
            .into());
    }
    stay_still(agent, window.t_arm_ns)?;
    let before = used();
    stay_still(agent, window.t_disarm_ns)?;
    let after = used();
    let run = agent.run()?;
    if let Some(switches) = &mut run.switches {
        switches.note_threads(&run.nodes.pids());
    }
    Ok(Answer::Armed {
        t_arm_ns: window.t_arm_ns,
        t_disarm_ns: window.t_disarm_ns,
        own_switches: after.switches - before.switches,
        own_cpu_ns: after.cpu_ns - before.cpu_ns,
    })
}

/// Ends what `before_window` began to record of preemption, and tells it.
pub(crate) fn end_preemption(agent: &mut Agent) -> Result<Answer, CallError> {
    let switches = agent.run()?.switches.take();
    Ok(Answer::Preemptions(switches.map(SwitchRecorder::finish)))
}

fn wait_for_all(agent: &mut Agent, t_arm_ns: u64) -> Result<(), CallError> {
    loop {
        check(agent)?;
        let missing: Vec<String> = agent
            .run()?
            .nodes
            .connections()
            .iter()
            .filter(|connection| !connection.armed)
            .map(|connection| connection.name())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let left = Duration::from_nanos(t_arm_ns.saturating_sub(clock_ns()));
        if left.is_zero() {
            let some = missing
                .iter()
                .take(5)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            return Err(EngineError::new(format!(
                "{} processes were not armed in time, first {some}",
                missing.len()
            ))
            .of_kind(FailureKind::Timeout)
            .hint("the machine is overloaded or the processes hang; use less work")
            .into());
        }
        agent.wait(Until::Something(Instant::now() + left))?;
    }
}

/// Fails when a node program failed or is gone.
fn check(agent: &mut Agent) -> Result<(), CallError> {
    let run = agent.run()?;
    if let Some((service, name)) = run.nodes.take_ended().into_iter().next() {
        let error = EngineError::new(format!("{name} ended before the window was over"));
        let log = agent.log_of(&service);
        return Err(error.of_service(service, log).into());
    }
    let failed = run
        .nodes
        .said()
        .iter()
        .find_map(|said| match &said.announcement {
            Announcement::Failed { message, .. } => Some((said.service.clone(), message.clone())),
            _ => None,
        });
    if let Some((service, message)) = failed {
        let log = agent.log_of(&service);
        return Err(EngineError::new(message).of_service(service, log).into());
    }
    let exited = agent
        .engine_events
        .iter()
        .find_map(|event| match event.kind {
            EngineEventKind::Exited(status) if status != 0 => Some((event.service.clone(), status)),
            _ => None,
        });
    if let Some((service, status)) = exited {
        let error = EngineError::new(format!(
            "it ended with status {status} before the window was over"
        ));
        let log = agent.log_of(&service);
        return Err(error.of_service(service, log).into());
    }
    Ok(())
}

impl Agent {
    /// The log of a service, where the engine knows one.
    fn log_of(&self, service: &str) -> Option<String> {
        let locators = self.deployment.as_ref()?.locators().ok()?;
        locators
            .into_iter()
            .find(|locator| locator.service == service)
            .map(|locator| locator.log)
    }
}

/// Sleeps until `until_ns`, waking only for samples, or because something went wrong.
fn stay_still(agent: &mut Agent, until_ns: u64) -> Result<(), CallError> {
    while !sleep(agent, until_ns)? {
        agent.serve_others();
        check(agent)?;
    }
    Ok(())
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// Whether the time is over; otherwise something happened that should not.
fn sleep(agent: &Agent, until_ns: u64) -> Result<bool, CallError> {
    let stdin = std::io::stdin();
    let mut fds = vec![
        PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
        readable(agent.signals.as_fd()),
        readable(agent.host.sampling_fd()),
    ];
    if let Some(run) = &agent.run {
        fds.extend(run.nodes.connection_fds().map(readable));
    }
    if let Some(deployment) = &agent.deployment {
        fds.extend(deployment.event_fds().into_iter().map(readable));
    }
    loop {
        let now = clock_ns();
        if now >= until_ns {
            return Ok(true);
        }
        let left = Duration::from_nanos(until_ns - now);
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return Err(CallError::Gone),
        }
        let ready = |index: usize| !fds[index].revents().is_empty();
        if ready(0) || ready(1) {
            return Err(CallError::Gone);
        }
        if (3..fds.len()).any(ready) {
            return Ok(false);
        }
        agent.host.sample();
    }
}
