//! Programs with a time-out: nothing passes a shell, and nothing outlives the task.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::error::{PeersError, tail};

/// How long a program may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// A program that runs in a process group of its own, which is killed when this is dropped.
pub struct Running {
    command: String,
    child: Child,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
}

/// What a program printed.
pub struct Printed {
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Printed {
    fn both(&self) -> String {
        format!("{}\n{}", self.output.trim_end(), self.errors)
    }
}

impl Running {
    /// Starts a program with its output taken by us.
    pub fn start(command: &mut Command) -> Result<Self, PeersError> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let text = text_of(command);
        let mut child = command
            .spawn()
            .map_err(PeersError::io(format!("run `{text}`")))?;
        let output = child.stdout.take().map(collect);
        let errors = child.stderr.take().map(collect);
        Ok(Self {
            command: text,
            child,
            output,
            errors,
        })
    }

    /// Waits until it ends by itself and gives what it printed.
    pub fn finish(mut self, limit: Duration) -> Result<Printed, PeersError> {
        let ended = self.ended_within(limit)?;
        if !ended {
            self.signal(Signal::KILL);
        }
        let status = self
            .child
            .wait()
            .map_err(PeersError::io(format!("wait for `{}`", self.command)))?;
        let printed = self.printed();
        if !ended {
            return Err(PeersError::TooLong {
                command: self.command.clone(),
                limit,
                output: tail(&printed.both()).to_owned(),
            });
        }
        if !status.success() {
            return Err(PeersError::Failed {
                command: self.command.clone(),
                status: status.to_string(),
                output: tail(&printed.both()).to_owned(),
            });
        }
        Ok(printed)
    }

    /// Ends it with SIGTERM, after a while with SIGKILL, and gives what it printed.
    pub fn end(mut self) -> Result<Printed, PeersError> {
        self.signal(Signal::TERM);
        if !self.ended_within(GRACE)? {
            self.signal(Signal::KILL);
        }
        self.child
            .wait()
            .map_err(PeersError::io(format!("wait for `{}`", self.command)))?;
        Ok(self.printed())
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// The child is not reaped before `wait`, so its group is still its own.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }

    fn ended_within(&self, limit: Duration) -> Result<bool, PeersError> {
        let what = || PeersError::io(format!("watch `{}`", self.command));
        let Some(pid) = self.pid() else {
            return Ok(true);
        };
        let watched = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| what()(error.into()))?;
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut wanted = [PollFd::new(&watched, PollFlags::IN)];
            match poll(&mut wanted, timeout.as_ref()) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(what()(error.into())),
                Ok(ready) => return Ok(ready > 0),
            }
        }
    }

    fn printed(&mut self) -> Printed {
        let text = |reader: Option<JoinHandle<String>>| {
            reader
                .and_then(|reader| reader.join().ok())
                .unwrap_or_default()
        };
        Printed {
            output: text(self.output.take()),
            errors: text(self.errors.take()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Runs a program to its end.
pub fn run(command: &mut Command, limit: Duration) -> Result<Printed, PeersError> {
    Running::start(command)?.finish(limit)
}

/// A command that runs `program` on one CPU only.
pub fn pinned(cpu: u32, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(cpu.to_string()).arg(program);
    command
}

fn text_of(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A read error ends the text; the exit status says whether the program went wrong.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_named_with_its_output() {
        let error = run(
            Command::new("ls").arg("/nowhere/at/all"),
            Duration::from_secs(20),
        )
        .map(|printed| printed.output)
        .unwrap_err();
        assert!(
            error.to_string().contains("`ls /nowhere/at/all`"),
            "{error}"
        );
        assert!(error.to_string().contains("No such file"), "{error}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = run(Command::new("sleep").arg("600"), Duration::ZERO)
            .map(|printed| printed.output)
            .unwrap_err();
        assert!(matches!(error, PeersError::TooLong { .. }), "{error}");
    }

    #[test]
    fn a_program_that_is_told_to_end_gives_its_output() {
        let running = Running::start(Command::new("sleep").arg("600")).unwrap();
        assert_eq!(running.end().unwrap().output, "");
    }
}
