//! Reading the plan and what lies beside it.

use std::fs;
use std::path::{Path, PathBuf};

use stowplan_wire::service::{ServicePlan, TriggerPlan};

use crate::dds::Participant;
use crate::error::NodeError;

/// A plan and the folder that it lies in.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: ServicePlan,
    /// The service's run folder.
    pub folder: PathBuf,
}

impl Planned {
    /// Reads a plan.
    ///
    /// # Errors
    /// When it cannot be read or is of another build.
    pub fn read(path: &Path) -> Result<Self, NodeError> {
        let text = read(path)?;
        let plan: ServicePlan = serde_json::from_str(&text).map_err(|source| NodeError::Plan {
            path: path.to_owned(),
            source,
        })?;
        let own = stowplan_wire::build_id();
        if plan.build_id != own {
            return Err(NodeError::Build {
                plan: plan.build_id,
                own,
            });
        }
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { plan, folder })
    }

    /// What participants of the process with this number say of themselves to real programs.
    #[must_use]
    pub fn user_data(&self, process: usize) -> Option<&str> {
        let nodes = &self.plan.processes[process].nodes;
        nodes
            .iter()
            .flat_map(|node| &node.callbacks)
            .flat_map(|callback| {
                let taken = match callback.trigger {
                    TriggerPlan::Subscription { topic, .. } => Some(topic),
                    TriggerPlan::Timer { .. } => None,
                };
                callback.publishes.iter().map(|p| p.topic).chain(taken)
            })
            .filter_map(|topic| self.plan.topics.get(topic as usize)?.dds.as_ref())
            .find_map(|dds| dds.user_data.as_deref())
    }

    /// Joins the run's domain with the configuration beside the plan. Others see the user data, if there is one.
    ///
    /// # Errors
    /// When the configuration cannot be read or is refused.
    pub fn participant(&self, user_data: Option<&str>) -> Result<Participant, NodeError> {
        let xml = read(&self.folder.join("cyclonedds.xml"))?;
        Ok(Participant::new(self.plan.domain, &xml, user_data)?)
    }
}

fn read(path: &Path) -> Result<String, NodeError> {
    fs::read_to_string(path).map_err(|source| NodeError::Read {
        path: path.to_owned(),
        source,
    })
}
