//! What node programs tell the agent of their host, and what it tells them.
//!
//! Over the unix socket `announce.sock` (SOCK_SEQPACKET) in the service's run folder, one
//! JSON document a packet. Between arm and disarm nothing is sent in either direction.
//! All times are CLOCK_MONOTONIC nanoseconds of the node program's host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Largest packet in bytes.
pub const MAX_PACKET: usize = 128 * 1024;

/// From a node program to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Announcement {
    /// First message of every process. The agent adds the host's pid from the socket's credentials.
    Up {
        /// `None` for the launcher, else the process name.
        process: Option<String>,
        /// When the program's first instruction of ours ran.
        first_instruction_ns: u64,
        /// Build id of the program.
        build_id: String,
    },
    /// A node begins to load.
    NodeLoading {
        /// Node name.
        node: String,
        /// When.
        t_ns: u64,
    },
    /// A node is loaded: its endpoints and timers exist.
    NodeLoaded {
        /// Node name.
        node: String,
        /// When.
        t_ns: u64,
    },
    /// The launcher has evaluated everything, and is about to start the first process.
    LaunchReady {
        /// When.
        t_ns: u64,
    },
    /// The launcher has started and loaded everything of the service.
    Launched {
        /// When.
        t_ns: u64,
    },
    /// All declared endpoints of the process are matched.
    Matched {
        /// Process name.
        process: String,
        /// Number of endpoints that had something to match.
        endpoints: u32,
        /// When the last one was seen matched.
        t_ns: u64,
    },
    /// Every chain that ends with this callback has had an output. Not said once the process was asked to arm.
    ChainsOutput {
        /// Callback id.
        callback: u32,
    },
    /// What the process sees of its own environment (docs/measuring.md §3), from /proc/self only.
    Fingerprint {
        /// `None` for the launcher.
        process: Option<String>,
        /// `up` or `arm`.
        at: String,
        /// Key and value, as `cgroup.cpu`, `rlimit.nofile`, `ns.pid`.
        values: BTreeMap<String, String>,
    },
    /// Timers are re-based and the process waits for the arming instant.
    Armed {
        /// `None` for the launcher.
        process: Option<String>,
    },
    /// Sent at the end, after the last event was recorded.
    Counters {
        /// Process name.
        process: String,
        /// Events recorded, by event name.
        recorded: BTreeMap<String, u64>,
        /// Events discarded because the ring was full, by event name.
        discarded: BTreeMap<String, u64>,
        /// Messages published, by publisher id.
        published: BTreeMap<u32, u64>,
        /// Messages taken, by callback id.
        taken: BTreeMap<u32, u64>,
        /// Samples that DDS reported lost, by callback id.
        lost: BTreeMap<u32, u64>,
        /// How old the data was when its callback ended, by callback id; of data that was released after arming.
        ages: BTreeMap<u32, Age>,
        /// What came of looking for tags, by callback id.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        tags: BTreeMap<u32, TagCounts>,
    },
    /// Answer to [`Control::Ping`].
    Answer {
        /// `None` for the launcher.
        process: Option<String>,
        /// When it was read.
        t_ns: u64,
    },
    /// The process is about to do what [`Control::Fault`] asked for.
    Faulting {
        /// `None` for the launcher.
        process: Option<String>,
        /// When.
        t_ns: u64,
    },
    /// The process cannot go on.
    Failed {
        /// `None` for the launcher.
        process: Option<String>,
        /// What and why.
        message: String,
    },
}

/// What came of looking for tags in images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagCounts {
    /// Tags that images have had.
    pub shown: u64,
    /// Those that were not found at their place, and those that were found and not there.
    pub wrong: u64,
}

/// Ages of data, added up: from the origin time in the payload to the end of the callback that used it. It needs no
/// trace, so a run without recording has it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Age {
    /// Executions.
    pub count: u64,
    /// Sum of their ages in nanoseconds.
    pub sum_ns: u64,
}

/// From the agent to a node program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// Write the fingerprint, re-base sources and timers to `t_arm_ns` plus their phase, answer `Armed`.
    Arm {
        /// Arming instant, in the future.
        t_arm_ns: u64,
        /// Disarming instant: nothing of the protocol is said before it.
        t_disarm_ns: u64,
    },
    /// Stop executors, send `Counters`, and end.
    Stop,
    /// Answer at once.
    Ping,
    /// Fail in this way.
    Fault(OwnFault),
}

/// A fault that a process makes of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OwnFault {
    /// Write where no memory is, which is SIGSEGV.
    Crash,
    /// End with this status.
    Exit(u8),
    /// Use so many bytes of memory more.
    Allocate(u64),
    /// Wait for ever: two threads each wait for a lock that the other has.
    Deadlock,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back_with_their_numbers() {
        let counters = Announcement::Counters {
            process: "p".to_owned(),
            recorded: BTreeMap::from([("ros2:rmw_take".to_owned(), 3)]),
            discarded: BTreeMap::new(),
            published: BTreeMap::from([(7, 2)]),
            taken: BTreeMap::from([(1, 4)]),
            lost: BTreeMap::new(),
            ages: BTreeMap::from([(
                1,
                Age {
                    count: 4,
                    sum_ns: 40,
                },
            )]),
            tags: BTreeMap::from([(
                1,
                TagCounts {
                    shown: 16,
                    wrong: 1,
                },
            )]),
        };
        let text = serde_json::to_string(&counters).unwrap();
        assert_eq!(
            serde_json::from_str::<Announcement>(&text).unwrap(),
            counters
        );
    }
}
