//! What a deployment is by the facts of its place.

use stowplan_model::{CpuGroups, ServiceKind};

use crate::experiment::DeploymentRecord;
use crate::place::PlaceRecord;

/// Variant of a deployment that is the reference a second time: what differs between the two is chance.
pub const AGAIN: &str = "again";

impl DeploymentRecord {
    /// A deployment that has a name and nothing else: plain processes of the machine.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            id: name.to_owned(),
            label: name.to_owned(),
            place: name.to_owned(),
            facts: Some(PlaceRecord {
                services: ServiceKind::Processes,
                cpu_groups: CpuGroups::One,
                flat: None,
                controls: Vec::new(),
            }),
            ..Self::default()
        }
    }

    /// Whether it is the reference a second time.
    #[must_use]
    pub fn is_again(&self) -> bool {
        self.variant.as_deref() == Some(AGAIN)
    }

    /// Whether its services are plain processes of the machine.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let facts = self.facts.as_ref();
        facts.is_some_and(|facts| facts.services == ServiceKind::Processes)
    }

    /// Whether they are plain processes in one group: what all else is held against.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.facts
            .as_ref()
            .is_some_and(|facts| facts.is().is_flat())
    }

    /// Whether they are plain processes with a group for each service.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        let facts = self.facts.as_ref();
        self.is_plain() && facts.is_some_and(|facts| facts.cpu_groups.is_grouped())
    }

    /// The plain processes in groups that stand beside it as controls, the nearest first.
    #[must_use]
    pub fn controls(&self) -> &[String] {
        let facts = self.facts.as_ref();
        facts.map_or(&[], |facts| &facts.controls)
    }

    /// What it is beside its place and its partition: name of its resources, and its variant.
    #[must_use]
    pub fn factors(&self) -> (Option<&str>, Option<&str>) {
        (self.resources.as_deref(), self.variant.as_deref())
    }

    /// The plain processes in one group that stand beside it.
    #[must_use]
    pub fn flat_place(&self) -> Option<&str> {
        self.facts.as_ref()?.flat.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::PlaceRecord;

    #[test]
    fn places_of_older_results_are_what_their_names_said() {
        let is = |place: &str| DeploymentRecord {
            facts: Some(PlaceRecord::of_older_result(place)),
            ..DeploymentRecord::default()
        };
        for flat in ["bare", "bare:flat"] {
            assert!(is(flat).is_flat() && is(flat).is_plain() && !is(flat).is_grouped());
        }
        assert!(is("bare:session").is_plain() && !is("bare:session").is_flat());
        for grouped in ["bare:grouped", "bare:grouped-lxc", "bare:grouped-lxd"] {
            assert!(is(grouped).is_grouped(), "{grouped}");
            assert!(is(grouped).controls().is_empty(), "{grouped}");
        }
        for (place, controls) in [
            ("oci", vec!["bare:grouped"]),
            ("cri:crun", vec!["bare:grouped"]),
            ("lxc", vec!["bare:grouped-lxc", "bare:grouped"]),
            ("incus", vec!["bare:grouped-lxd", "bare:grouped"]),
            ("qemu/oci", vec![]),
        ] {
            assert!(!is(place).is_plain(), "{place}");
            assert_eq!(is(place).controls(), controls, "{place}");
            assert_eq!(is(place).flat_place(), Some("bare:flat"));
        }
    }
}
