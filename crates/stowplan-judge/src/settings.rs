//! In which settings deployments differ from those that they are compared with: the difference list beside a comparison
//! (docs/measuring.md §3).

use stowplan_results::{DeploymentRecord, Effect};

use crate::controls::effect;
use crate::equality;
use crate::figures::Figures;

/// Settings of a deployment that differ from those of the reference and, for a container, of the plain processes in control
/// groups: that one's label, name, its value, own value.
#[must_use]
pub fn differing_settings(figures: &Figures, own: &DeploymentRecord) -> Vec<[String; 4]> {
    let all = &figures.experiment.deployments;
    let reference = figures.experiment.reference_id();
    let is_held = |d: &&DeploymentRecord| {
        Some(&*d.id) == reference || effect(d, own) == Effect::Isolation && d.refused.is_none()
    };
    let against = all.iter().filter(|d| d.id != own.id).filter(is_held);
    let of_one = |d: &DeploymentRecord| {
        let label = figures.label(&d.id).to_owned();
        let found = equality::differences(&d.fingerprint, &own.fingerprint);
        found
            .into_iter()
            .map(move |[name, there, here]| [label.clone(), name, there, here])
    };
    against.flat_map(of_one).collect()
}
