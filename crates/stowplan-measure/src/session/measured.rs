//! What one start gave, before analysis.

use std::collections::BTreeMap;

use stowplan_results::MemoryAt;
use stowplan_site::{Armed, ClockOffset, HostId};
use stowplan_wire::agent::{Announced, ProgramDigest};
use stowplan_wire::host::{
    ColdProof, LimitsReadBack, MemorySample, Preemptions, ProcessUsage, UsageSample,
};

use crate::progress::Progress;
use crate::real::RealProgress;
use crate::traced::Recording;

/// What one start gave, by host. The first host's clock is that of the session.
#[derive(Debug)]
pub struct Measured {
    /// The hosts in the order of the plan.
    pub hosts: Vec<MeasuredHost>,
}

/// What one host gave. All instants are of its own clock.
#[derive(Debug)]
pub struct MeasuredHost {
    /// Which.
    pub host: HostId,
    /// Its clock against that of the first host; `None` of the first itself.
    pub offset: Option<ClockOffset>,
    /// What the engine needed before t0: images loaded, groups and networks made.
    pub prepare_ns: u64,
    /// Read before `create`, on the first host.
    pub t0_ns: u64,
    /// When `create` returned; `None` where the engine cannot create apart from starting.
    pub created_ns: Option<u64>,
    /// When `start` returned.
    pub started_ns: u64,
    /// How the services came up.
    pub progress: Progress,
    /// How the real programs came up, by service.
    pub real: BTreeMap<String, RealProgress>,
    /// Everything that node programs said.
    pub announcements: Vec<Announced>,
    /// The window, where there was one.
    pub window: Option<Armed>,
    /// When threads of the node programs lost their CPU to others, where that was to be recorded.
    pub preemptions: Option<Preemptions>,
    /// Usage samples, those of the engine before the run had services first.
    pub samples: Vec<UsageSample>,
    /// What each process of the services used.
    pub processes: Vec<ProcessUsage>,
    /// Programs that really ran.
    pub digests: Vec<ProgramDigest>,
    /// What the engine really is, read back about every service.
    pub label: BTreeMap<String, String>,
    /// Memory with what is shared divided, before the window and after it.
    pub memory: Vec<(MemoryAt, MemorySample)>,
    /// Limits read back, by service.
    pub limits: Vec<(String, LimitsReadBack)>,
    /// Proof that the cache was cold.
    pub cold: Option<ColdProof>,
    /// Why it proves nothing of something that services read from their images.
    pub cold_unshown: Option<String>,
    /// Bytes that were read from block devices from that proof until everything was ready, by whomever.
    pub cold_read_bytes: Option<u64>,
    /// What the engine could not do as asked.
    pub deviations: Vec<String>,
    /// What real programs recorded, in a trace of LTTng beside those of the nodes.
    pub recording: Recording,
    /// Oddities that do not make the run invalid.
    pub warnings: Vec<String>,
}

impl MeasuredHost {
    /// Nothing is known of it yet.
    pub(crate) fn new(host: HostId, offset: Option<ClockOffset>) -> Self {
        Self {
            host,
            offset,
            prepare_ns: 0,
            t0_ns: 0,
            created_ns: None,
            started_ns: 0,
            progress: Progress::default(),
            real: BTreeMap::new(),
            announcements: Vec::new(),
            window: None,
            preemptions: None,
            samples: Vec::new(),
            processes: Vec::new(),
            digests: Vec::new(),
            label: BTreeMap::new(),
            memory: Vec::new(),
            limits: Vec::new(),
            cold: None,
            cold_unshown: None,
            cold_read_bytes: None,
            deviations: Vec::new(),
            recording: Recording::default(),
            warnings: Vec::new(),
        }
    }

    /// The instant that rows count from: arming, or the request where nothing was armed.
    #[must_use]
    pub fn zero_ns(&self) -> u64 {
        let armed = self.window.as_ref();
        armed.map_or(self.t0_ns, |window| window.t_arm_ns)
    }
}

impl Measured {
    /// The host whose clock is that of the session.
    ///
    /// # Panics
    /// When there is no host: a session has one at least.
    #[must_use]
    pub fn lead(&self) -> &MeasuredHost {
        self.hosts.first().expect("a session has a host")
    }

    /// Everything that node programs said, on all hosts.
    pub fn announcements(&self) -> impl Iterator<Item = &Announced> {
        self.hosts.iter().flat_map(|host| &host.announcements)
    }
}
