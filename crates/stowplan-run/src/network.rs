//! Whether an experiment can have a network of its own: all of its deployments share one, so that all of its places have to be able to.

use stowplan_model::{Place, Stack};
use stowplan_plan::KnownEngines;
use stowplan_remote::Network;

use crate::error::ExperimentError;
use crate::request::Request;

/// The places of an experiment whose services cannot be in its network, each once; none where it asks for the machine's, which
/// they are in.
pub(crate) fn outside(
    request: &Request,
    stack: &Stack,
    known: &KnownEngines,
) -> Result<Vec<String>, ExperimentError> {
    if request.network() == Network::Machine {
        return Ok(Vec::new());
    }
    let deployments = request.deployments(stack, known)?;
    Ok(outside_of(deployments.iter().map(|one| &one.place)))
}

/// Those of these places whose services cannot be in a network of the experiment's own, each once.
pub fn outside_of<'a>(places: impl IntoIterator<Item = &'a Place>) -> Vec<String> {
    let mut outside = Vec::new();
    for place in places {
        let name = place.to_string();
        if !place.facts.joins_network && !outside.contains(&name) {
            outside.push(name);
        }
    }
    outside
}

/// What to tell of an experiment that is in the machine's network because of these places.
#[must_use]
pub fn note(places: &[String]) -> Option<String> {
    (!places.is_empty()).then(|| {
        format!(
            "all deployments run in the machine's network, as with --host-network, because services of {} cannot be in a \
             network of the experiment's own",
            places.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use stowplan_model::{CpuGroups, PlaceFacts};
    use stowplan_plan::KnownVariant;
    use stowplan_spec::RunOptions;

    /// The places of `request()`, where containers join the network of an experiment or not.
    fn found(host_network: bool, joins_network: bool) -> Vec<String> {
        let containers = PlaceFacts {
            joins_network,
            ..PlaceFacts::containers()
        };
        let flat = PlaceFacts::processes(CpuGroups::One);
        let known = KnownEngines::new(
            [
                ("bare", vec![KnownVariant::new("flat", flat)]),
                ("oci", vec![KnownVariant::new("", containers)]),
            ],
            &[],
        );
        let request = Request {
            options: RunOptions {
                host_network,
                ..RunOptions::default()
            },
            ..request()
        };
        let spec = request.spec().unwrap();
        outside(&request, spec.stack(), &known).unwrap()
    }

    #[test]
    fn one_place_that_cannot_join_takes_all_into_the_machines_network() {
        assert_eq!(found(false, false), ["oci"]);
        let told = note(&found(false, false)).unwrap();
        assert!(told.contains("services of oci cannot"), "{told}");
    }

    #[test]
    fn nothing_is_told_where_all_join_or_the_user_asked_for_the_machines() {
        for (host_network, joins_network) in [(false, true), (true, false)] {
            assert_eq!(note(&found(host_network, joins_network)), None);
        }
    }
}
