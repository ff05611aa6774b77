//! What the place of a deployment is, as its engine said when it was planned: verdicts are told by this, not by names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stowplan_model::{CpuGroups, PlaceFacts, ServiceKind};

use crate::DeploymentRecord;

/// What a place is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceRecord {
    /// `processes`, `containers`, `guest` (a virtual machine) or `cluster`.
    #[schemars(with = "String")]
    pub services: ServiceKind,
    /// Where the control groups of services lie: `one` for all, `sessions` (the kernel's autogroups), or one for each: `in-run`,
    /// `with-payload` (a group inside of it holds the processes), `on-top` (not below that of the run).
    #[schemars(with = "String")]
    pub cpu_groups: CpuGroups,
    /// The place of plain processes in one group; null where no engine has one.
    pub flat: Option<String>,
    /// Places of plain processes in groups that stand beside it as controls, the nearest first; empty for plain
    /// processes and guests.
    pub controls: Vec<String>,
}

/// Names that engines had in results of before their facts were recorded. Closed: an engine of today records its own.
const OLDER_CONTROLS: [(&str, &str); 3] = [
    ("lxc", "bare:grouped-lxc"),
    ("lxd", "bare:grouped-lxd"),
    ("incus", "bare:grouped-lxd"),
];

impl PlaceRecord {
    /// What the place of this name was in results of before facts were recorded.
    #[must_use]
    pub fn of_older_result(place: &str) -> Self {
        let of = |services, cpu_groups, controls: &[&str]| Self {
            services,
            cpu_groups,
            flat: Some("bare:flat".to_owned()),
            controls: controls.iter().map(ToString::to_string).collect(),
        };
        let grouped = "bare:grouped";
        if place.contains('/') {
            return of(ServiceKind::Guest, CpuGroups::InRun, &[]);
        }
        match place.split(':').next().unwrap_or_default() {
            "bare" => {
                let groups = match place {
                    "bare" | "bare:flat" => CpuGroups::One,
                    "bare:session" => CpuGroups::Sessions,
                    "bare:grouped-lxc" => CpuGroups::WithPayload,
                    "bare:grouped-lxd" => CpuGroups::OnTop,
                    _ => CpuGroups::InRun,
                };
                of(ServiceKind::Processes, groups, &[])
            }
            engine => match OLDER_CONTROLS.iter().find(|(name, _)| *name == engine) {
                Some((_, own)) => of(
                    ServiceKind::Containers,
                    Self::of_older_result(own).cpu_groups,
                    &[own, grouped],
                ),
                None => of(ServiceKind::Containers, CpuGroups::InRun, &[grouped]),
            },
        }
    }

    fn is(&self) -> PlaceFacts {
        PlaceFacts {
            services: self.services,
            cpu_groups: self.cpu_groups,
            ablates: false,
        }
    }
}

impl DeploymentRecord {
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
