//! The one DDS configuration of all deployments of an experiment, and where it is kept.

use std::path::Path;

use stowplan_host::facts::LOOPBACK_MULTICAST;
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_model::DdsProfile;
use stowplan_wire::host::MachineFacts;

use crate::error::ExperimentError;

/// File in the result folder.
const FILE: &str = "cyclonedds.xml";

/// Whether DDS can use multicast in the network of the services.
#[must_use]
pub fn has_multicast(facts: &MachineFacts) -> bool {
    let setting = facts.settings.get(LOOPBACK_MULTICAST);
    setting.is_some_and(|has| has == "yes")
}

/// The configuration that addresses the participants of every deployment, for any domain.
pub(crate) fn config(profile: DdsProfile, participants: usize, facts: &MachineFacts) -> DdsConfig {
    DdsConfig::new(profile, participants, has_multicast(facts))
}

/// Keeps the configuration beside the result. That of a run has the number of its domain instead of `any`.
pub(crate) fn keep(config: DdsConfig, dir: &Path) -> Result<(), ExperimentError> {
    let path = dir.join(FILE);
    std::fs::write(&path, cyclonedds_xml(config))
        .map_err(|source| ExperimentError::Write { path, source })
}
