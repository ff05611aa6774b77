//! What is recorded of runs, and in which network they are: one definition for experiment files, the command line, and what a
//! result keeps of both.

use std::ops::BitOrAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::replay::Replay;
use crate::timers::TimerRate;

/// Heading of these switches in the help of commands.
const RECORD: &str = "What to record";

/// Switches of an experiment, all off where left out, and busy neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own, on the command line and in files"
)]
pub struct RunOptions {
    /// Keep the traces of every run
    #[arg(long, help_heading = RECORD)]
    pub keep_traces: bool,
    /// Record the CPU time of each callback's calls in its trace, at two system calls a call
    #[arg(long, help_heading = RECORD)]
    pub callback_cpu: bool,
    /// Record the CPUs' context switches while measuring, and report how long callbacks were preempted
    #[arg(long, help_heading = RECORD)]
    pub preemption: bool,
    /// Run in the machine's network namespace instead of a network of the experiment's own; real programs may need it
    /// to reach something outside
    #[arg(long, help_heading = "How to run it")]
    pub host_network: bool,
    /// Add a service `neighbours` with N threads that keep CPUs busy to every deployment [default: 0]
    #[arg(long, value_name = "N", help_heading = "How to run it")]
    pub neighbours: Option<u8>,
    /// Give the timer of a node another rate or period, as camera=60Hz; repeat it for others
    #[arg(
        long = "timer",
        value_name = "NODE=RATE",
        help_heading = "How to run it"
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerRate>,
    /// Replay an MCAP bag: sources publish at its times and with its sizes; BAG,/a=/b maps its topic /a to /b of the stack
    #[arg(long, value_name = "BAG", help_heading = "How to run it")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

impl BitOrAssign for RunOptions {
    /// What either has switched on; neighbours, timers and a bag are those of `other`, where it has any.
    fn bitor_assign(&mut self, other: Self) {
        let replay = self.replay.take();
        let timers = std::mem::take(&mut self.timers);
        *self = Self {
            keep_traces: self.keep_traces || other.keep_traces,
            callback_cpu: self.callback_cpu || other.callback_cpu,
            preemption: self.preemption || other.preemption,
            host_network: self.host_network || other.host_network,
            neighbours: other.neighbours.or(self.neighbours),
            timers: if other.timers.is_empty() {
                timers
            } else {
                other.timers
            },
            replay: other.replay.or(replay),
        };
    }
}

/// A struct of a file with these keys beside its own. `#[serde(flatten)]` would do, but then an unknown key has neither place nor
/// hint in its error.
macro_rules! with_run_options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        $vis struct $name {
            $($fields)*
            /// Whether traces stay with the results.
            #[serde(default)]
            pub keep_traces: bool,
            /// Whether each call's CPU time is recorded in its trace: two system calls for each.
            #[serde(default)]
            pub callback_cpu: bool,
            /// Whether the CPUs' context switches are recorded while measuring, which tells how long callbacks lost their CPU to
            /// others.
            #[serde(default)]
            pub preemption: bool,
            /// Whether services run in the machine's network namespace: for real programs that talk to something outside of
            /// the experiment. Where left out they have a network of their own with multicast on its loopback.
            #[serde(default)]
            pub host_network: bool,
            /// Threads, 0 to 255, of a service `neighbours` that every deployment has beside its own: they only keep CPUs busy.
            #[serde(default)]
            pub neighbours: Option<u8>,
            /// Rates or periods in place of those of the stack's timers: `NODE=RATE` or `NODE/CALLBACK=RATE`.
            #[serde(default)]
            pub timers: Vec<$crate::TimerRate>,
            /// A bag that sources replay: they publish at its times and with its sizes, and the window is as long as the bag
            /// and a second where it is left out.
            #[serde(default)]
            pub replay: Option<$crate::Replay>,
        }

        impl $name {
            pub(crate) fn options(&self) -> RunOptions {
                RunOptions {
                    keep_traces: self.keep_traces,
                    callback_cpu: self.callback_cpu,
                    preemption: self.preemption,
                    host_network: self.host_network,
                    neighbours: self.neighbours,
                    timers: self.timers.clone(),
                    replay: self.replay.clone(),
                }
            }
        }
    };
}
pub(crate) use with_run_options;
