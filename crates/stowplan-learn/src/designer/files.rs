//! The files of a design as YAML has them: systems, modules, nodes. Keys of older versions are taken too;
//! keys that say nothing about nodes, topics and processes are not looked at.

use std::fmt;

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::error::ImportError;

/// A text with its place.
pub(super) type Text = Spanned<String>;

/// `X.system.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct System {
    pub name: Text,
    #[serde(default)]
    pub base: Option<Text>,
    #[serde(default)]
    pub modes: Vec<Mode>,
    #[serde(default)]
    pub components: Vec<Instance>,
    #[serde(default)]
    pub connections: Vec<Connection>,
    #[serde(default)]
    pub node_groups: Vec<Group>,
}

/// A mode of a system.
#[derive(Debug, Deserialize)]
pub(super) struct Mode {
    pub name: String,
    #[serde(default)]
    pub default: bool,
}

/// A component of a system or an instance of a module.
#[derive(Debug, Deserialize)]
pub(super) struct Instance {
    #[serde(alias = "component", alias = "instance")]
    pub name: Text,
    pub entity: Text,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub compute_unit: Option<String>,
    /// Modes that it is part of; all where empty.
    #[serde(default)]
    pub mode: OneOrMany,
}

/// One text or several.
#[derive(Debug, Default)]
pub(super) struct OneOrMany(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            One(String),
            Many(Vec<String>),
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::One(one) => vec![one],
            Either::Many(many) => many,
        }))
    }
}

/// Two ports, as a list or as `from` and `to`.
#[derive(Debug)]
pub(super) struct Connection {
    pub from: Text,
    pub to: Text,
}

impl<'de> Deserialize<'de> for Connection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConnectionVisitor)
    }
}

struct ConnectionVisitor;

impl<'de> Visitor<'de> for ConnectionVisitor {
    type Value = Connection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of two ports, or a map with 'from' and 'to'")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut next = |index| {
            seq.next_element::<Text>()?
                .ok_or_else(|| de::Error::invalid_length(index, &self))
        };
        let connection = Connection {
            from: next(0)?,
            to: next(1)?,
        };
        match seq.next_element::<IgnoredAny>()? {
            None => Ok(connection),
            Some(_) => Err(de::Error::invalid_length(3, &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct Named {
            from: Text,
            to: Text,
        }
        let named = Named::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Connection {
            from: named.from,
            to: named.to,
        })
    }
}

/// Nodes of one component container.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    pub name: Text,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub nodes: Vec<String>,
}

/// `X.module.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct Module {
    #[serde(default)]
    pub base: Option<Text>,
    #[serde(default)]
    pub instances: Vec<Instance>,
    #[serde(default, alias = "inputs")]
    pub subscribers: Vec<Port>,
    #[serde(default, alias = "outputs")]
    pub publishers: Vec<Port>,
    #[serde(default)]
    pub connections: Vec<Connection>,
}

/// `X.node.yaml`
#[derive(Debug, Deserialize)]
pub(super) struct Node {
    #[serde(default)]
    pub base: Option<Text>,
    #[serde(default)]
    pub launch: Launch,
    #[serde(default, alias = "inputs")]
    pub subscribers: Vec<Port>,
    #[serde(default, alias = "outputs")]
    pub publishers: Vec<Port>,
    #[serde(default)]
    pub processes: Vec<Process>,
}

/// How a node is started, as far as it says which process it lives in.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Launch {
    #[serde(default)]
    pub use_container: bool,
    #[serde(default)]
    pub container_name: Option<String>,
}

/// A port of a node or module.
#[derive(Debug, Deserialize)]
pub(super) struct Port {
    pub name: Text,
    #[serde(default)]
    pub message_type: Option<String>,
    #[serde(default)]
    pub global: Option<String>,
    #[serde(default)]
    pub qos: Option<Qos>,
}

/// Quality of service of a port.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Qos {
    #[serde(default)]
    pub reliability: Option<String>,
    #[serde(default)]
    pub durability: Option<String>,
    #[serde(default, alias = "queue_size")]
    pub depth: Option<u32>,
}

/// What a node does: triggers and outcomes.
#[derive(Debug, Deserialize)]
pub(super) struct Process {
    pub name: Text,
    #[serde(default)]
    pub trigger_conditions: Vec<Trigger>,
    #[serde(default)]
    pub outcomes: Vec<Outcome>,
}

/// What starts a process. One of the keys is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trigger {
    pub or: Vec<Self>,
    pub and: Vec<Self>,
    pub on_input: Option<Text>,
    pub on_trigger: Option<Text>,
    pub periodic: Option<Spanned<f64>>,
}

/// What a process leads to. One of the keys is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Outcome {
    pub to_output: Option<Text>,
    pub to_trigger: Option<Text>,
}

/// Reads a file.
pub(super) fn read<T: de::DeserializeOwned>(text: &str, file: &str) -> Result<T, ImportError> {
    let budget = serde_saphyr::budget! {
        max_depth: 32,
        max_documents: 1,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ImportError::yaml(file, &error))
}

/// An error at a text of a file.
pub(super) fn wrong(file: &str, text: &Text, message: impl Into<String>) -> ImportError {
    ImportError {
        place: Some((text.referenced.line(), text.referenced.column())),
        ..ImportError::at(file, "", message)
    }
}
