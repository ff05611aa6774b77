//! What the place of a deployment is, as its engine said when it was planned: verdicts are told by this, not by names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stowplan_model::{CpuGroups, PlaceFacts, ServiceKind};

/// What a place is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceRecord {
    /// `processes`, `containers`, `guest` (a virtual machine) or `cluster`.
    #[schemars(with = "String")]
    pub services: ServiceKind,
    /// Where the control groups of services lie: `one` for all, `sessions` (the kernel's autogroups), or one for each: `in-run`,
    /// `with-payload` (a group inside of it holds the processes), `on-top` (not below that of the run),
    /// `in-cluster` (in that of its pod, with weights that the cluster chooses).
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

    pub(crate) fn is(&self) -> PlaceFacts {
        PlaceFacts {
            services: self.services,
            cpu_groups: self.cpu_groups,
            ..PlaceFacts::containers()
        }
    }
}
