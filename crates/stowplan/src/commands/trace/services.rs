//! Services and actions in `stowplan trace links`.

use std::collections::BTreeSet;

use stowplan_model::units::show_ns;
use stowplan_trace::{
    ActionSummary, Id as _, NodeId, Overview, ServiceCalls, TopicSummary, action_of,
};

use super::callbacks::durations;
use crate::documents::calls::{ActionTopic, TracedAction, TracedService};
use crate::documents::trace::Durations;
use crate::failure::CommandError;
use crate::output::tell;
use crate::table;

/// Calls by service and client.
pub fn services(overview: &Overview) -> Vec<TracedService> {
    let calls = overview.services.iter();
    calls.map(|calls| service(overview, calls)).collect()
}

fn service(overview: &Overview, calls: &ServiceCalls) -> TracedService {
    let graph = &overview.graph;
    let node = |id: NodeId| graph.nodes[id].full_name();
    let client = calls.client.map(|id| &graph.clients[id.index()]);
    let action = calls.name.as_deref().and_then(action_of);
    TracedService {
        service: calls.name.clone(),
        action: action.map(|(action, _)| action.to_owned()),
        client: client.map(|client| node(client.node)),
        server: calls.server.map(|id| node(graph.services[id].node)),
        calls: calls.calls,
        answered: calls.answered,
        request_ns: calls.request.clone().map(durations),
        service_ns: calls.service.clone().map(durations),
        response_ns: calls.response.clone().map(durations),
        round_trip_ns: calls.round_trip.clone().map(durations),
        clocks_differ: calls.clocks_differ,
    }
}

/// Actions, as documents have them.
pub fn actions(overview: &Overview) -> Vec<TracedAction> {
    let nodes = |ids: BTreeSet<NodeId>| {
        let nodes = ids
            .into_iter()
            .map(|id| overview.graph.nodes[id].full_name());
        nodes.collect()
    };
    let action = |of: ActionSummary| TracedAction {
        name: of.name,
        servers: nodes(of.servers),
        clients: nodes(of.clients),
        calls: of.calls,
        feedback: topic(of.feedback),
        status: topic(of.status),
    };
    overview.actions().into_iter().map(action).collect()
}

fn topic(of: Option<TopicSummary>) -> ActionTopic {
    of.map_or_else(ActionTopic::default, |of| ActionTopic {
        published: of.publications,
        taken: of.takes,
        linked: of.linked,
    })
}

/// Shows them on the terminal.
pub fn show(services: &[TracedService], actions: &[TracedAction]) -> Result<(), CommandError> {
    if !services.is_empty() {
        let mut table = table::new([
            "service",
            "client",
            "server",
            "calls",
            "answered",
            "request",
            "service",
            "response",
            "round trip",
        ]);
        for of in services {
            let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "–".to_owned());
            let median = |of: &Option<Durations>| {
                of.as_ref()
                    .map_or_else(|| "–".to_owned(), |of| show_ns(of.q50))
            };
            table.add_row([
                name(&of.service),
                name(&of.client),
                name(&of.server),
                of.calls.to_string(),
                of.answered.to_string(),
                median(&of.request_ns),
                median(&of.service_ns),
                median(&of.response_ns),
                median(&of.round_trip_ns),
            ]);
        }
        tell!("{table}")?;
        tell!(
            "times are medians; request: sent until the callback starts, service: until the response is sent, \
             response: until it is taken"
        )?;
    }
    if !actions.is_empty() {
        let mut table = table::new([
            "action", "clients", "servers", "goals", "results", "cancels", "feedback", "status",
        ]);
        for of in actions {
            let calls = |part: &str| {
                of.calls
                    .get(part)
                    .map_or_else(|| "–".to_owned(), u64::to_string)
            };
            let messages = |of: &ActionTopic| format!("{} of {} taken", of.taken, of.published);
            table.add_row([
                of.name.clone(),
                of.clients.join(", "),
                of.servers.join(", "),
                calls("send_goal"),
                calls("get_result"),
                calls("cancel_goal"),
                messages(&of.feedback),
                messages(&of.status),
            ]);
        }
        tell!("{table}")?;
    }
    Ok(())
}
