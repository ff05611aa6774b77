//! Services that are real programs.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::{At, Entries};
use crate::quantity::{Duration, Fixed};

/// A real program beside the modelled nodes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSpec {
    /// Folder with a root file system for engines that isolate mounts; the host's where left out.
    #[serde(default)]
    pub rootfs: Option<String>,
    /// Program and arguments; never passed through a shell.
    pub command: Vec<String>,
    /// Environment variables.
    #[serde(default)]
    pub env: Entries<String>,
    /// Topics that it publishes on. Modelled subscriptions are ready once they are matched with it.
    #[serde(default)]
    pub publishes: Vec<String>,
    /// Topics that it subscribes to. Modelled publishers are ready once they are matched with it.
    #[serde(default)]
    pub subscribes: Vec<String>,
    /// DDS participants that it makes; 1 where left out.
    #[serde(default = "one")]
    pub participants: u32,
    /// What tells that it is ready; `started` where left out.
    #[serde(default)]
    pub ready: At<ReadySpec>,
    /// How long to wait for that; 30s where left out.
    #[serde(default)]
    pub ready_timeout: Option<At<Fixed<Duration>>>,
}

const fn one() -> u32 {
    1
}

/// How a real program tells that it is ready.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReadySpec {
    /// It runs.
    #[default]
    Started,
    /// It exits with status 0.
    Exit,
    /// A line of its output contains this text.
    LogLine(String),
    /// This file exists, as the program sees it.
    File(String),
    /// This TCP port on loopback accepts a connection.
    Port(u16),
    /// The modelled endpoints on this topic, which the program publishes on or subscribes to, are matched.
    TopicMatched(String),
}

impl Default for At<ReadySpec> {
    fn default() -> Self {
        Self {
            value: ReadySpec::Started,
            mark: crate::at::Mark::default(),
        }
    }
}
