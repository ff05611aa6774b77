//! What goes wrong with a service, and who brings it back.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stowplan_engine::Variant;

/// A fault of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Its first process writes where no memory is: SIGSEGV.
    Crash,
    /// Its first process gets SIGKILL.
    Kill,
    /// Its first process ends by itself with status 3.
    Exit,
    /// All of its processes get SIGSTOP.
    Hang,
    /// Threads of its first process wait for each other for ever.
    Deadlock,
    /// Its first process uses memory until the limit ends it.
    Memory,
    /// A service whose program ends at once.
    FailedStart,
}

/// Status of [`Fault::Exit`].
pub const EXIT_STATUS: u8 = 3;

impl Fault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Crash,
        Self::Kill,
        Self::Exit,
        Self::Hang,
        Self::Deadlock,
        Self::Memory,
        Self::FailedStart,
    ];

    /// Name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Kill => "kill",
            Self::Exit => "exit",
            Self::Hang => "hang",
            Self::Deadlock => "deadlock",
            Self::Memory => "memory",
            Self::FailedStart => "failed-start",
        }
    }

    /// Whether processes end by it, which an engine can see.
    #[must_use]
    pub const fn ends_processes(self) -> bool {
        !matches!(self, Self::Hang | Self::Deadlock)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no fault '{0}'; faults are {all}", all = Fault::ALL.map(Fault::name).join(", "))]
pub struct NoSuchFault(pub String);

impl FromStr for Fault {
    type Err = NoSuchFault;

    fn from_str(text: &str) -> Result<Self, NoSuchFault> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|fault| fault.name() == text);
        found.ok_or_else(|| NoSuchFault(text.to_owned()))
    }
}

/// Who brings a service back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keeper {
    /// The engine alone, without a restart policy.
    Engine,
    /// The engine as it restarts by default, where that is neither [`Keeper::Engine`] nor [`Keeper::Policy`].
    ByDefault,
    /// The engine with the restart policy that it has, without delay, and everything else of it at its default.
    Policy,
    /// Ours: it starts the service again when the engine tells its end.
    Supervisor,
    /// Ours: it also starts the service again when a ping is not answered in time.
    Watchdog,
    /// The engine with its health checks and its restart policy.
    Health,
    /// Ours: it starts the service again when the engine tells that a health check has failed. Only where the engine does not.
    HealthSupervisor,
}

/// What an engine is given, beside its defaults, to bring a service back by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settings {
    /// Nothing, and it is told not to restart.
    None,
    /// Nothing, where it restarts by default.
    ByDefault,
    /// Its restart policy, where it has one.
    Restarts,
    /// Its health checks, and its restart policy.
    HealthChecks,
}

impl Settings {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::None,
        Self::ByDefault,
        Self::Restarts,
        Self::HealthChecks,
    ];

    /// For how long an engine with them waits before it starts a service again.
    #[must_use]
    pub fn delay(self, can: &Variant) -> Duration {
        let waits = can
            .restarts_by_default_ms
            .filter(|_| self == Self::ByDefault);
        Duration::from_millis(waits.unwrap_or(0))
    }
}

impl Keeper {
    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::ByDefault => "engine-default",
            Self::Policy => "policy",
            Self::Supervisor => "supervisor",
            Self::Watchdog => "watchdog",
            Self::Health => "health-check",
            Self::HealthSupervisor => "health-check-supervisor",
        }
    }

    /// What the engine is given meanwhile.
    #[must_use]
    pub const fn settings(self) -> Settings {
        match self {
            Self::Engine | Self::Supervisor | Self::Watchdog => Settings::None,
            Self::ByDefault => Settings::ByDefault,
            Self::Policy => Settings::Restarts,
            Self::Health | Self::HealthSupervisor => Settings::HealthChecks,
        }
    }

    /// Whether it says when a fault is detected: another one of the same settings does that for it.
    #[must_use]
    pub const fn detects(self) -> bool {
        matches!(self, Self::Engine | Self::Watchdog | Self::Health)
    }

    /// Whether it is Stowplan that brings the service back.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Supervisor | Self::Watchdog | Self::HealthSupervisor
        )
    }

    /// Those that a fault is put before. A watchdog and a health check do what a supervisor and a policy do where processes end.
    #[must_use]
    pub const fn of(fault: Fault) -> &'static [Self] {
        match fault {
            Fault::FailedStart => &[Self::Engine],
            Fault::Hang | Fault::Deadlock => &[
                Self::Engine,
                Self::Policy,
                Self::Supervisor,
                Self::Watchdog,
                Self::Health,
                Self::HealthSupervisor,
            ],
            _ => &[
                Self::Engine,
                Self::ByDefault,
                Self::Policy,
                Self::Supervisor,
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_known_by_its_name() {
        for fault in Fault::ALL {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        let error = "segfault".parse::<Fault>().unwrap_err();
        let told = "there is no fault 'segfault'; faults are crash, kill, exit, hang, deadlock, memory, failed-start";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_watchdog_stands_beside_what_no_event_tells() {
        for fault in Fault::ALL {
            let watched = Keeper::of(fault).contains(&Keeper::Watchdog);
            assert_eq!(watched, !fault.ends_processes(), "{fault}");
            let checked = Keeper::of(fault).contains(&Keeper::Health);
            assert_eq!(checked, watched, "{fault}");
        }
    }
}
