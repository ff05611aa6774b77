//! Topics and their quality of service.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use stowplan_model::Frames;

use crate::at::At;
use crate::kind::{Kind, KindOr};
use crate::quantity::{Bytes, Fixed, Iterations, Spread};

/// A topic: a size or the name of a size, or a map with more.
#[derive(Debug, Clone)]
pub(crate) struct TopicSpec {
    pub bytes: At<KindOr<Spread<Bytes>>>,
    pub qos: Option<At<KindOr<QosSpec>>>,
    pub intra_process: bool,
    pub serialisation: Option<At<KindOr<SerialisationSpec>>>,
    pub dds: Option<DdsSpec>,
    pub frames: Option<FramesSpec>,
}

/// A topic with all its properties.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TopicFields {
    /// Size of the payload's filler; left out where its messages are images.
    #[serde(default)]
    bytes: Option<At<KindOr<Spread<Bytes>>>>,
    /// Its messages are camera images. Callbacks that they start look for the tags in them, beside their counted work.
    #[serde(default)]
    frames: Option<FramesSpec>,
    /// Quality of service; the stack's where left out.
    #[serde(default)]
    qos: Option<At<KindOr<QosSpec>>>,
    /// Whether endpoints in one process hand messages over by pointer.
    #[serde(default)]
    intra_process: bool,
    /// Work of serialising a message; the stack's where left out.
    #[serde(default)]
    serialisation: Option<At<KindOr<SerialisationSpec>>>,
    /// How real programs know it; where left out it has ROS 2's name and the payload of modelled messages.
    #[serde(default)]
    dds: Option<DdsSpec>,
}

/// Camera images: RGB with a byte each. AprilTags of the family 36h11 are drawn into each image at other places.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FramesSpec {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tags in each image, in a grid of fields with 160 × 160 pixels at least.
    pub tags: u32,
}

impl FramesSpec {
    /// What the file means.
    pub fn frames(self) -> Frames {
        Frames {
            width: self.width,
            height: self.height,
            tags: self.tags,
        }
    }
}

/// A topic as real programs know it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DdsSpec {
    /// DDS topic name; what ROS 2 makes of the topic's name where left out.
    #[serde(default)]
    pub topic: Option<String>,
    /// DDS type name, as `sensor_msgs::msg::dds_::Imu_`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Partition of modelled endpoints, the default one where left out; a subscription's may have `*`.
    #[serde(default)]
    pub partition: Option<String>,
    /// User data of the DDS participants of modelled endpoints.
    #[serde(default)]
    pub user_data: Option<String>,
    /// What modelled publishers send; where left out, modelled nodes cannot publish on it.
    #[serde(default)]
    pub sends: Option<SendsSpec>,
}

/// Messages of a real type that a modelled publisher can make.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SendsSpec {
    /// One `unsigned long`: the number of the message.
    Sequence,
}

impl<'de> Deserialize<'de> for TopicSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TopicVisitor)
    }
}

struct TopicVisitor;

impl TopicVisitor {
    fn size<E: de::Error>(text: &str) -> Result<TopicSpec, E> {
        let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let value = if number {
            KindOr::Here(Spread::from_text(text).map_err(E::custom)?)
        } else {
            KindOr::Named(text.to_owned())
        };
        let bytes = At {
            value,
            mark: crate::at::Mark::default(),
        };
        Ok(TopicSpec {
            bytes,
            qos: None,
            intra_process: false,
            serialisation: None,
            dds: None,
            frames: None,
        })
    }

    /// Size of images.
    fn of_frames<E: de::Error>(frames: FramesSpec) -> Result<At<KindOr<Spread<Bytes>>>, E> {
        let bytes = frames.frames().bytes().to_string();
        let value = Spread::from_text(&bytes).map_err(E::custom)?;
        Ok(At {
            value: KindOr::Here(value),
            mark: crate::at::Mark::default(),
        })
    }
}

impl<'de> Visitor<'de> for TopicVisitor {
    type Value = TopicSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message size, or a map with 'bytes'")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Self::size(text)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Self::size(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Self::size(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let fields = TopicFields::deserialize(MapAccessDeserializer::new(map))?;
        let bytes = match (fields.bytes, fields.frames) {
            (Some(bytes), None) => bytes,
            (None, Some(frames)) => Self::of_frames(frames)?,
            (None, None) => return Err(de::Error::missing_field("bytes")),
            (Some(_), Some(_)) => {
                return Err(de::Error::custom(
                    "'bytes' beside 'frames': width and height give the size of images",
                ));
            }
        };
        Ok(TopicSpec {
            bytes,
            qos: fields.qos,
            intra_process: fields.intra_process,
            serialisation: fields.serialisation,
            dds: fields.dds,
            frames: fields.frames,
        })
    }
}

impl JsonSchema for TopicSpec {
    fn schema_name() -> Cow<'static, str> {
        "Topic".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<TopicFields>();
        schemars::json_schema!({
            "description": "A message size, the name of a size under kinds, or a map.",
            "anyOf": [{ "type": ["string", "number"] }, fields]
        })
    }
}

/// Quality of service, keep-last history.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QosSpec {
    /// Whether lost messages are sent again.
    pub reliability: ReliabilitySpec,
    /// History depth in messages.
    pub depth: u32,
    /// Whether late subscribers get the last messages.
    #[serde(default)]
    pub transient_local: bool,
}

/// DDS reliability.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReliabilitySpec {
    /// Lost messages stay lost.
    BestEffort,
    /// Lost messages are sent again.
    Reliable,
}

impl Kind for QosSpec {
    fn from_number(_: &str) -> Option<Result<Self, stowplan_model::units::UnitError>> {
        None
    }
}

/// Work of serialising a message, done by the publishing thread for each message that leaves its process by DDS.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SerialisationSpec {
    /// Iterations of the work kernel for each message; none where left out.
    pub message: Option<At<Fixed<Iterations>>>,
    /// Iterations of the work kernel for each KiB of its size; none where left out.
    pub kib: Option<At<Fixed<Iterations>>>,
}

impl Kind for SerialisationSpec {
    fn from_number(_: &str) -> Option<Result<Self, stowplan_model::units::UnitError>> {
        None
    }
}
