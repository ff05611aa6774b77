//! Contexts without which an event of ROS 2 cannot be placed.

use stowplan_ctf::metadata::Metadata;

use crate::ctf_classes::is_of_ros;

/// Contexts that events of ROS 2 lack in a trace.
#[derive(Clone, Copy)]
pub(super) struct MissingContexts {
    /// And the trace is not of one process whose number it has.
    pub vpid: bool,
    pub vtid: bool,
}

impl MissingContexts {
    pub fn new(metadata: &Metadata) -> Self {
        let classes = metadata.classes();
        let lacks = |context: &str| {
            let mut of_ros = classes.iter().filter(|class| is_of_ros(&class.name));
            of_ros.any(|class| class.context(context).is_none())
        };
        Self {
            vpid: metadata.env("vpid").is_none() && lacks("vpid"),
            vtid: lacks("vtid"),
        }
    }
}
