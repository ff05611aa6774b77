//! Services that are real programs.

use schemars::JsonSchema;
use serde::Deserialize;

use super::node::BackgroundSpec;
use crate::at::{At, Entries};
use crate::quantity::{Duration, Fixed};

/// A real program beside the modelled nodes, or, with `background` alone, threads that only keep CPUs busy.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSpec {
    /// Folder with a root file system for engines that isolate mounts; the host's where left out.
    #[serde(default)]
    pub rootfs: Option<String>,
    /// OCI image on disk in place of `rootfs`: a folder or tar archive in the OCI image layout, with `:TAG` at its end
    /// where it holds several. A path from the working directory or an absolute one.
    #[serde(default)]
    pub image: Option<String>,
    /// Program and arguments, never passed through a shell; those of the image where left out.
    #[serde(default)]
    pub command: Vec<String>,
    /// Environment variables.
    #[serde(default)]
    pub env: Entries<String>,
    /// Files and folders of the host that it sees, at other places for engines that isolate mounts.
    #[serde(default)]
    pub mounts: Vec<MountSpec>,
    /// Devices of the host that it uses, as absolute paths below /dev, or by names of the Container Device Interface, as
    /// nvidia.com/gpu=0.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Whom it runs as: `USER[:GROUP]`, names or numbers of its root file system; that of the image or of the engine
    /// where left out.
    #[serde(default)]
    pub user: Option<String>,
    /// Folder that it starts in; that of the image or `/` where left out.
    #[serde(default)]
    pub working_dir: Option<String>,
    /// Topics that it publishes on. Modelled subscriptions are ready once they are matched with it.
    #[serde(default)]
    pub publishes: Vec<String>,
    /// Topics that it subscribes to. Modelled publishers are ready once they are matched with it.
    #[serde(default)]
    pub subscribes: Vec<String>,
    /// DDS participants that it makes; 1 where left out.
    #[serde(default = "one")]
    pub participants: u32,
    /// Whether its ROS 2 events are recorded through LTTng (`lttng-tools`) in every run; no where left out. The program
    /// has to be built with ros2_tracing.
    #[serde(default)]
    pub trace: bool,
    /// What tells that it is ready; `started` where left out.
    #[serde(default)]
    pub ready: At<ReadySpec>,
    /// How long to wait for that; 30s where left out.
    #[serde(default)]
    pub ready_timeout: Option<At<Fixed<Duration>>>,
    /// Threads that only keep CPUs busy, in place of a program: a node of this name in a service of its own, whatever
    /// the partition.
    #[serde(default)]
    pub background: Option<At<BackgroundSpec>>,
}

impl ServiceSpec {
    /// Whether it says anything of a program.
    pub fn has_program(&self) -> bool {
        self.rootfs.is_some()
            || self.image.is_some()
            || !self.command.is_empty()
            || !self.env.0.is_empty()
            || !self.mounts.is_empty()
            || !self.devices.is_empty()
            || self.user.is_some()
            || self.working_dir.is_some()
            || !self.publishes.is_empty()
            || !self.subscribes.is_empty()
            || self.trace
            || self.ready.mark.line > 0
            || self.ready_timeout.is_some()
    }
}

/// A file or folder of the host that a real program sees.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MountSpec {
    /// Absolute path on the host.
    pub from: String,
    /// Absolute path that the program sees.
    pub to: String,
    /// Whether the program may only read it.
    #[serde(default)]
    pub read_only: bool,
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
