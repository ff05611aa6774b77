//! What a difference between two deployments is the effect of, and which plain processes have to stand beside containers
//! before it can be told (docs/measuring.md §2).

use stowplan_results::{DeploymentRecord, Effect};

use crate::figures::Figures;

/// A reference and a candidate.
pub(crate) type Pair<'a> = (&'a DeploymentRecord, &'a DeploymentRecord);

/// What a difference between two deployments is the effect of.
#[must_use]
pub fn effect(a: &DeploymentRecord, b: &DeploymentRecord) -> Effect {
    let same_partition = a.partition == b.partition;
    // What variants differ in is beside both.
    if a.variant != b.variant {
        return Effect::Total;
    }
    if a.resources != b.resources {
        return if same_partition && a.place == b.place {
            Effect::Resources
        } else {
            Effect::Total
        };
    }
    if a.place == b.place && !same_partition {
        Effect::Splitting
    } else if !same_partition {
        Effect::Total
    } else if a.is_flat() && b.is_grouped() {
        Effect::GroupScheduling
    } else if b.controls().contains(&a.place) {
        Effect::Isolation
    } else {
        Effect::Total
    }
}

/// The engine of `place`, where it runs on the machine itself; inside of another, all of the place.
#[must_use]
pub fn engine_of(place: &str) -> &str {
    match place.split_once(':') {
        Some((engine, _)) if !place.contains('/') => engine,
        _ => place,
    }
}

/// Any statement about containers against bare metal needs its controls beside it: plain processes in one group, and in
/// groups like those of its engine, of the same partition and variant (docs/measuring.md §2).
pub(crate) fn missing_controls(figures: &Figures, (a, b): Pair<'_>) -> Option<String> {
    if !a.is_plain() || b.is_plain() {
        return None;
    }
    lacking(b, |place| has_run(figures, b, place))
}

/// What a statement about containers against bare metal lacks, where it has those controls that `has` says.
fn lacking(containers: &DeploymentRecord, has: impl Fn(&str) -> bool) -> Option<String> {
    if containers.facts.is_none() {
        return Some(
            "no statement against bare metal: what the place is was not recorded".to_owned(),
        );
    }
    let controls = containers.controls();
    let grouped = controls.iter().any(|place| has(place));
    let flat = containers.flat_place().filter(|place| !has(place));
    let grouped = controls.first().filter(|_| !grouped);
    let missing: Vec<&str> = flat
        .into_iter()
        .chain(grouped.map(String::as_str))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "no statement against bare metal without {} of partition {} in the same experiment",
            missing.join(" and "),
            containers.partition
        )
    })
}

/// What deployments that are about to be measured, without the steps of an ablation, lack for a statement about containers
/// against bare metal.
#[must_use]
pub fn lacking_controls(planned: &[DeploymentRecord]) -> Vec<String> {
    let run = || planned.iter().filter(|d| d.refused.is_none());
    let containers = run().filter(|d| !d.is_plain());
    let lacking = containers.filter_map(|own| {
        let has = |place: &str| {
            run().any(|d| {
                (&*d.place, &d.partition, d.factors()) == (place, &own.partition, own.factors())
            })
        };
        Some(format!("{}: {}", own.label, lacking(own, has)?))
    });
    lacking.collect()
}

/// What a verdict on a container against bare metal has to say where only groups that lie otherwise stand beside it.
pub(crate) fn control_of_another_shape(figures: &Figures, (a, b): Pair<'_>) -> Option<String> {
    if !a.is_plain() || b.is_plain() {
        return None;
    }
    let (own, others) = b.controls().split_first()?;
    if has_run(figures, b, own) {
        return None;
    }
    let other = others.iter().find(|place| has_run(figures, b, place))?;
    Some(format!(
        "the groups of {other} lie otherwise than those of the engine, {own} was not measured"
    ))
}

/// Whether all that `own` is was measured at another place too. The steps of an ablation are variants that only
/// containers have.
fn has_run(figures: &Figures, own: &DeploymentRecord, place: &str) -> bool {
    let (resources, variant) = own.factors();
    let variant = variant.filter(|_| !figures.experiment.is_step(own));
    let factors = (resources, variant);
    let mut ran = figures.deployments().into_iter();
    ran.any(|d| (&*d.place, &d.partition, d.factors()) == (place, &own.partition, factors))
}

#[cfg(test)]
mod tests {
    use stowplan_results::PlaceRecord;

    use super::*;

    #[test]
    fn another_allocation_is_an_effect_of_its_own() {
        let at = |place: &str, resources: &str| DeploymentRecord {
            place: place.to_owned(),
            resources: Some(resources.to_owned()),
            facts: Some(PlaceRecord::of_older_result(place)),
            ..DeploymentRecord::default()
        };
        let effect = |a: (&str, &str), b: (&str, &str)| effect(&at(a.0, a.1), &at(b.0, b.1));
        assert_eq!(effect(("oci", "a"), ("oci", "b")), Effect::Resources);
        let flat = ("bare:flat", "a");
        assert_eq!(effect(flat, ("bare:grouped", "a")), Effect::GroupScheduling);
        assert_eq!(effect(flat, ("bare:grouped", "b")), Effect::Total);
        assert_eq!(effect(("bare:grouped", "a"), ("oci", "b")), Effect::Total);
    }

    #[test]
    fn containers_are_held_against_plain_processes_in_groups_like_theirs() {
        let at = |place: &str| DeploymentRecord {
            place: place.to_owned(),
            facts: Some(PlaceRecord::of_older_result(place)),
            ..DeploymentRecord::default()
        };
        let effect = |a, b| effect(&at(a), &at(b));
        for grouped in ["bare:grouped", "bare:grouped-lxc", "bare:grouped-lxd"] {
            assert_eq!(effect("bare:flat", grouped), Effect::GroupScheduling);
        }
        for (control, place, told) in [
            ("bare:grouped", "oci", Effect::Isolation),
            ("bare:grouped", "lxd", Effect::Isolation),
            ("bare:grouped-lxd", "lxd", Effect::Isolation),
            ("bare:grouped-lxd", "incus", Effect::Isolation),
            ("bare:grouped-lxc", "lxc", Effect::Isolation),
            ("bare:grouped-lxc", "lxd", Effect::Total),
            ("bare:grouped-lxd", "docker", Effect::Total),
            ("bare:grouped", "bare:session", Effect::Total),
            ("bare:flat", "oci", Effect::Total),
            ("bare:grouped", "qemu/oci", Effect::Total),
        ] {
            assert_eq!(effect(control, place), told, "{control} {place}");
        }
    }
}
