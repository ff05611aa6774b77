//! What `stowplan trace links --json` says of services, actions and clocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::trace::Durations;

/// Calls of a service by one client.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TracedService {
    /// Full service name; null where the trace does not have it.
    pub service: Option<String>,
    /// The action that the service is part of.
    pub action: Option<String>,
    /// Node of the client; null where the trace does not have it.
    pub client: Option<String>,
    /// Node of the server; null where the trace does not have it.
    pub server: Option<String>,
    /// Requests that were sent or taken.
    pub calls: u64,
    /// Of these, those whose response the client took.
    pub answered: u64,
    /// Request sent to start of the service's callback; null without any, and where the clocks
    /// of the two hosts differ.
    pub request_ns: Option<Durations>,
    /// Start of the service's callback to response sent.
    pub service_ns: Option<Durations>,
    /// Response sent to taken by the client; null likewise.
    pub response_ns: Option<Durations>,
    /// Request sent to response taken.
    pub round_trip_ns: Option<Durations>,
    /// Whether the clocks of client's and server's hosts differ.
    pub clocks_differ: bool,
}

/// An action: three services and two topics of one name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TracedAction {
    /// Name.
    pub name: String,
    /// Nodes with a server of it.
    pub servers: Vec<String>,
    /// Nodes with a client of it.
    pub clients: Vec<String>,
    /// Calls by service: `send_goal`, `get_result`, `cancel_goal`.
    pub calls: BTreeMap<String, u64>,
    /// Feedback.
    pub feedback: ActionTopic,
    /// Status of the goals.
    pub status: ActionTopic,
}

/// Messages of an action.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ActionTopic {
    /// Published.
    pub published: u64,
    /// Taken, over all subscriptions.
    pub taken: u64,
    /// Of these, those whose publication was found.
    pub linked: u64,
}

/// Two hosts whose clocks differ: messages were taken before they were published.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClockDifference {
    /// The host whose clock is ahead.
    pub ahead: String,
    /// The other.
    pub behind: String,
    /// The difference is at least this.
    pub least_ns: i64,
    /// And at most this, by the messages the other way; null without any, and where the
    /// difference changed.
    pub most_ns: Option<i64>,
    /// Messages from the host that is ahead to the other.
    pub messages: u64,
    /// Of these, those taken before they were published.
    pub early: u64,
}
