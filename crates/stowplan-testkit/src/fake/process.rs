//! What a service of the fake does.

use stowplan_wire::agent::Recipients;
use stowplan_wire::deployment::{LimitsPlan, Program, ServiceStart};

use super::health::Checked;

/// Where a fake process is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Created,
    Running,
    Ended,
}

/// A service's process.
#[derive(Debug, Clone)]
pub(super) struct FakeProcess {
    pub(super) service: String,
    pub(super) behaviour: String,
    pub(super) argument: i32,
    pub(super) environment: String,
    pub(super) limits: LimitsPlan,
    pub(super) life: Life,
    pub(super) pid: u32,
    pub(super) start_ticks: u64,
    pub(super) cpu_ns: u64,
    /// When it ends by itself, and its status.
    pub(super) ends_at: Option<(u64, i32)>,
    /// It had SIGSTOP.
    pub(super) is_stopped: bool,
    /// After what time the engine starts it again that has ended by itself, in ns.
    pub(super) restarts_after: Option<u64>,
    /// When that is.
    pub(super) begins_at: Option<u64>,
    /// Its health checks, where the engine has to make any.
    pub(super) checked: Option<Checked>,
    /// Its control group is frozen.
    pub(super) is_frozen: bool,
    /// Whom a ping waits for that came while it was frozen.
    pub(super) pinged: Option<Recipients>,
    pub(super) log: String,
}

/// Behaviour of the node program.
pub(super) const NODE: &str = "node";

/// Name, argument and environment of the suite's behaviour; `None` for any other program but the node program, which the fake
/// has not got.
pub(super) fn behaviour_of(start: &ServiceStart) -> Option<(String, i32, String)> {
    let Program::Command { command, env, .. } = &start.program else {
        return Some((NODE.to_owned(), 0, String::new()));
    };
    let at = command
        .iter()
        .position(|word| word == "stowplan-conformance")?;
    let argument = command.get(at + 2).and_then(|word| word.parse().ok());
    let environment = env
        .iter()
        .find(|(name, _)| name == "STOWPLAN_CONFORMANCE")
        .map(|(_, value)| value.clone());
    Some((
        command.get(at + 1)?.clone(),
        argument.unwrap_or(0),
        environment.unwrap_or_default(),
    ))
}

impl FakeProcess {
    /// What it says and does when it begins at `now`.
    pub(super) fn begin(&mut self, now: u64) {
        self.life = Life::Running;
        self.is_stopped = false;
        self.checked = self.checked.map(|_| Checked::from(now));
        let soon = |status| Some((now + 2_000_000, status));
        let said = match self.behaviour.as_str() {
            "idle" => "complaint\nready\n".to_owned(),
            "exit" => {
                self.ends_at = soon(self.argument);
                "leaving\n".to_owned()
            }
            "exit-later" => {
                self.ends_at = Some((now + 200_000_000, self.argument));
                "ready\n".to_owned()
            }
            "tell-cpu" => "cpu=0\nready\n".to_owned(),
            "environment" => format!("value={}\nready\n", self.environment),
            _ => "ready\n".to_owned(),
        };
        self.log.push_str(&said);
    }

    pub(super) fn is_hog(&self) -> bool {
        self.behaviour == "hog" && self.life == Life::Running
    }

    /// Pids of it and its children.
    pub(super) fn pids(&self) -> Vec<u32> {
        match (self.life, self.behaviour.as_str()) {
            (Life::Ended, _) => Vec::new(),
            (Life::Running, "brood") => vec![self.pid, self.pid + 1, self.pid + 2],
            _ => vec![self.pid],
        }
    }
}
