//! Whether an experiment can have a network of its own: all of its deployments share one, so that all of its places have to be able to.

use stowplan_model::Stack;
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
    let mut places: Vec<String> = Vec::new();
    if request.network() == Network::Machine {
        return Ok(places);
    }
    for deployment in request.deployments(stack, known)? {
        let place = deployment.place.to_string();
        if !deployment.place.facts.joins_network && !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
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
