//! Nodes and callbacks.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use stowplan_model::NodeOptions;

use super::start_up::StartUpSpec;
use super::work::WorkSpec;
use crate::at::{At, Entries, OneOrMany};
use crate::kind::KindOr;
use crate::quantity::{Duration, Fixed, Measure, Period, Spread};

/// A node. `timer`, `subscribes` and `publishes` describe the common shapes on one line:
///
/// - only `timer`: one callback `timer`;
/// - only `subscribes`: one callback for each topic, called `on_` and the last part of the topic, with parts before it where two
///   would be the same. The first works and publishes, the others store their message;
/// - both: one storing callback for each topic, and a `timer` that uses them, works and publishes.
///
/// Any other shape is written out under `callbacks`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeSpec {
    /// The process that it lives in; the node's own name gives it one of its own where its module
    /// or function names another.
    pub process: Option<At<String>>,
    /// Whether a source attributes the node to its module.
    pub attributed: Option<bool>,
    /// Start-up cost.
    pub start_up: Option<At<KindOr<StartUpSpec>>>,
    /// Nodes of the same service that must be loaded before.
    pub depends_on: OneOrMany,
    /// Rate or period of its timer.
    pub timer: Option<At<TimerSpec>>,
    /// Topics that it subscribes to.
    pub subscribes: OneOrMany,
    /// Topics that it publishes on.
    pub publishes: OneOrMany,
    /// Work of the callback that publishes.
    pub work: Option<At<KindOr<WorkSpec>>>,
    /// Work of the callbacks that store a message; none where left out.
    pub store: Option<At<KindOr<WorkSpec>>>,
    /// Callbacks in registration order.
    pub callbacks: Entries<At<CallbackSpec>>,
    /// Which endpoints it has without being asked for them; those of rclcpp's options where left out. A component
    /// container's own node has no parameter services and no publisher of parameter events.
    pub options: NodeOptionsSpec,
    /// rclcpp, or rclpy: its nodes do not subscribe to `/parameter_events`.
    pub client_library: ClientLibrary,
    /// Topics of publishers that send nothing, beside those of its callbacks.
    pub publishers: OneOrMany,
    /// Topics of subscriptions that drop what comes, beside those of its callbacks.
    pub subscriptions: OneOrMany,
    /// ROS names of services that it offers and nobody calls.
    pub services: OneOrMany,
    /// ROS names of services that it is a client of and does not call.
    pub clients: OneOrMany,
    /// Callback groups that run several callbacks at once.
    pub reentrant_groups: Vec<At<String>>,
    /// Threads that only keep CPUs busy, beside its callbacks.
    pub background: Option<At<BackgroundSpec>>,
}

/// Threads that do counted work without a pause, from the start of their process to the end of the window. Their work does not have to
/// fit into the CPUs, and they are on no chain.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackgroundSpec {
    /// How many, 1 to 1024.
    pub threads: u32,
}

/// As `rclcpp::NodeOptions` names them, and the parameter `start_type_description_service` (since Iron).
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeOptionsSpec {
    /// Whether it has the six parameter services.
    pub start_parameter_services: Option<bool>,
    /// Whether it publishes on `/parameter_events`.
    pub start_parameter_event_publisher: Option<bool>,
    /// Whether it publishes on `/rosout`.
    pub enable_rosout: Option<bool>,
    /// Whether it has the service `get_type_description`, where the profile has it.
    pub start_type_description_service: Option<bool>,
}

impl NodeOptionsSpec {
    /// The options, where those that are left out are `default`'s.
    pub fn or(self, default: NodeOptions, library: ClientLibrary) -> NodeOptions {
        NodeOptions {
            parameter_services: self
                .start_parameter_services
                .unwrap_or(default.parameter_services),
            parameter_event_publisher: self
                .start_parameter_event_publisher
                .unwrap_or(default.parameter_event_publisher),
            rosout: self.enable_rosout.unwrap_or(default.rosout),
            parameter_event_subscription: library == ClientLibrary::Rclcpp,
            type_description_service: self
                .start_type_description_service
                .unwrap_or(default.type_description_service),
        }
    }
}

/// The library that a node is written with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientLibrary {
    /// C++.
    #[default]
    Rclcpp,
    /// Python.
    Rclpy,
}

/// A callback: either `timer` or `subscribes`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CallbackSpec {
    /// Rate or period.
    pub timer: Option<At<TimerSpec>>,
    /// The topic that starts it.
    pub subscribes: Option<At<String>>,
    /// Topics that it publishes on at its end.
    pub publishes: OneOrMany,
    /// Callbacks of the same node whose last data it uses.
    pub uses: OneOrMany,
    /// Its work.
    pub work: Option<At<KindOr<WorkSpec>>>,
    /// Callback group; the node's default group where left out.
    pub group: Option<At<String>>,
}

/// A timer: a rate or period, or a map with more.
#[derive(Debug, Clone)]
pub(crate) struct TimerSpec {
    pub period: Fixed<Period>,
    pub jitter: Option<At<Spread<Duration>>>,
    pub rate_error: f64,
}

/// A timer with jitter and rate error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimerFields {
    /// Rate or period.
    period: Fixed<Period>,
    /// Jitter of each release.
    #[serde(default)]
    jitter: Option<At<Spread<Duration>>>,
    /// Relative rate error of its clock.
    #[serde(default)]
    rate_error: f64,
}

impl<'de> Deserialize<'de> for TimerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimerVisitor)
    }
}

struct TimerVisitor;

impl<'de> Visitor<'de> for TimerVisitor {
    type Value = TimerSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a rate such as '{}', or a map with 'period'",
            Period::EXAMPLE
        )
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TimerSpec {
            period: Fixed::from_text(text).map_err(E::custom)?,
            jitter: None,
            rate_error: 0.0,
        })
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let fields = TimerFields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(TimerSpec {
            period: fields.period,
            jitter: fields.jitter,
            rate_error: fields.rate_error,
        })
    }
}

impl JsonSchema for TimerSpec {
    fn schema_name() -> Cow<'static, str> {
        "Timer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<TimerFields>();
        schemars::json_schema!({
            "description": "A rate or period, or a map with jitter and rate error.",
            "anyOf": [{ "type": "string", "examples": ["10Hz", "20ms"] }, fields]
        })
    }
}
