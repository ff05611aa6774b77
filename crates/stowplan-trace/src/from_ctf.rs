//! Reads traces in the Common Trace Format into an [`Analysis`].

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use stowplan_ctf::CtfError;
use stowplan_ctf::dir::{OpenTrace, TraceFolder};
use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::{Event, Events, Item, Lost, LostKind, TraceInput};

use crate::analysis::{Analysis, Builder};
use crate::ctf_classes::{Class, within_range};
use crate::event::{Discard, DiscardScope, ProcessKey, TraceEvent};
use crate::ids::{ProcessId, ThreadId};

/// A trace that cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The folder, its metadata or a stream cannot be opened.
    #[error("cannot read the trace in {folder}")]
    Open {
        /// What was to be read.
        folder: String,
        /// Why.
        #[source]
        source: CtfError,
    },
}

/// What one trace below the folder needs for its events.
struct OneTrace {
    folder: PathBuf,
    /// Folder relative to the one that was opened.
    name: String,
    host: String,
    /// Number of the process, where the trace has one process only.
    vpid: Option<i64>,
    classes: Vec<Class>,
    /// To be subtracted from time since the epoch: gives the analysis's clock.
    epoch_ns: i64,
}

/// The ids of an event's process and thread.
type Ids = (ProcessId, ThreadId);
/// Trace, PID namespace, vpid, vtid.
type Who = (u32, Option<u64>, i64, i64);

/// From the events of the reader to those of the analysis.
struct Adapter {
    builder: Builder,
    traces: Vec<OneTrace>,
    ids: FxHashMap<Who, Ids>,
    /// Per stream, whose event was last: mostly the next is of the same thread.
    last: Vec<Option<(Who, Ids)>>,
    unreadable: u64,
    /// Time of the last event.
    now_ns: i64,
}

impl Analysis {
    /// Reads every trace in `folder` and below it.
    ///
    /// A stream that is damaged is read up to the damage, and what it may lack
    /// counts as discarded; see [`Analysis::damage`].
    ///
    /// # Errors
    /// If there is no trace, its metadata cannot be read, or no stream can.
    pub fn from_ctf(folder: impl AsRef<Path>) -> Result<Self, TraceError> {
        let folder = folder.as_ref();
        let open = |source| TraceError::Open {
            folder: folder.display().to_string(),
            source,
        };
        let traces = TraceFolder::open(folder).map_err(open)?;
        let mut damage = Vec::new();
        let mut events = readable(&traces, &mut damage).map_err(open)?;
        let mut adapter = Adapter::new(folder, &traces, events.streams().len());
        for error in &damage {
            adapter.damaged(error, i64::MIN);
        }
        loop {
            match events.next_item() {
                Ok(Some(Item::Event(event))) => adapter.event(&event),
                Ok(Some(Item::Lost(lost))) => adapter.lost(&lost),
                Ok(None) => break,
                Err(error) => {
                    // That stream ends here; the others go on.
                    adapter.damaged(&error, adapter.now_ns);
                    damage.push(error);
                }
            }
        }
        let mut analysis = adapter.builder.finish();
        analysis.damage = damage;
        analysis.records.gaps.unreadable_events = adapter.unreadable;
        Ok(analysis)
    }
}

/// The events of all streams but those that cannot even be opened.
fn readable<'t>(
    traces: &'t TraceFolder,
    damage: &mut Vec<CtfError>,
) -> Result<Events<'t>, CtfError> {
    let mut inputs = traces.inputs();
    loop {
        let error = match Events::new(&inputs) {
            Ok(events) => return Ok(events),
            Err(error) => error,
        };
        let CtfError::Stream { file, .. } = &error else {
            return Err(error);
        };
        let count = |inputs: &[TraceInput<'_>]| inputs.iter().map(|i| i.files.len()).sum::<usize>();
        let before = count(&inputs);
        for input in &mut inputs {
            input.files.retain(|(name, _)| name != file);
        }
        let left = count(&inputs);
        if left == before || left == 0 {
            return Err(error);
        }
        damage.push(error);
    }
}

impl Adapter {
    fn new(folder: &Path, traces: &TraceFolder, streams: usize) -> Self {
        let common = traces
            .traces()
            .first()
            .map(|trace| clock(trace.metadata()))
            .unwrap_or_default();
        Self {
            builder: Builder::new(),
            traces: traces
                .traces()
                .iter()
                .map(|trace| OneTrace::new(folder, trace, common))
                .collect(),
            ids: FxHashMap::default(),
            last: vec![None; streams],
            unreadable: 0,
            now_ns: i64::MIN,
        }
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        let trace = &self.traces[event.trace as usize];
        let class = &trace.classes[event.class_index as usize];
        let vpid = event.vpid().or(trace.vpid).unwrap_or(0);
        let who = (
            event.trace,
            class.pid_namespace.and_then(|field| event.u64(field)),
            vpid,
            event.vtid().unwrap_or(vpid),
        );
        let (process, thread) = match self.last[event.stream as usize] {
            Some((last, ids)) if last == who => ids,
            _ => self.ids(event, who),
        };
        let trace = &self.traces[event.trace as usize];
        let class = &trace.classes[event.class_index as usize];
        let texts = class.texts(event);
        let Some(body) = class.body(event, &texts) else {
            self.unreadable += 1;
            return;
        };
        let time_ns = within_range(event.timestamp_ns.saturating_sub(trace.epoch_ns));
        self.now_ns = time_ns;
        self.builder.push(&TraceEvent {
            time_ns,
            process,
            thread,
            body,
        });
    }

    fn ids(&mut self, event: &Event<'_>, who: Who) -> Ids {
        let (index, pid_namespace, vpid, vtid) = who;
        let trace = &self.traces[index as usize];
        let builder = &mut self.builder;
        let ids = *self.ids.entry(who).or_insert_with(|| {
            let process = builder.process(&ProcessKey {
                host: trace.host.clone(),
                trace: trace.name.clone(),
                pid_namespace,
                vpid,
            });
            // The main thread has the name of the process.
            let name = event.procname().filter(|_| vtid == vpid);
            builder.describe_process(process, name.as_deref(), Some(trace.epoch_ns));
            (process, builder.thread(process, vtid))
        });
        self.last[event.stream as usize] = Some((who, ids));
        ids
    }

    /// What a damaged stream still had to say is missing from `from_ns` on.
    fn damaged(&mut self, error: &CtfError, from_ns: i64) {
        let CtfError::Stream { file, .. } = error else {
            return;
        };
        let folder = Path::new(file).parent();
        for trace in &self.traces {
            if folder == Some(&trace.folder) {
                self.builder.discard(Discard {
                    scope: DiscardScope::Trace(trace.name.clone()),
                    from_ns,
                    to_ns: i64::MAX,
                    // How many events is not known.
                    count: 0,
                });
            }
        }
    }

    fn lost(&mut self, lost: &Lost) {
        let trace = &self.traces[lost.trace as usize];
        let time = |ns: Option<i64>, otherwise| {
            ns.map_or(otherwise, |ns: i64| ns.saturating_sub(trace.epoch_ns))
        };
        self.builder.discard(Discard {
            scope: DiscardScope::Trace(trace.name.clone()),
            from_ns: time(lost.begin_ns, i64::MIN),
            to_ns: time(lost.end_ns, i64::MAX),
            count: match lost.kind {
                LostKind::Events => lost.count,
                // How many events they had is not known.
                LostKind::Packets => 0,
            },
        });
    }
}

/// A clock's identity and its offset from the epoch.
type ClockOrigin = (Option<[u8; 16]>, i64);

fn clock(metadata: &Metadata) -> ClockOrigin {
    metadata
        .clocks
        .first()
        .map_or((None, 0), |clock| (clock.uuid, clock.offset_ns))
}

impl OneTrace {
    fn new(folder: &Path, trace: &OpenTrace, common: ClockOrigin) -> Self {
        let metadata = trace.metadata();
        let (uuid, offset) = clock(metadata);
        let name = trace.path().strip_prefix(folder).unwrap_or(trace.path());
        Self {
            folder: trace.path().to_path_buf(),
            name: name.display().to_string(),
            host: metadata.env_text("hostname").unwrap_or_default().to_owned(),
            vpid: match metadata.env("vpid") {
                Some(EnvValue::Int(vpid)) => Some(*vpid),
                _ => None,
            },
            classes: metadata.classes().iter().map(Class::new).collect(),
            // Traces of one clock compare by its own readings: LTTng measures the
            // offset anew for each process, and gets it wrong by some nanoseconds.
            epoch_ns: if uuid.is_some() && uuid == common.0 {
                offset
            } else {
                common.1
            },
        }
    }
}
