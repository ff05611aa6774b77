//! What is recorded: a command that is started, or a container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_host::process::tree_of;
use stowplan_lttng::{Container, ObservedProcess, look, unblock_signals};

use super::wait::{Happened, Waiting};
use crate::failure::{CommandError, ExitCode};

/// First and longest time between two looks at the processes: libraries are loaded early, and reading a process's
/// maps takes its lock.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const SELDOM: Duration = Duration::from_secs(8);

/// What is recorded.
pub enum Subject {
    /// A command that this program started.
    Command(Child),
    /// A container that ran before.
    Container(Container),
}

/// What was recorded, after its end.
pub struct Ended {
    /// Exit status of the command, 128 + signal where one ended it.
    pub status: Option<i32>,
    /// Its processes, as far as they lived long enough to be seen.
    pub seen: Vec<ObservedProcess>,
}

impl Subject {
    /// Starts a command.
    pub fn start(
        words: &[OsString],
        environment: &[(String, String)],
    ) -> Result<Self, CommandError> {
        let failed = |error: io::Error| {
            let name = words
                .first()
                .map(|word| word.to_string_lossy())
                .unwrap_or_default();
            CommandError::new(ExitCode::BadInput, format!("cannot run '{name}': {error}"))
        };
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| CommandError::new(ExitCode::Usage, "there is no command to record"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        // SAFETY: the function only changes the signal mask, which is safe between fork and exec.
        unsafe { command.pre_exec(unblock_signals) };
        command.spawn().map(Self::Command).map_err(failed)
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Command(child) => child.id(),
            Self::Container(container) => container.pid,
        }
    }

    fn pids(&self) -> Vec<u32> {
        match self {
            Self::Command(child) => tree_of(child.id()),
            Self::Container(container) => container.processes(),
        }
    }

    /// Waits for its end, or until it has been recorded for `length`; signals are passed on to a command.
    pub fn watch(mut self, length: Option<Duration>) -> io::Result<Ended> {
        let waiting = Waiting::new(self.pid())?;
        let mut seen = BTreeMap::new();
        let mut end = length.map(|length| Instant::now() + length);
        let mut between = FIRST_LOOK;
        let mut next_look = Instant::now() + between;
        loop {
            let next = end.map_or(next_look, |end| end.min(next_look));
            let happened = waiting.until(next)?;
            if happened != Happened::Ended {
                self.look(&mut seen);
            }
            let passed_on = match happened {
                Happened::Ended => break,
                Happened::Signal { number, to_all } => Some((number, to_all)),
                Happened::Time if end.is_some_and(|end| end <= Instant::now()) => {
                    end = None;
                    Some((libc::SIGINT, false))
                }
                Happened::Time => {
                    between = (between * 2).min(SELDOM);
                    next_look = Instant::now() + between;
                    None
                }
            };
            match (&self, passed_on) {
                (Self::Command(child), Some((number, false))) => send(child, number),
                (Self::Container(_), Some(_)) => break,
                _ => {}
            }
        }
        let status = match &mut self {
            Self::Command(child) => Some(status(child)?),
            Self::Container(_) => None,
        };
        Ok(Ended {
            status,
            seen: seen.into_values().collect(),
        })
    }

    /// Looks at those that may have changed: one that has loaded the tracer stays so.
    fn look(&self, seen: &mut BTreeMap<u32, ObservedProcess>) {
        for pid in self.pids() {
            if !seen.get(&pid).is_some_and(|seen| seen.tracer)
                && let Some(found) = look(pid)
            {
                seen.insert(pid, found);
            }
        }
    }
}

fn send(child: &Child, number: i32) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(number)) {
        // It may have ended in this moment, which is what was wanted.
        let _ = kill_process(pid, signal);
    }
}

fn status(child: &mut Child) -> io::Result<i32> {
    let status = child.wait()?;
    let signal = || status.signal().map(|signal| 128 + signal);
    Ok(status.code().or_else(signal).unwrap_or_default())
}
