//! Who recorded the events of a stream, and what several sessions recorded of one process.

use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::{Overlap, Shared};

use super::{Adapter, name_in};
use crate::event::Body;
use crate::ids::{ProcessId, ThreadId};
use crate::new_recorder::NewRecorder;
use crate::processes::Recorded;
use crate::repeats::{FolderOverlap, Repeats};

/// Who recorded events of a stream.
pub(super) enum Seat {
    /// Has recorded no event of ROS 2.
    Other(NewRecorder),
    Known(Recorder),
    /// The trace, by its index, does not say which process it was.
    WithoutProcess(u32),
}

impl Seat {
    /// Index of the trace.
    pub fn trace(&self) -> u32 {
        match self {
            Self::Other(new_recorder) => new_recorder.who.trace,
            Self::Known(recorder) => recorder.trace,
            Self::WithoutProcess(trace) => *trace,
        }
    }
}

/// A thread of a process, as one stream has it.
pub(super) struct Recorder {
    /// Index of the trace.
    pub trace: u32,
    pid_namespace: Option<u64>,
    vpid: i64,
    vtid: i64,
    pub process: ProcessId,
    pub thread: ThreadId,
    /// Whether the trace says which thread it was.
    pub with_thread: bool,
    /// As [`Local::tentative`](crate::processes::Local::tentative).
    tentative: bool,
}

/// An event by its stream, the number of its recorder there, its class and its time.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub stream: usize,
    pub who: usize,
    pub class: usize,
    pub time_ns: i64,
}

impl Adapter {
    /// Keeps which folders hold the same packets.
    pub(super) fn note_overlaps(
        &mut self,
        folder: &Path,
        traces: &TraceFolder,
        overlaps: &[Overlap],
    ) {
        let name = |trace: u32| name_in(folder, &traces.traces()[trace as usize]);
        let overlaps = overlaps.iter().map(|overlap| FolderOverlap {
            folders: [name(overlap.traces.0), name(overlap.traces.1)],
            packets: match overlap.shared {
                Shared::Packets(packets) => Some(packets),
                Shared::Contradiction => None,
            },
        });
        self.repeats.overlaps = overlaps.collect();
    }

    /// What was read of several traces.
    pub(super) fn repeats(&self) -> Repeats {
        Repeats {
            guessed: self.processes.guessed(),
            ..self.repeats.clone()
        }
    }

    /// Somebody of whom a stream had no event of ROS 2 before.
    #[cold]
    pub(super) fn introduce(&mut self, place: Place) {
        let seat = &self.seats[place.stream][place.who];
        let trace = seat.trace();
        let new_recorder = match seat {
            Seat::Other(new_recorder) if !self.traces[trace as usize].missing.vpid => {
                Some(new_recorder.clone())
            }
            _ => None,
        };
        let seat = new_recorder.map_or(Seat::WithoutProcess(trace), |new_recorder| {
            Seat::Known(self.recorder(&new_recorder))
        });
        self.seats[place.stream][place.who] = seat;
    }

    fn recorder(&mut self, new_recorder: &NewRecorder) -> Recorder {
        let NewRecorder { who, procname } = new_recorder;
        let trace = &self.traces[who.trace as usize];
        // The main thread has the name of the process.
        let name = procname.as_deref().filter(|_| who.vtid == who.vpid);
        let recorded = Recorded {
            trace: who.trace,
            number: (who.pid_namespace, who.vpid),
            name,
            kinds: trace.kinds,
        };
        let (home, offset) = (trace.home, trace.realtime_offset_ns);
        let with_thread = !trace.missing.vtid;
        let before = self.processes.known(&recorded);
        let local = self.processes.of(&recorded, &mut self.builder);
        if before.is_some_and(|before| before.process != local.process) {
            self.rebind(home, recorded.number, local.process);
        }
        let builder = &mut self.builder;
        builder.describe_process(local.process, name, Some(offset));
        Recorder {
            trace: who.trace,
            pid_namespace: who.pid_namespace,
            vpid: who.vpid,
            vtid: who.vtid,
            process: local.process,
            thread: builder.thread(local.process, who.vtid),
            with_thread,
            tentative: local.tentative,
        }
    }

    /// Whether another session recorded this event, too. If not, and it is the first ROS
    /// event of its process in its trace, finds out whether the process is the one it was
    /// taken for.
    pub(super) fn is_repeat(&mut self, place: Place, body: &Body<'_>) -> bool {
        let Seat::Known(recorder) = &self.seats[place.stream][place.who] else {
            return false;
        };
        let trace = &self.traces[recorder.trace as usize];
        self.processes.seen(trace.home, place.time_ns);
        let name = &trace.classes[place.class].0;
        let at = (recorder.thread, place.time_ns);
        if trace.repeats && self.twice.is_repeat(at, trace.home, name, body) {
            self.repeats.events += 1;
            return true;
        }
        let is_start = matches!(body, Body::RclInit { .. } | Body::ProcessStart { .. });
        if recorder.tentative {
            self.decide(place, is_start);
        }
        if is_start && let Seat::Known(recorder) = &self.seats[place.stream][place.who] {
            self.processes.starts(recorder.process);
        }
        false
    }

    #[cold]
    fn decide(&mut self, place: Place, is_start: bool) {
        let Seat::Known(recorder) = &self.seats[place.stream][place.who] else {
            return;
        };
        let trace = &self.traces[recorder.trace as usize];
        let (number, home) = ((recorder.pid_namespace, recorder.vpid), trace.home);
        let recorded = Recorded {
            trace: recorder.trace,
            number,
            name: None,
            kinds: trace.kinds,
        };
        let taken_for = &self.builder.graph().processes[recorder.process];
        let name = taken_for.name.clone();
        let offset = trace.realtime_offset_ns;
        let builder = &mut self.builder;
        let Some(local) = self.processes.decide(&recorded, is_start, builder) else {
            return;
        };
        builder.describe_process(local.process, name.as_deref(), Some(offset));
        self.rebind(home, number, local.process);
    }

    /// Who recorded this number in this home is of this process.
    fn rebind(&mut self, home: usize, number: (Option<u64>, i64), process: ProcessId) {
        let known = self
            .seats
            .iter_mut()
            .flatten()
            .filter_map(|seat| match seat {
                Seat::Known(recorder) => Some(recorder),
                Seat::Other(_) | Seat::WithoutProcess(_) => None,
            });
        for recorder in known {
            let same = (recorder.pid_namespace, recorder.vpid) == number;
            if same && self.traces[recorder.trace as usize].home == home {
                recorder.process = process;
                recorder.thread = self.builder.thread(process, recorder.vtid);
                recorder.tentative = false;
            }
        }
    }
}
