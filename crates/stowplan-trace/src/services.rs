//! Calls of services: a client's request, the server's callback, its response.
//!
//! The events are those of tracetools from 8.5 on. A call is told by its client, the
//! identifier of which both sides record, and the number of the request.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::clocks::{ClockDifference, Evidence};
use crate::distribution::Distribution;
use crate::durations::{Budget, Durations};
use crate::event::{Address, Body, TraceEvent};
use crate::graph::{Graph, Owner};
use crate::ids::{ClientId, Id, ProcessId, ServiceId, ThreadId};
use crate::registry::Registry;

/// Calls of one client that are kept until all of their events have come.
const MOST_OPEN: usize = 1_000;

/// All calls of a service by one client.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceCalls {
    /// Full service name; `None` if the trace begins after both were made.
    pub name: Option<String>,
    /// The client; `None` where the trace does not have it.
    pub client: Option<ClientId>,
    /// The server; `None` where the trace does not have it.
    pub server: Option<ServiceId>,
    /// Requests that were sent or taken.
    pub calls: u64,
    /// Of these, those whose response the client took.
    pub answered: u64,
    /// Request sent → start of the service's callback; `None` without any, and between hosts
    /// whose clocks do not agree.
    pub request: Option<Distribution>,
    /// Start of the service's callback → response sent.
    pub service: Option<Distribution>,
    /// Response sent → taken by the client; `None` likewise.
    pub response: Option<Distribution>,
    /// Request sent → response taken.
    pub round_trip: Option<Distribution>,
    /// Whether the clocks of client and server do not agree.
    pub clocks_differ: bool,
}

/// Who calls, as the events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Caller {
    Gid([u8; 16]),
    /// The trace does not have the client's identifier.
    Handle(ProcessId, Address),
}

/// Times of a call.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    sent_ns: Option<i64>,
    taken_ns: Option<i64>,
    start_ns: Option<i64>,
    answered_ns: Option<i64>,
    got_ns: Option<i64>,
    server: Option<(ProcessId, Option<ServiceId>)>,
}

#[derive(Debug, Default)]
struct OfCaller {
    client: Option<(ProcessId, Option<ClientId>)>,
    /// By number of the request.
    open: BTreeMap<i64, Call>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: u64,
    answered: u64,
    request: Durations,
    service: Durations,
    response: Durations,
    round_trip: Durations,
}

/// What a thread has taken and not yet called a callback for.
#[derive(Debug, Clone, Copy)]
enum Taken {
    Request(Caller, i64, Option<ServiceId>),
    Response(ClientId),
}

/// Who calls whom, as far as the trace has them.
type Ends = (Option<ClientId>, Option<ServiceId>);

/// Follows all calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    gids: FxHashMap<(ProcessId, Address), [u8; 16]>,
    clients: FxHashMap<(ProcessId, Address), ClientId>,
    services: FxHashMap<(ProcessId, Address), ServiceId>,
    callers: FxHashMap<Caller, OfCaller>,
    taken: FxHashMap<ThreadId, Taken>,
    counts: BTreeMap<Ends, Counts>,
    budget: Budget,
    /// What requests and responses say of clocks.
    pub clocks: Evidence,
}

impl Calls {
    /// Takes an event, after the registry.
    #[inline]
    pub fn observe(&mut self, registry: &mut Registry, event: &TraceEvent<'_>) {
        match event.body {
            Body::RmwClientInit { .. } | Body::ClientInit { .. } | Body::ServiceInit { .. } => {
                self.entity(&registry.graph, event);
            }
            Body::SendRequest { .. }
            | Body::TakeRequest { .. }
            | Body::SendResponse { .. }
            | Body::TakeResponse { .. } => self.message(&registry.graph, event),
            _ if self.follow() => self.after_take(registry, event),
            _ => {}
        }
    }

    /// Whether events that are none of calls matter now.
    #[inline]
    pub fn follow(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Events of these processes may be missing.
    pub fn doubt(&mut self, graph: &Graph, concerned: impl Fn(ProcessId) -> bool) {
        self.taken
            .retain(|&thread, _| !concerned(graph.threads[thread].process));
    }

    fn entity(&mut self, graph: &Graph, event: &TraceEvent<'_>) {
        let process = event.process;
        match event.body {
            Body::RmwClientInit { rmw_client, gid } => {
                self.gids.insert((process, rmw_client), gid_of(gid));
                // An address that is used again.
                self.clients.remove(&(process, rmw_client));
            }
            Body::ClientInit {
                rmw_client: Some(rmw_client),
                ..
            } => {
                if let Some(last) = graph.clients.len().checked_sub(1) {
                    self.clients
                        .insert((process, rmw_client), ClientId::new(last));
                }
            }
            Body::ServiceInit {
                rmw_service: Some(rmw_service),
                ..
            } => {
                if let Some(last) = graph.services.ids().next_back() {
                    self.services.insert((process, rmw_service), last);
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, graph: &Graph, event: &TraceEvent<'_>) {
        let (process, time_ns) = (event.process, event.time_ns);
        match event.body {
            Body::SendRequest {
                rmw_client,
                sequence,
            } => {
                let caller = self.caller(process, rmw_client);
                self.call(graph, caller, sequence).sent_ns = Some(time_ns);
            }
            Body::TakeRequest {
                rmw_service,
                client_gid,
                sequence,
                taken: true,
            } => {
                let caller = Caller::Gid(gid_of(client_gid));
                let service = self.services.get(&(process, rmw_service)).copied();
                let call = self.call(graph, caller, sequence);
                call.taken_ns = Some(time_ns);
                call.server = Some((process, service));
                let taken = Taken::Request(caller, sequence, service);
                self.taken.insert(event.thread, taken);
            }
            Body::SendResponse {
                rmw_service,
                client_gid,
                sequence,
            } => {
                let caller = Caller::Gid(gid_of(client_gid));
                let service = self.services.get(&(process, rmw_service)).copied();
                let call = self.call(graph, caller, sequence);
                call.answered_ns = Some(time_ns);
                call.server = Some((process, service));
                self.settle(graph, caller, sequence);
            }
            Body::TakeResponse {
                rmw_client,
                sequence,
                taken: true,
            } => {
                let caller = self.caller(process, rmw_client);
                self.call(graph, caller, sequence).got_ns = Some(time_ns);
                self.settle(graph, caller, sequence);
                if let Some(&client) = self.clients.get(&(process, rmw_client)) {
                    self.taken.insert(event.thread, Taken::Response(client));
                }
            }
            _ => {}
        }
    }

    /// The callback that follows on the thread is the one of what was taken.
    fn after_take(&mut self, registry: &mut Registry, event: &TraceEvent<'_>) {
        let Some(&taken) = self.taken.get(&event.thread) else {
            return;
        };
        let Body::CallbackStart { callback, .. } = event.body else {
            // Not every response has a callback, but every request.
            if let (Taken::Response(_), _) | (_, Body::ExecutorExecute) = (taken, event.body) {
                self.taken.remove(&event.thread);
            }
            return;
        };
        self.taken.remove(&event.thread);
        let callback = registry.callback(event.process, callback);
        let owner = &mut registry.graph.callbacks[callback].owner;
        match taken {
            Taken::Request(caller, sequence, service) => {
                let own = *owner == Owner::Unknown || service.map(Owner::Service) == Some(*owner);
                let of = self.callers.get_mut(&caller);
                if let (true, Some(of)) = (own, of)
                    && let Some(call) = of.open.get_mut(&sequence)
                {
                    call.start_ns = Some(event.time_ns);
                }
            }
            Taken::Response(client) => {
                if *owner == Owner::Unknown {
                    *owner = Owner::Client(client);
                }
            }
        }
    }

    /// The client behind a handle.
    fn caller(&mut self, process: ProcessId, rmw_client: Address) -> Caller {
        let handle = (process, rmw_client);
        let caller = match self.gids.get(&handle) {
            Some(&gid) => Caller::Gid(gid),
            None => Caller::Handle(process, rmw_client),
        };
        let client = self.clients.get(&handle).copied();
        self.callers.entry(caller).or_default().client = Some((process, client));
        caller
    }

    /// A call; the oldest that is open makes room.
    fn call(&mut self, graph: &Graph, caller: Caller, sequence: i64) -> &mut Call {
        let open = &self.callers.entry(caller).or_default().open;
        if open.len() >= MOST_OPEN
            && !open.contains_key(&sequence)
            && let Some((&oldest, _)) = open.first_key_value()
        {
            self.count(graph, caller, oldest);
        }
        let of = self.callers.entry(caller).or_default();
        of.open.entry(sequence).or_default()
    }

    /// Counts a call of which nothing more can come.
    fn settle(&mut self, graph: &Graph, caller: Caller, sequence: i64) {
        let known = match caller {
            Caller::Gid(_) => true,
            Caller::Handle(..) => false,
        };
        let call = self
            .callers
            .get(&caller)
            .and_then(|of| of.open.get(&sequence));
        if call.is_some_and(|call| {
            let client = call.sent_ns.is_some() && call.got_ns.is_some();
            client && (call.answered_ns.is_some() || !known)
        }) {
            self.count(graph, caller, sequence);
        }
    }

    fn count(&mut self, graph: &Graph, caller: Caller, sequence: i64) {
        let Some(of) = self.callers.get_mut(&caller) else {
            return;
        };
        let Some(call) = of.open.remove(&sequence) else {
            return;
        };
        let client = of.client.and_then(|client| client.1);
        let service = call.server.and_then(|server| server.1);
        let counts = self.counts.entry((client, service)).or_default();
        counts.calls += 1;
        counts.answered += u64::from(call.got_ns.is_some());
        for (durations, from, to) in [
            (&mut counts.request, call.sent_ns, call.start_ns),
            (&mut counts.service, call.start_ns, call.answered_ns),
            (&mut counts.response, call.answered_ns, call.got_ns),
            (&mut counts.round_trip, call.sent_ns, call.got_ns),
        ] {
            if let (Some(from), Some(to)) = (from, to) {
                durations.add(to - from, &mut self.budget);
            }
        }
        if let (Some((client, _)), Some((server, _))) = (of.client, call.server) {
            if let (Some(sent_ns), Some(taken_ns)) = (call.sent_ns, call.taken_ns) {
                self.clocks.add(graph, (client, server), sent_ns, taken_ns);
            }
            if let (Some(sent_ns), Some(got_ns)) = (call.answered_ns, call.got_ns) {
                self.clocks.add(graph, (server, client), sent_ns, got_ns);
            }
        }
    }

    /// The trace has ended: counts what is open.
    pub fn end(&mut self, graph: &Graph) {
        let callers: Vec<Caller> = self.callers.keys().copied().collect();
        for caller in callers {
            while let Some((&sequence, _)) = self.callers[&caller].open.first_key_value() {
                self.count(graph, caller, sequence);
            }
        }
    }

    /// All calls, by client and service.
    pub fn summaries(self, graph: &Graph, clocks: &[ClockDifference]) -> Vec<ServiceCalls> {
        let summary = |((client, server), counts): (Ends, Counts)| {
            let of_client = client.map(|id| &graph.clients[id.index()]);
            let of_server = server.map(|id| &graph.services[id]);
            let host = |node| graph.processes[graph.nodes[node].process].key.host.as_str();
            let ends = of_client
                .zip(of_server)
                .map(|(c, s)| (host(c.node), host(s.node)));
            let clocks_differ =
                ends.is_some_and(|(a, b)| clocks.iter().any(|clocks| clocks.is_between(a, b)));
            let name = of_server.map(|s| &s.name).or(of_client.map(|c| &c.name));
            let between =
                |durations: Durations| durations.distribution().filter(|_| !clocks_differ);
            ServiceCalls {
                name: name.cloned(),
                client,
                server,
                calls: counts.calls,
                answered: counts.answered,
                request: between(counts.request),
                service: counts.service.distribution(),
                response: between(counts.response),
                round_trip: counts.round_trip.distribution(),
                clocks_differ,
            }
        };
        let mut all: Vec<ServiceCalls> = self.counts.into_iter().map(summary).collect();
        all.sort_by(|a, b| (&a.name, a.client, a.server).cmp(&(&b.name, b.client, b.server)));
        all
    }
}

/// An identifier as events of requests have it: older headers of rmw have 24 bytes.
fn gid_of(bytes: &[u8]) -> [u8; 16] {
    let mut gid = [0; 16];
    for (to, &from) in gid.iter_mut().zip(bytes) {
        *to = from;
    }
    gid
}
