//! What a topology says. Every part keeps the fields that it does not know.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Fields with their values.
pub(super) type Rest = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
pub(super) struct Topology {
    pub nodes: Vec<Node>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub node_name: String,
    #[serde(default)]
    pub node_namespace: Option<String>,
    /// How many copies there are; one without a number after its name where it is not there.
    #[serde(default)]
    pub number: Option<u64>,
    #[serde(default)]
    pub executor_id: i64,
    #[serde(default)]
    pub publishers: Vec<Publisher>,
    #[serde(default)]
    pub subscribers: Vec<Subscriber>,
    #[serde(default)]
    pub clients: Vec<Client>,
    #[serde(default)]
    pub servers: Vec<Server>,
    #[serde(flatten)]
    pub rest: Rest,
}

/// What is left of an endpoint in `rest` is its quality of service, and what nobody knows.
#[derive(Debug, Deserialize)]
pub(super) struct Publisher {
    pub topic_name: String,
    pub msg_type: String,
    #[serde(default)]
    pub msg_size: Option<u64>,
    #[serde(default, rename = "msg_pass_by")]
    _pass_by: Option<IgnoredAny>,
    #[serde(default)]
    pub period_ms: Option<f64>,
    #[serde(default)]
    pub freq_hz: Option<f64>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Debug, Deserialize)]
pub(super) struct Subscriber {
    pub topic_name: String,
    #[serde(default)]
    pub msg_type: Option<String>,
    #[serde(default)]
    pub msg_size: Option<u64>,
    #[serde(default, rename = "msg_pass_by")]
    _pass_by: Option<IgnoredAny>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Debug, Deserialize)]
pub(super) struct Client {
    pub service_name: String,
    #[serde(default, rename = "srv_type")]
    _srv_type: Option<IgnoredAny>,
    #[serde(default)]
    pub period_ms: Option<f64>,
    #[serde(default)]
    pub freq_hz: Option<f64>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Debug, Deserialize)]
pub(super) struct Server {
    pub service_name: String,
    #[serde(default, rename = "srv_type")]
    _srv_type: Option<IgnoredAny>,
    #[serde(flatten)]
    pub rest: Rest,
}
