//! From events to an [`Analysis`].

use crate::blocks::ByBlock;
use crate::clocks::{ClockDifference, Evidence};
use crate::contents::Contents;
use crate::ctf_classes::Depth;
use crate::event::{Body, Discard, DiscardScope, ProcessKey, TraceEvent};
use crate::graph::{EventKinds, Graph};
use crate::ids::{ProcessId, ThreadId};
use crate::inventory::Inventory;
use crate::keep::Keep;
use crate::links;
use crate::marks::Marks;
use crate::overview::Overview;
use crate::registry::{Observed, Registry};
use crate::repeats::Repeats;
use crate::scheduling::Schedulers;
use crate::services::{Calls, ServiceCalls};
use crate::settle::{Pair, Settler};
use crate::tracker::{Records, Tracker};
use crate::window::Window;

/// A trace, understood: its entities, what happened, and what it lacks.
#[derive(Debug)]
pub struct Analysis {
    /// The entities.
    pub graph: Graph,
    /// What happened.
    pub records: Records,
    /// Where events were discarded.
    pub discards: Vec<Discard>,
    /// Instants and totals that single events state.
    pub marks: Marks,
    /// Hosts whose clocks do not agree.
    pub clocks: Vec<ClockDifference>,
    /// Calls of services, by service and client.
    pub services: Vec<ServiceCalls>,
    /// Where streams are broken.
    pub damage: Vec<stowplan_ctf::CtfError>,
    /// What several traces say of the same.
    pub repeats: Repeats,
    /// Number of events read.
    pub events: u64,
    /// First and last event of ROS 2, nanoseconds; `None` for a trace without.
    pub extent: Option<Window>,
}

impl Analysis {
    /// Events that were discarded, in total.
    #[must_use]
    pub fn discarded_events(&self) -> u64 {
        self.discards.iter().map(|discard| discard.count).sum()
    }

    /// From the common start of the measurement to the first process that ended
    /// it; `None` if no process was armed. Without an end, the trace's last event.
    #[must_use]
    pub fn armed_window(&self) -> Option<Window> {
        let from_ns = self.marks.armed.iter().map(|a| a.1).max()?;
        let to_ns = self
            .marks
            .disarmed
            .iter()
            .map(|d| d.1)
            .min()
            .or(self.extent.map(|e| e.to_ns))?;
        Some(Window { from_ns, to_ns })
    }
}

impl Analysis {
    /// What messages and calls together say.
    fn conclude(&mut self, messages: &Evidence, calls: Calls) {
        let mut evidence = messages.clone();
        evidence.merge(&calls.clocks);
        self.clocks = evidence.differences(&self.graph);
        self.services = calls.summaries(&self.graph, &self.clocks);
    }
}

/// Whether a process lies in a scope.
fn concerns(graph: &Graph, scope: &DiscardScope, process: ProcessId) -> bool {
    match scope {
        DiscardScope::Process(id) => *id == process,
        DiscardScope::Trace(trace) => graph.processes[process].traces.contains(trace),
    }
}

/// Takes events one at a time, in order of time, and makes an [`Analysis`].
#[derive(Debug, Default)]
pub struct Builder {
    registry: Registry,
    tracker: Tracker,
    marks: Marks,
    calls: Calls,
    schedulers: Schedulers,
    discards: Vec<Discard>,
    events: u64,
    extent: Option<Window>,
    settler: Option<Box<Settler>>,
    depth: Depth,
}

/// Inode of the PID namespace that the kernel starts with (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

/// Events between two looks at what is settled.
const SETTLE_EVERY: u64 = 1 << 15;

impl Builder {
    /// A builder that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder that counts and forgets, for [`Builder::finish_overview`].
    pub(crate) fn counting(with_pairs: bool) -> Self {
        let mut builder = Self::default();
        builder.count(with_pairs);
        builder
    }

    /// A builder that knows entities and follows nothing, for [`Builder::finish_inventory`].
    pub(crate) fn inventory() -> Self {
        Self {
            depth: Depth::Inventory,
            ..Self::default()
        }
    }

    /// As [`Builder::counting`], of callbacks alone: messages are not followed.
    pub(crate) fn counting_callbacks() -> Self {
        let mut builder = Self::counting(false);
        builder.depth = Depth::Callbacks;
        builder.tracker.without_messages = true;
        builder
    }

    /// What it makes use of.
    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// As [`Builder::counting`], by blocks of time too.
    pub(crate) fn counting_by_block() -> Self {
        let mut builder = Self::counting(false);
        if let Some(settler) = &mut builder.settler {
            settler.counted.by_block = Some(ByBlock::default());
        }
        builder
    }

    /// Counts and forgets from here on.
    pub(crate) fn count(&mut self, with_pairs: bool) {
        let settler = self.settler.get_or_insert_default();
        settler.with_pairs = with_pairs;
    }

    /// The id of the process of this key.
    pub fn process(&mut self, key: &ProcessKey) -> ProcessId {
        self.registry.process(key)
    }

    /// Says what is known of a process beyond its key.
    pub fn describe_process(
        &mut self,
        process: ProcessId,
        name: Option<&str>,
        realtime_offset_ns: Option<i64>,
    ) {
        let entry = &mut self.registry.graph.processes[process];
        entry.name = name.map(str::to_owned).or(entry.name.take());
        entry.realtime_offset_ns = realtime_offset_ns.or(entry.realtime_offset_ns);
    }

    /// The id of a thread of a process.
    pub fn thread(&mut self, process: ProcessId, vtid: i64) -> ThreadId {
        self.registry.thread(process, vtid)
    }

    /// Takes the next event; whether this was a time to look at what is settled.
    pub fn push(&mut self, event: &TraceEvent<'_>) -> bool {
        self.seen(event);
        if self.depth == Depth::Inventory {
            self.registry
                .note(event.time_ns, event.process, &event.body);
            return false;
        }
        if !event.body.is_frequent() {
            self.observe(event, event.time_ns);
        } else if self.calls.follow() {
            self.calls.observe(&mut self.registry, event);
        }
        if !self.schedulers.is_empty() {
            self.scheduled_call(event);
        }
        self.tracker.observe(&mut self.registry, event);
        let look = self.settler.is_some() && self.events.is_multiple_of(SETTLE_EVERY);
        if look {
            self.settle(event.time_ns);
        }
        look
    }

    /// Takes the next event, which tells of something that was made at an earlier time.
    pub(crate) fn push_created(&mut self, event: &TraceEvent<'_>, created_ns: i64) {
        self.seen(event);
        self.observe(event, created_ns);
    }

    /// Takes the next event, of which the trace does not say which thread recorded it: entities
    /// and the number of calls are known, and nothing that needs an order of events.
    pub(crate) fn push_without_thread(&mut self, event: &TraceEvent<'_>) {
        self.seen(event);
        self.registry.graph.without_vtid += 1;
        if let Body::CallbackStart { callback, .. } = event.body {
            let callback = self.registry.callback(event.process, callback);
            if let Some(settler) = &mut self.settler {
                settler.counted.call(callback);
            }
        }
        self.registry
            .observe(event.time_ns, event.process, &event.body);
    }

    /// Says that events of ROS 2 were left out, because the trace does not say which process
    /// recorded them.
    pub(crate) fn left_out_without_process(&mut self, events: u64) {
        self.registry.graph.without_vpid += events;
    }

    /// Takes an event of the scheduler of a host's kernel.
    pub(crate) fn push_scheduler(&mut self, host: &str, time_ns: i64, body: &Body<'_>) {
        match body {
            Body::SchedSwitch(switch) => self.schedulers.switch(host, time_ns, *switch),
            _ => self.schedulers.other(host, time_ns),
        }
    }

    /// Says that events of a host's kernel are missing until a time.
    pub(crate) fn discard_scheduler(&mut self, host: &str, to_ns: i64) {
        self.schedulers.lose(host, to_ns);
    }

    /// What the call did whose start or end this is.
    fn scheduled_call(&mut self, event: &TraceEvent<'_>) {
        let (Body::CallbackStart { callback, .. } | Body::CallbackEnd { callback }) = event.body
        else {
            return;
        };
        let callback = self.registry.callback(event.process, callback);
        let graph = &self.registry.graph;
        let key = &graph.processes[event.process].key;
        // The kernel knows a thread by its number in the first PID namespace.
        if key
            .pid_namespace
            .is_some_and(|inode| inode != FIRST_PID_NAMESPACE)
        {
            return;
        }
        let at = (event.thread, graph.threads[event.thread].vtid);
        match event.body {
            Body::CallbackStart { .. } => {
                self.schedulers
                    .start(&key.host, at, callback, event.time_ns);
            }
            _ => self.schedulers.end(&key.host, at, callback, event.time_ns),
        }
    }

    /// Says that there are more events of a process, the last of them at a time.
    pub(crate) fn only_counted(&mut self, process: ProcessId, count: u64, last_ns: i64) {
        self.events += count;
        if let Some(extent) = &mut self.extent {
            extent.to_ns = extent.to_ns.max(last_ns);
        }
        let process = &mut self.registry.graph.processes[process];
        process.last_ns = process.last_ns.max(last_ns);
    }

    fn seen(&mut self, event: &TraceEvent<'_>) {
        self.events += 1;
        let extent = self.extent.get_or_insert(Window {
            from_ns: event.time_ns,
            to_ns: event.time_ns,
        });
        extent.to_ns = extent.to_ns.max(event.time_ns);
        let process = &mut self.registry.graph.processes[event.process];
        process.first_ns = process.first_ns.min(event.time_ns);
        process.last_ns = event.time_ns;
    }

    fn observe(&mut self, event: &TraceEvent<'_>, created_ns: i64) {
        match self
            .registry
            .observe(created_ns, event.process, &event.body)
        {
            Observed::Nothing => {
                let call_began_ns = self.tracker.ended_began_ns(event.thread);
                self.marks.observe(&self.registry, event, call_began_ns);
            }
            Observed::Node(node) => self.marks.node_init(node, created_ns),
            Observed::Entity => {
                if let Body::RclInit { .. } = event.body {
                    self.marks.rcl_init(event.process, created_ns);
                }
            }
        }
        self.calls.observe(&mut self.registry, event);
    }

    /// The entities so far.
    pub(crate) fn graph(&self) -> &Graph {
        &self.registry.graph
    }

    /// Events that were discarded so far.
    pub(crate) fn discarded_events(&self) -> u64 {
        self.discards.iter().map(|discard| discard.count).sum()
    }

    /// Counts and forgets what is settled, if that was asked for.
    fn settle(&mut self, now_ns: i64) {
        if let Some(settler) = &mut self.settler {
            let records = &mut self.tracker.records;
            settler.settle(&self.registry.graph, records, &self.discards, now_ns);
        }
    }

    /// Links found since the last call, if they were asked for.
    pub(crate) fn drain_pairs(&mut self) -> Vec<Pair> {
        let settler = self.settler.as_mut();
        settler.map_or_else(Vec::new, |s| std::mem::take(&mut s.counted.pairs))
    }

    /// Says that a trace has events of a process, too.
    pub(crate) fn add_trace(&mut self, process: ProcessId, trace: &str, kinds: EventKinds) {
        let entry = &mut self.registry.graph.processes[process];
        if !entry.traces.iter().any(|known| known == trace) {
            entry.traces.push(trace.to_owned());
        }
        entry.kinds.takes |= kinds.takes;
        entry.kinds.rmw_publish |= kinds.rmw_publish;
        entry.kinds.arrivals |= kinds.arrivals;
    }

    /// Says which kinds of events a process's distribution has.
    pub(crate) fn set_kinds(&mut self, process: ProcessId, kinds: EventKinds) {
        self.registry.graph.processes[process].kinds = kinds;
    }

    /// Says that events are missing: what is open in the scope may have ended unseen.
    pub fn discard(&mut self, discard: Discard) {
        let graph = &self.registry.graph;
        let concerned = |process| concerns(graph, &discard.scope, process);
        self.tracker.doubt(graph, concerned, discard.to_ns);
        self.calls.doubt(graph, concerned);
        self.discards.push(discard);
    }

    /// Keeps what these chains need and forgets all else, for [`Builder::finish_kept`].
    pub(crate) fn keeping(keep: Keep) -> Self {
        let mut builder = Self::counting(false);
        if let Some(settler) = &mut builder.settler {
            settler.keep = Some(keep);
        }
        builder
    }

    /// The trace has ended: what happened, and who settles the rest of it.
    fn end(self) -> (Analysis, Calls, Box<Settler>) {
        let mut graph = self.registry.graph;
        graph.number_callbacks();
        let mut calls = self.calls;
        calls.end(&graph);
        let mut marks = self.marks;
        marks.schedule(self.schedulers.finish());
        let analysis = Analysis {
            graph,
            records: self.tracker.finish(),
            discards: self.discards,
            marks,
            clocks: Vec::new(),
            services: Vec::new(),
            damage: Vec::new(),
            repeats: Repeats::default(),
            events: self.events,
            extent: self.extent,
        };
        (analysis, calls, self.settler.unwrap_or_default())
    }

    /// The trace has ended: what was counted.
    pub(crate) fn finish_overview(self) -> Overview {
        let (mut all, calls, settler) = self.end();
        let (counted, _) = settler.finish(&all.graph, &mut all.records, &all.discards);
        all.conclude(&counted.clocks, calls);
        Overview {
            clocks: all.clocks,
            services: all.services,
            graph: all.graph,
            marks: all.marks,
            gaps: all.records.gaps,
            discards: all.discards,
            contents: Contents::default(),
            damage: all.damage,
            repeats: all.repeats,
            events: all.events,
            extent: all.extent,
            counted,
        }
    }

    /// The trace has ended: what it has.
    pub(crate) fn finish_inventory(self) -> Inventory {
        let mut graph = self.registry.graph;
        graph.number_callbacks();
        Inventory {
            graph,
            discards: self.discards,
            contents: Contents::default(),
            unreadable_events: 0,
            damage: Vec::new(),
            repeats: Repeats::default(),
            extent: self.extent,
        }
    }

    /// The trace has ended: what was kept.
    pub(crate) fn finish_kept(self) -> Analysis {
        let (mut all, _, settler) = self.end();
        let (_, kept) = settler.finish(&all.graph, &mut all.records, &all.discards);
        Analysis {
            records: kept,
            ..all
        }
    }

    /// The trace has ended: links messages and returns the result.
    #[must_use]
    pub fn finish(self) -> Analysis {
        let (mut all, calls, _) = self.end();
        links::link(&all.graph, &mut all.records, &all.discards);
        let evidence = Evidence::of(&all.graph, &all.records);
        all.conclude(&evidence, calls);
        all
    }
}
