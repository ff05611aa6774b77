//! Engines that places of tests may name.

use stowplan_model::{CpuGroups, PlaceFacts};
use stowplan_plan::{KnownEngines, KnownVariant};

/// Plain processes of three variants, and containers whose isolation an ablation can add part by part.
#[must_use]
pub fn known_engines() -> KnownEngines {
    let plain = |name, groups| KnownVariant::new(name, PlaceFacts::processes(groups));
    let bare = vec![
        plain("flat", CpuGroups::One),
        plain("session", CpuGroups::Sessions),
        plain("grouped", CpuGroups::InRun),
    ];
    let ablates = PlaceFacts {
        ablates: true,
        ..PlaceFacts::containers()
    };
    let oci = vec![KnownVariant::new("", ablates)];
    KnownEngines::new([("bare", bare), ("oci", oci)], &[])
}
