//! Which processes a trace really has events of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stowplan_ctf::CtfError;
use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::{Event, Item, LostKind};

use crate::look::{ObservedProcess, look};

/// What a trace of LTTng holds, by process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Produced {
    /// Processes that reached the daemon, whether they recorded anything or not.
    pub processes: Vec<TracedProcess>,
    /// Events in the trace, with those by which LTTng itself says that a process is there.
    pub all_events: u64,
    /// Events that found no room.
    pub discarded_events: u64,
    /// Packets that were lost, with an unknown number of events.
    pub discarded_packets: u64,
}

/// A process of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedProcess {
    /// Its name.
    pub name: String,
    /// Pid in its own PID namespace.
    pub vpid: i64,
    /// That namespace; `None` where the trace does not tell.
    pub pid_ns: Option<u64>,
    /// Its events, without those by which LTTng itself says that it is there.
    pub events: u64,
}

impl ObservedProcess {
    /// Whether a trace means this process.
    #[must_use]
    pub fn is(&self, traced: &TracedProcess) -> bool {
        traced.vpid == self.vpid && traced.pid_ns.is_none_or(|ns| ns == self.pid_ns)
    }
}

impl Produced {
    /// Events of all processes.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.processes.iter().map(|process| process.events).sum()
    }

    /// What these processes recorded, and others of their containers, which may have ended before anybody looked.
    /// What was discarded belongs to no process and is left out.
    #[must_use]
    pub fn of(&self, seen: &[ObservedProcess]) -> Self {
        let own_ns = look(std::process::id()).map(|own| own.pid_ns);
        let is_theirs = |process: &&TracedProcess| {
            seen.iter().any(|seen| {
                let in_container =
                    own_ns != Some(seen.pid_ns) && process.pid_ns == Some(seen.pid_ns);
                in_container || seen.is(process)
            })
        };
        let processes: Vec<_> = self.processes.iter().filter(is_theirs).cloned().collect();
        Self {
            all_events: processes.iter().map(|process| process.events).sum(),
            processes,
            ..Self::default()
        }
    }
}

/// Namespace and pid.
type Key = (Option<u64>, i64);

/// Reads the trace in `dir`. A folder without any trace is one in which nothing was recorded: LTTng writes none until
/// the first program reaches its daemon.
///
/// # Errors
/// When the trace cannot be read.
pub fn produced(dir: &Path) -> Result<Produced, CtfError> {
    let mut produced = Produced::default();
    if !has_trace(dir) {
        return Ok(produced);
    }
    let mut processes = BTreeMap::<Key, TracedProcess>::new();
    let folder = TraceFolder::open(dir)?;
    let mut items = folder.events()?;
    while let Some(item) = items.next_item()? {
        match item {
            Item::Event(event) => {
                produced.all_events += 1;
                count(&event, &mut processes);
            }
            Item::Lost(lost) if lost.kind == LostKind::Events => {
                produced.discarded_events += lost.count;
            }
            Item::Lost(lost) => produced.discarded_packets += lost.count,
        }
    }
    produced.processes = processes.into_values().collect();
    Ok(produced)
}

fn count(event: &Event<'_>, processes: &mut BTreeMap<Key, TracedProcess>) {
    let Some(vpid) = event.vpid() else { return };
    let pid_ns = event.u64(event.class().context("pid_ns"));
    let process = processes
        .entry((pid_ns, vpid))
        .or_insert_with(|| TracedProcess {
            vpid,
            pid_ns,
            ..TracedProcess::default()
        });
    match event.name() {
        // By the tracer's own thread, whose name is not that of the process.
        "lttng_ust_statedump:procname" => {
            process.name = event.text("procname").unwrap_or_default().into_owned();
        }
        "lttng_ust_statedump:start" => {}
        _ => {
            process.events += 1;
            if process.name.is_empty() {
                process.name = event.procname().unwrap_or_default().into_owned();
            }
        }
    }
}

/// Whether there is a file `metadata` in the folder or below it.
fn has_trace(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return false;
    };
    entries.filter_map(Result::ok).any(|entry| {
        entry.file_name() == "metadata"
            || (entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_trace(&entry.path()))
    })
}
