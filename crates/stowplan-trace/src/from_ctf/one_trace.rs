//! What is known of one trace before its events are read.

use std::path::{Path, PathBuf};

use stowplan_ctf::dir::OpenTrace;
use stowplan_ctf::metadata::Metadata;

use super::contexts::MissingContexts;
use crate::graph::EventKinds;
use crate::processes::Processes;

/// What one trace below the folder needs for its events.
pub(super) struct OneTrace {
    pub folder: PathBuf,
    /// The trace that it is a part of, as a number in [`Processes`].
    pub home: usize,
    /// Whether other traces can have events of its processes.
    pub shares: bool,
    /// Whether they can have the same events, too.
    pub repeats: bool,
    /// Names of the classes, and how many events were of each.
    pub classes: Vec<(String, u64)>,
    pub kinds: EventKinds,
    pub missing: MissingContexts,
    /// It has events of the kernel's scheduler.
    pub has_scheduler: bool,
    /// Takes are told by CARET's events alone.
    pub caret_takes: bool,
    /// `rmw_publish` has a timestamp.
    pub publish_stamp: bool,
    /// Time since the epoch at which its clock read 0.
    pub realtime_offset_ns: i64,
}

/// A clock's identity and its offset from the epoch.
pub(super) type ClockOrigin = (Option<[u8; 16]>, i64);

pub(super) fn clock(metadata: &Metadata) -> ClockOrigin {
    metadata
        .clocks
        .first()
        .map_or((None, 0), |clock| (clock.uuid, clock.offset_ns))
}

/// The folder of a trace relative to the one that was opened.
pub(super) fn name_in(folder: &Path, trace: &OpenTrace) -> String {
    let name = trace.path().strip_prefix(folder).unwrap_or(trace.path());
    name.display().to_string()
}

impl OneTrace {
    /// Whether events without a meaning here need only be counted: all of them can be placed, and no other trace has them too.
    pub fn may_only_count(&self) -> bool {
        !self.shares && !self.missing.vpid && !self.missing.vtid
    }

    pub fn new(trace: &OpenTrace, common: ClockOrigin, at: u32, processes: &Processes) -> Self {
        let metadata = trace.metadata();
        let (uuid, offset) = clock(metadata);
        let classes = metadata.classes();
        let class = |name: &str| classes.iter().find(|class| class.name == name);
        let takes = class("ros2:rmw_take").is_some();
        let caret = class("ros2:dispatch_subscription_callback").is_some();
        let rmw_publish = class("ros2:rmw_publish");
        Self {
            folder: trace.path().to_path_buf(),
            home: processes.home(at),
            shares: processes.may_share(at),
            repeats: processes.may_repeat(at),
            classes: classes
                .iter()
                .map(|class| (class.name.clone(), 0))
                .collect(),
            kinds: EventKinds {
                takes: takes || caret,
                rmw_publish: rmw_publish.is_some(),
                arrivals: class("stowplan:arrival").is_some(),
            },
            missing: MissingContexts::new(metadata),
            has_scheduler: class("sched_switch").is_some(),
            caret_takes: caret && !takes,
            publish_stamp: rmw_publish.is_some_and(|class| class.field("timestamp").is_some()),
            // LTTng measures the offset anew for each trace.
            realtime_offset_ns: if uuid.is_some() && uuid == common.0 {
                offset
            } else {
                common.1
            },
        }
    }
}
