//! The main loop: requests come in, answers go out.

use std::io::Write;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::rc::Rc;

use stowplan_engine::Engine;
use stowplan_host::{HostError, LocalHost, ledger};
use stowplan_wire::agent::{Failure, FailureKind, Reply, Request};

use crate::agent::{Agent, CallError};
use crate::calls;
use crate::input::{Input, Read};
use crate::watch::Until;

/// Serves requests until the caller is gone.
///
/// # Errors
/// When the agent cannot begin, or its answers cannot be written.
pub(crate) fn serve(engines: Vec<Box<dyn Engine>>) -> Result<(), HostError> {
    // A session of its own: a Ctrl-C in the caller's terminal must not reach services, and where it matters
    // they all share this one.
    let _ = rustix::process::setsid();
    let mut agent = Agent {
        deployment: None,
        run: None,
        engine_events: Vec::new(),
        host: Rc::new(LocalHost::new(&ledger::folder()?)?),
        engines,
        input: Input::default(),
        signals: ending_signals()?,
    };
    let outcome = agent.serve();
    let ended = agent.end();
    outcome.and(ended)
}

/// A descriptor that is readable when somebody asks the agent to end.
fn ending_signals() -> Result<OwnedFd, HostError> {
    // SAFETY: fills a local signal set and hands it to two system calls; the descriptor is new.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            return Err(HostError::new("cannot listen for signals").because(error));
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

impl Agent {
    fn serve(&mut self) -> Result<(), HostError> {
        loop {
            while let Some(line) = self.input.line() {
                let reply = match serde_json::from_slice::<Request>(&line) {
                    Ok(request) => match calls::answer(self, request.call) {
                        Ok(answer) => Reply {
                            id: request.id,
                            result: Ok(answer),
                        },
                        Err(CallError::Failed(failure)) => Reply {
                            id: request.id,
                            result: Err(failure),
                        },
                        Err(CallError::Gone) => return Ok(()),
                    },
                    Err(error) => not_a_request(&line, &error),
                };
                send(&reply)?;
            }
            if self.wait(Until::Input).is_err() {
                return Ok(());
            }
            if self.input.fill(std::io::stdin().as_fd()) == Read::End {
                return Ok(());
            }
        }
    }
}

fn not_a_request(line: &[u8], error: &serde_json::Error) -> Reply {
    let id = serde_json::from_slice::<serde_json::Value>(line)
        .ok()
        .and_then(|value| value.get("id")?.as_u64())
        .unwrap_or(0);
    Reply {
        id,
        result: Err(Failure {
            kind: FailureKind::Refused,
            message: format!("not a request: {error}"),
            hint: Some("use stowplan and stowplan-agent of the same build".to_owned()),
            service: None,
            log: None,
        }),
    }
}

fn send(reply: &Reply) -> Result<(), HostError> {
    let failed = || HostError::new("cannot write the reply");
    let mut text = serde_json::to_vec(reply).map_err(|e| failed().because(e))?;
    text.push(b'\n');
    let mut output = std::io::stdout().lock();
    output
        .write_all(&text)
        .and_then(|()| output.flush())
        .map_err(|e| failed().because(e))
}
