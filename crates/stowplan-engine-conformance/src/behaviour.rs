//! Services that do one thing each.

use stowplan_wire::deployment::{Access, Program};

/// The word in front of a behaviour's name among the arguments of its shell, which ignores it. An engine that
/// runs nothing really (the testkit's fake) acts by it.
pub const MARK: &str = "stowplan-conformance";

/// What a service of the suite does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Says `ready`, on standard error `complaint`, and sleeps.
    Idle,
    /// Says `leaving` and ends with this status.
    Exit(u8),
    /// Says `ready` and ends with this status a moment later.
    ExitLater(u8),
    /// Says `ready`; on SIGTERM says `ended` and ends with 0.
    Graceful,
    /// Says `ready` and ignores SIGTERM.
    Stubborn,
    /// Says `ready` and computes for ever.
    Hog,
    /// Says `ready` and uses 256 MiB, then sleeps.
    Eat,
    /// Says which CPU it is on, a hundred times, then `ready`, and sleeps.
    TellCpu,
    /// Starts a child in its session and one in another, says `ready`, and waits.
    Brood,
    /// Says `value=` and the variable STOWPLAN_CONFORMANCE, then `ready`, and sleeps.
    Environment,
}

impl Behaviour {
    /// Name among the arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Exit(_) => "exit",
            Self::ExitLater(_) => "exit-later",
            Self::Graceful => "graceful",
            Self::Stubborn => "stubborn",
            Self::Hog => "hog",
            Self::Eat => "eat",
            Self::TellCpu => "tell-cpu",
            Self::Brood => "brood",
            Self::Environment => "environment",
        }
    }

    const fn script(self) -> &'static str {
        match self {
            Self::Idle => "echo complaint >&2; echo ready; exec sleep 100000",
            Self::Exit(_) => "echo leaving; exit \"$2\"",
            Self::ExitLater(_) => "echo ready; sleep 0.2; exit \"$2\"",
            Self::Graceful => {
                "trap 'echo ended; exit 0' TERM; echo ready; sleep 100000 & wait; exit 1"
            }
            Self::Stubborn => "trap '' TERM; echo ready; sleep 100000",
            Self::Hog => "echo ready; while :; do :; done",
            Self::Eat => {
                "echo ready; head -c 268435456 /dev/zero | tail -c 268435456 | wc -c; exec sleep 100000"
            }
            // The field after the name, which may hold spaces, is the third; `processor` is the 39th.
            Self::TellCpu => {
                "i=0; while [ $i -lt 100 ]; do read -r line < /proc/self/stat; set -- ${line##*)}; \
                 shift 36; echo \"cpu=$1\"; i=$((i+1)); done; echo ready; exec sleep 100000"
            }
            Self::Brood => "setsid sleep 100000 & sleep 100000 & echo ready; wait",
            Self::Environment => {
                "echo \"value=$STOWPLAN_CONFORMANCE\"; echo ready; exec sleep 100000"
            }
        }
    }

    /// The program of a service that behaves so.
    #[must_use]
    pub fn program(self, rootfs: Option<&str>) -> Program {
        let argument = match self {
            Self::Exit(status) | Self::ExitLater(status) => status.to_string(),
            _ => String::new(),
        };
        let words = ["/bin/sh", "-c", self.script(), MARK, self.name(), &argument];
        Program::Command {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            env: vec![(
                "STOWPLAN_CONFORMANCE".to_owned(),
                "a value with spaces".to_owned(),
            )],
            rootfs: rootfs.map(str::to_owned),
            access: Access::default(),
        }
    }
}
