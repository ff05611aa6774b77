//! Reads traces in the Common Trace Format into an [`Analysis`].

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use stowplan_ctf::CtfError;
use stowplan_ctf::dir::{OpenTrace, TraceFolder};
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Decoded, Item, Merged};

use crate::analysis::{Analysis, Builder};
use crate::blocks::TimeBlocks;
use crate::chain::Chain;
use crate::contents::Contents;
use crate::created::{Created, Waiting};
use crate::ctf_classes::{Depth, Provider, is_of_ros, within_range};
use crate::digest::{Classes, Digest, Digester, OnlyCounted};
use crate::event::{Body, TraceEvent};
use crate::graph::Graph;
use crate::ids::ProcessId;
use crate::inventory::Inventory;
use crate::keep::Keep;
use crate::overview::Overview;
use crate::processes::Processes;
use crate::repeats::{Repeats, Twice};
use crate::ros2_latency_analysis;
use crate::settle::Pair;

mod contexts;
mod losses;
mod one_trace;
mod recorders;

use one_trace::{OneTrace, clock, name_in};
use recorders::{Place, Seat};

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

/// From the events of the reader to those of the analysis.
struct Adapter {
    builder: Builder,
    traces: Vec<OneTrace>,
    processes: Processes,
    twice: Twice,
    /// Of each stream those who recorded it, by their number.
    seats: Vec<Vec<Seat>>,
    created: Waiting,
    repeats: Repeats,
    /// To be subtracted from time since the epoch: gives the analysis's clock.
    epoch_ns: i64,
    /// Events of other providers than ROS 2's.
    other: u64,
    unreadable: u64,
    discarded_packets: u64,
    /// Time of the last event.
    now_ns: i64,
}

/// How traces are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Whether events of a traced middleware (`dds:write`) may name publications.
    pub middleware_events: bool,
    /// How an [`Analysis`] links messages to their publications.
    pub linking: Linking,
    /// Threads that read: the caller's, and others that decode packets ahead of it.
    /// What is read does not depend on their number.
    pub threads: NonZeroUsize,
}

/// How messages are linked to their publications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linking {
    /// By the best that the trace has.
    #[default]
    Best,
    /// As TUM's `ros2_latency_analysis`: the latest publication before the callback.
    Tum,
}

impl Default for Reading {
    /// With all that the trace has, on all CPUs that the process may use.
    fn default() -> Self {
        Self {
            middleware_events: true,
            linking: Linking::Best,
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
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
        Self::from_ctf_with(folder, Reading::default())
    }

    /// As [`Analysis::from_ctf`], read in another way.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn from_ctf_with(folder: impl AsRef<Path>, reading: Reading) -> Result<Self, TraceError> {
        let read = read(folder.as_ref(), reading, Builder::new(), &mut |_, _| {})?;
        let repeats = read.adapter.repeats();
        let mut analysis = read.adapter.builder.finish();
        if reading.linking == Linking::Tum {
            ros2_latency_analysis::link(&analysis.graph, &mut analysis.records);
        }
        analysis.events += read.adapter.other;
        analysis.damage = read.damage;
        analysis.repeats = repeats;
        analysis.records.gaps.unreadable_events = read.adapter.unreadable;
        Ok(analysis)
    }
}

impl Analysis {
    /// Reads the trace of an overview again and keeps of it what these chains need, so
    /// that they can be measured; nothing else can be asked of the result.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn of_chains<'c>(
        folder: impl AsRef<Path>,
        reading: Reading,
        overview: &Overview,
        chains: impl IntoIterator<Item = &'c Chain>,
    ) -> Result<Self, TraceError> {
        let chains = chains.into_iter().map(|chain| &*chain.callbacks);
        let keep = Keep::new(&overview.graph, chains, &overview.counted.publishes);
        let builder = Builder::keeping(keep);
        let read = read(folder.as_ref(), reading, builder, &mut |_, _| {})?;
        let repeats = read.adapter.repeats();
        let mut analysis = read.adapter.builder.finish_kept();
        analysis.clocks.clone_from(&overview.clocks);
        analysis.services.clone_from(&overview.services);
        analysis.events += read.adapter.other;
        analysis.damage = read.damage;
        analysis.repeats = repeats;
        analysis.records.gaps.unreadable_events = read.adapter.unreadable;
        Ok(analysis)
    }
}

impl Overview {
    /// Reads every trace in `folder` and below it, as [`Analysis::from_ctf`] does.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn from_ctf(folder: impl AsRef<Path>, reading: Reading) -> Result<Self, TraceError> {
        let builder = Builder::counting(false);
        Self::read(folder.as_ref(), reading, builder, &mut |_, _| {})
    }

    /// As [`Overview::from_ctf`], of callbacks alone. Messages are counted and not followed, so
    /// that there are no links and edges. It takes about half as long.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn of_callbacks(folder: impl AsRef<Path>, reading: Reading) -> Result<Self, TraceError> {
        let builder = Builder::counting_callbacks();
        Self::read(folder.as_ref(), reading, builder, &mut |_, _| {})
    }

    /// As [`Overview::from_ctf`], with means over blocks of time beside.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn from_ctf_with_blocks(
        folder: impl AsRef<Path>,
        reading: Reading,
    ) -> Result<(Self, TimeBlocks), TraceError> {
        let builder = Builder::counting_by_block();
        let mut overview = Self::read(folder.as_ref(), reading, builder, &mut |_, _| {})?;
        let by_block = overview.counted.by_block.take().unwrap_or_default();
        let blocks = TimeBlocks::of(by_block, &overview.graph, overview.extent);
        Ok((overview, blocks))
    }

    /// Gives every link to `pair` beside, in the order of the takes.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn from_ctf_with_pairs(
        folder: impl AsRef<Path>,
        reading: Reading,
        mut pair: impl FnMut(&Graph, &Pair),
    ) -> Result<Self, TraceError> {
        let builder = Builder::counting(true);
        Self::read(folder.as_ref(), reading, builder, &mut pair)
    }

    fn read(
        folder: &Path,
        reading: Reading,
        builder: Builder,
        pair: &mut dyn FnMut(&Graph, &Pair),
    ) -> Result<Self, TraceError> {
        let read = read(folder, reading, builder, pair)?;
        let contents = read.adapter.contents();
        let repeats = read.adapter.repeats();
        let mut overview = read.adapter.builder.finish_overview();
        for found in std::mem::take(&mut overview.counted.pairs) {
            pair(&overview.graph, &found);
        }
        overview.contents = contents;
        overview.events += read.adapter.other;
        overview.damage = read.damage;
        overview.repeats = repeats;
        overview.gaps.unreadable_events = read.adapter.unreadable;
        Ok(overview)
    }
}

impl Inventory {
    /// Reads every trace in `folder` and below it, as [`Analysis::from_ctf`] does.
    ///
    /// # Errors
    /// As [`Analysis::from_ctf`].
    pub fn from_ctf(folder: impl AsRef<Path>, reading: Reading) -> Result<Self, TraceError> {
        let builder = Builder::inventory();
        let read = read(folder.as_ref(), reading, builder, &mut |_, _| {})?;
        let contents = read.adapter.contents();
        let repeats = read.adapter.repeats();
        Ok(Self {
            contents,
            repeats,
            damage: read.damage,
            unreadable_events: read.adapter.unreadable,
            ..read.adapter.builder.finish_inventory()
        })
    }
}

/// What reading gave.
struct Read {
    adapter: Adapter,
    damage: Vec<CtfError>,
}

fn read(
    folder: &Path,
    reading: Reading,
    builder: Builder,
    pair: &mut dyn FnMut(&Graph, &Pair),
) -> Result<Read, TraceError> {
    let depth = builder.depth();
    let open = |source| TraceError::Open {
        folder: folder.display().to_string(),
        source,
    };
    let mut damage = Vec::new();
    let traces = TraceFolder::open_readable(folder, &mut damage).map_err(open)?;
    let events = traces.readable_events(&mut damage).map_err(open)?;
    let streams = events.streams().len();
    let mut adapter = Adapter::new(folder, &traces, builder, streams);
    adapter.note_overlaps(folder, &traces, events.overlaps());
    let metadata = traces.traces().iter().map(OpenTrace::metadata);
    let classes: Vec<Classes> = metadata
        .zip(&adapter.traces)
        .map(|(metadata, trace)| {
            let depth = if trace.may_only_count() {
                depth
            } else {
                Depth::Everything
            };
            Classes::new(metadata, reading.middleware_events, depth)
        })
        .collect();
    let counted = Mutex::default();
    let digester = Digester::new(&classes, streams, &counted);
    for error in &damage {
        adapter.damaged(error, i64::MIN, None);
    }
    events.with_threads(reading.threads, digester, |events| {
        adapter.read(events, pair, &mut damage);
    });
    let counted = counted.into_inner();
    adapter.only_counted(&counted.unwrap_or_else(PoisonError::into_inner));
    Ok(Read { adapter, damage })
}

impl Adapter {
    fn read(
        &mut self,
        events: &mut Merged<'_, Digest>,
        pair: &mut dyn FnMut(&Graph, &Pair),
        damage: &mut Vec<CtfError>,
    ) {
        loop {
            match events.next_item() {
                Ok(Some(Item::Event(event))) => {
                    if self.event(&event) {
                        for found in self.builder.drain_pairs() {
                            pair(self.builder.graph(), &found);
                        }
                    }
                }
                Ok(Some(Item::Lost(lost))) => self.lost(&lost),
                Ok(None) => return self.end(),
                Err(error) => {
                    // That stream goes on with its next packet, if there is one.
                    self.damaged(&error, self.now_ns, events.resumes_ns());
                    damage.push(error);
                }
            }
        }
    }

    fn new(folder: &Path, traces: &TraceFolder, builder: Builder, streams: usize) -> Self {
        let metadata: Vec<&Metadata> = traces.traces().iter().map(OpenTrace::metadata).collect();
        let common = metadata
            .first()
            .map(|first| clock(first))
            .unwrap_or_default();
        let mut processes = Processes::default();
        for (at, trace) in traces.traces().iter().enumerate() {
            let mut earlier = metadata[..at].iter();
            let part_of = earlier.position(|other| metadata[at].is_same_trace(other));
            processes.add(&name_in(folder, trace), metadata[at], part_of);
        }
        let opened = (0u32..).zip(traces.traces());
        let opened = opened.map(|(at, trace)| OneTrace::new(trace, common, at, &processes));
        Self {
            builder,
            traces: opened.collect(),
            processes,
            twice: Twice::default(),
            seats: (0..streams).map(|_| Vec::new()).collect(),
            created: Waiting::default(),
            repeats: Repeats::default(),
            epoch_ns: common.1,
            other: 0,
            unreadable: 0,
            discarded_packets: 0,
            now_ns: i64::MIN,
        }
    }

    /// Takes an event; whether this was a time to look at what is settled.
    #[inline]
    fn event(&mut self, event: &Decoded<'_, Digest>) -> bool {
        let digest = event.value;
        let stream = event.stream as usize;
        if let Some(new_recorder) = &digest.new_recorder {
            let new_recorder = new_recorder.as_ref().clone();
            self.seats[stream].push(Seat::Other(new_recorder));
        }
        let place = Place {
            stream,
            who: digest.who as usize,
            class: digest.class as usize,
            time_ns: within_range(event.timestamp_ns.saturating_sub(self.epoch_ns)),
        };
        let seat = &self.seats[stream][place.who];
        let trace = seat.trace() as usize;
        match (seat, digest.provider) {
            (_, Provider::Other | Provider::Scheduler) | (Seat::Other(_), Provider::Middleware) => {
                self.other += 1;
                self.traces[trace].classes[place.class].1 += 1;
                if let (Provider::Scheduler, Some(body)) = (digest.provider, digest.said.body()) {
                    let host = self.processes.host(trace);
                    self.builder.push_scheduler(host, place.time_ns, &body);
                }
                return false;
            }
            (Seat::Other(_), Provider::Ros) => self.introduce(place),
            _ => {}
        }
        let body = digest.said.body();
        if self.traces[trace].shares
            && let Some(body) = &body
            && self.is_repeat(place, body)
        {
            return false;
        }
        self.traces[trace].classes[place.class].1 += 1;
        let Some(body) = body else {
            self.unreadable += 1;
            return false;
        };
        self.now_ns = place.time_ns;
        let Seat::Known(recorder) = &self.seats[stream][place.who] else {
            self.builder.left_out_without_process(1);
            return false;
        };
        let with_thread = recorder.with_thread;
        let event = TraceEvent {
            time_ns: place.time_ns,
            process: recorder.process,
            thread: recorder.thread,
            body,
        };
        if let Some(created_ns) = digest.said.created_ns() {
            let created = Created {
                created_ns,
                time_ns: place.time_ns,
                thread: event.thread,
                said: digest.said.clone(),
            };
            self.created.add(event.process, created);
            return false;
        }
        self.push(&event, with_thread)
    }

    fn push(&mut self, event: &TraceEvent<'_>, with_thread: bool) -> bool {
        if !self.created.is_empty() && event.body != Body::Other {
            Self::release(&mut self.builder, &mut self.created, event.process);
        }
        if with_thread {
            return self.builder.push(event);
        }
        self.builder.push_without_thread(event);
        false
    }

    /// Gives on what waits of a process.
    #[cold]
    fn release(builder: &mut Builder, created: &mut Waiting, process: ProcessId) {
        for created in created.take(process) {
            let Some(body) = created.said.body() else {
                continue;
            };
            let event = TraceEvent {
                time_ns: created.time_ns,
                process,
                thread: created.thread,
                body,
            };
            builder.push_created(&event, created.created_ns);
        }
    }

    /// Adds what was counted beside.
    fn only_counted(&mut self, counted: &OnlyCounted) {
        for &(trace, class, count) in &counted.by_class {
            self.traces[trace].classes[class].1 += count;
            if !is_of_ros(&self.traces[trace].classes[class].0) {
                self.other += count;
            }
        }
        for &(stream, who, count, last_ns) in &counted.by_recorder {
            if let Some(Seat::Known(recorder)) = self.seats[stream].get(who) {
                let last_ns = within_range(last_ns.saturating_sub(self.epoch_ns));
                self.builder.only_counted(recorder.process, count, last_ns);
            }
        }
    }

    /// The streams have ended.
    fn end(&mut self) {
        for process in self.created.processes() {
            Self::release(&mut self.builder, &mut self.created, process);
        }
    }

    /// What was counted of the streams.
    fn contents(&self) -> Contents {
        let mut contents = Contents {
            discarded_packets: self.discarded_packets,
            streams: self.seats.len() as u64,
            other_events: self.other,
            ..Contents::default()
        };
        for trace in &self.traces {
            contents.declares_take |= trace.kinds.takes && !trace.caret_takes;
            contents.declares_publish_stamp |= trace.publish_stamp;
            for (name, count) in trace.classes.iter().filter(|class| class.1 > 0) {
                *contents.by_event.entry(name.clone()).or_default() += count;
            }
        }
        contents.discarded_events = self.builder.discarded_events();
        contents
    }
}
