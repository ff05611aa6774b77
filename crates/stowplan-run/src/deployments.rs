//! The deployments that a request asks for.

use std::collections::BTreeMap;

use stowplan_model::{Deployment, Limits, Name, Partition, Place, Resources, Stack, Variant};
use stowplan_plan::KnownEngines;

use crate::ablation::{Step, steps};
use crate::error::ExperimentError;
use crate::isolation::isolation_of_names;
use crate::request::{PartitionRequest, Request};

impl Request {
    /// Places × partitions × resources × variants, or those that were listed × variants, in the order in which the user named them, then what an ablation adds:
    /// the first is the reference.
    ///
    /// # Errors
    /// When a name in the file is not one, a place has a word that is unknown, or an ablation has several partitions.
    pub fn deployments(
        &self,
        stack: &Stack,
        known: &KnownEngines,
    ) -> Result<Vec<Deployment>, ExperimentError> {
        let partitions = self.partitions()?;
        let resources = self.resources(stack, &partitions)?;
        let variants = self.variants(stack)?;
        let mut deployments = Vec::new();
        for (place, partition, resources) in self.combinations(known, &partitions, &resources)? {
            let deployment = one(self, stack, partition, place, resources);
            deployments.extend(variants.iter().map(|variant| Deployment {
                variant: variant.clone(),
                ..deployment.clone()
            }));
        }
        for step in self.ablation(stack, known)? {
            if !deployments.contains(&step.deployment) {
                deployments.push(step.deployment);
            }
        }
        Ok(deployments)
    }

    /// The deployments of the ablation in their order; none where none is asked for.
    pub(crate) fn ablation(
        &self,
        stack: &Stack,
        known: &KnownEngines,
    ) -> Result<Vec<Step>, ExperimentError> {
        if !self.ablation {
            return Ok(Vec::new());
        }
        let partitions = self.partitions()?;
        let [partition] = &partitions[..] else {
            let names: Vec<&str> = partitions.iter().map(|p| &*p.name).collect();
            let what = format!("an ablation has one partition, not {}", names.join(" and "));
            return Err(ExperimentError::Name { what });
        };
        let resources = self.resources(stack, &partitions)?;
        let [resources] = &resources[..] else {
            return Err(bad("an ablation has one allocation of resources".to_owned()));
        };
        let containers = known.ablated().ok_or_else(|| {
            bad(
                "no engine here has containers whose isolation can be added part by part"
                    .to_owned(),
            )
        })?;
        steps(&one(self, stack, partition, containers, resources), known)
    }

    fn partitions(&self) -> Result<Vec<Partition>, ExperimentError> {
        let partitions = self.partitions.iter();
        partitions.map(PartitionRequest::to_model).collect()
    }

    /// Place, partition and resources of every deployment, in the order in which the user named them.
    fn combinations<'a>(
        &self,
        known: &KnownEngines,
        partitions: &'a [Partition],
        resources: &'a [Resources],
    ) -> Result<Vec<(Place, &'a Partition, &'a Resources)>, ExperimentError> {
        let mut all = Vec::new();
        for listed in &self.listed {
            let partition = partitions.iter().find(|p| p.name == listed.partition);
            let name = listed.resources.as_deref();
            let mut named = resources.iter();
            let found = named.find(|of| of.name.as_ref().map(Name::as_str) == name);
            let (Some(partition), Some(resources)) = (partition, found) else {
                let what = format!("{listed:?} has a partition or resources that are not here");
                return Err(bad(what));
            };
            all.push((known.place(&listed.place)?, partition, resources));
        }
        if !self.listed.is_empty() {
            return Ok(all);
        }
        for partition in partitions {
            for place in &self.places {
                let place = known.place(place)?;
                all.extend(resources.iter().map(|of| (place.clone(), partition, of)));
            }
        }
        Ok(all)
    }

    /// The allocations, of which each service is one of some partition or a real program.
    fn resources(
        &self,
        stack: &Stack,
        partitions: &[Partition],
    ) -> Result<Vec<Resources>, ExperimentError> {
        let of = |name: Option<Name>, limits: &BTreeMap<String, Limits>| {
            let mut all = Vec::new();
            for (service, limits) in limits {
                let service = Name::new(service.as_str()).map_err(|e| bad(e.to_string()))?;
                if !partitions.iter().any(|p| is_service(stack, p, &service)) {
                    let what = format!(
                        "limits are for '{service}', which is a service of no partition here"
                    );
                    return Err(bad(what));
                }
                all.push((service, limits.clone()));
            }
            Ok(Resources { name, limits: all })
        };
        if self.resources.is_empty() {
            return Ok(vec![of(None, &self.limits)?]);
        }
        let resources = self.resources.iter().map(|named| {
            let name = Name::new(named.name.as_str()).map_err(|e| bad(e.to_string()))?;
            of(Some(name), &named.limits)
        });
        resources.collect()
    }

    /// The variants of every deployment: that without a name, where none is asked for.
    fn variants(&self, stack: &Stack) -> Result<Vec<Option<Variant>>, ExperimentError> {
        if self.variants.is_empty() {
            return Ok(vec![None]);
        }
        let variants = self.variants.iter();
        variants.map(|v| v.to_model(stack).map(Some)).collect()
    }
}

fn one(
    request: &Request,
    stack: &Stack,
    partition: &Partition,
    place: Place,
    resources: &Resources,
) -> Deployment {
    let limits = resources.limits.iter();
    Deployment {
        partition: partition.clone(),
        place,
        resources: Resources {
            name: resources.name.clone(),
            limits: limits
                .filter(|(name, _)| is_service(stack, partition, name))
                .cloned()
                .collect(),
        },
        isolation: isolation_of_names(&request.isolation),
        variant: None,
    }
}

fn is_service(stack: &Stack, partition: &Partition, name: &Name) -> bool {
    partition.services.iter().any(|s| s.service == *name)
        || stack.services.iter().any(|s| s.name == *name)
}

fn bad(what: String) -> ExperimentError {
    ExperimentError::Name { what }
}

#[cfg(test)]
mod tests {
    use stowplan_model::Limits;

    use super::*;
    use crate::prepare::tests::known;
    use crate::request::tests::request;
    use crate::request::{DeploymentRequest, ResourcesRequest};
    use crate::variants::VariantRequest;

    #[test]
    fn variants_multiply_the_deployments_and_the_first_is_the_reference() {
        let variant = |name: &str, injection| Variant {
            name: Name::new(name).unwrap(),
            injection,
            launching: stowplan_model::Launching::Ros2,
        };
        let later = stowplan_model::Injection::Phase {
            callback: stowplan_model::CallbackRef {
                node: Name::new("planner").unwrap(),
                callback: Name::new("timer").unwrap(),
            },
            later_ns: 5,
        };
        let mut request = request();
        request.variants = [variant("a", None), variant("b", Some(later.clone()))]
            .iter()
            .map(VariantRequest::of)
            .collect();
        let spec = request.spec().unwrap();
        let deployments = request.deployments(spec.stack(), &known()).unwrap();
        assert_eq!(deployments.len(), 8);
        assert_eq!(deployments[0].label(), "bare:flat · single · a");
        let second = &deployments[1];
        assert_eq!(second.label(), "bare:flat · single · b");
        assert_eq!(second.variant.as_ref().unwrap().injection, Some(later));
        let mut same = second.clone();
        same.variant.clone_from(&deployments[0].variant);
        assert_eq!(same, deployments[0], "nothing else differs");
    }

    fn allocation(name: &str, weight: Option<u32>) -> ResourcesRequest {
        let limits = weight.map(|weight| {
            let limits = Limits {
                cpu_weight: Some(weight),
                ..Limits::default()
            };
            ("sensing".to_owned(), limits)
        });
        ResourcesRequest {
            name: name.to_owned(),
            limits: limits.into_iter().collect(),
        }
    }

    #[test]
    fn resources_are_a_factor_of_their_own_and_the_first_is_the_reference() {
        let mut request = request();
        request.limits.clear();
        request.resources = vec![allocation("usual", None), allocation("small", Some(1))];
        let spec = request.spec().unwrap();
        let all = request.deployments(spec.stack(), &known()).unwrap();
        let labels: Vec<String> = all.iter().map(Deployment::label).collect();
        assert_eq!(labels.len(), 8);
        assert_eq!(
            labels[4..6],
            ["bare:flat · modules · usual", "bare:flat · modules · small"]
        );
        // 'single' has no service 'sensing'.
        let limited = all.iter().filter(|d| !d.resources.limits.is_empty());
        let limited: Vec<String> = limited.map(Deployment::label).collect();
        assert_eq!(
            limited,
            ["bare:flat · modules · small", "oci · modules · small"]
        );
    }

    #[test]
    fn deployments_are_listed_one_by_one_in_their_order() {
        let mut request = request();
        request.limits.clear();
        request.places.clear();
        request.resources = vec![allocation("usual", None), allocation("small", Some(1))];
        let listed = |place: &str, partition: &str, resources: &str| DeploymentRequest {
            place: place.to_owned(),
            partition: partition.to_owned(),
            resources: Some(resources.to_owned()),
        };
        request.listed = vec![
            listed("oci", "modules", "small"),
            listed("bare:flat", "single", "usual"),
        ];
        let spec = request.spec().unwrap();
        let all = request.deployments(spec.stack(), &known()).unwrap();
        let labels: Vec<String> = all.iter().map(Deployment::label).collect();
        assert_eq!(
            labels,
            ["oci · modules · small", "bare:flat · single · usual"]
        );
        request.listed.push(listed("oci", "modules", "large"));
        assert!(request.deployments(spec.stack(), &known()).is_err());
    }

    fn ablation(places: &[&str]) -> Request {
        let mut request = request();
        request.ablation = true;
        request.partitions.remove(0);
        request.places = places.iter().map(ToString::to_string).collect();
        request.isolation.clear();
        request.limits.clear();
        request
    }

    #[test]
    fn an_ablation_adds_what_is_not_asked_for_anyway() {
        let request = ablation(&[]);
        let spec = request.spec().unwrap();
        let alone = request.deployments(spec.stack(), &known()).unwrap();
        assert_eq!(alone.len(), 10);
        assert_eq!(alone[0].label(), "bare:flat · modules");
        assert_eq!(alone[9].label(), "oci · modules");

        let places = ["bare:session", "oci", "bare:flat"];
        let beside = ablation(&places)
            .deployments(spec.stack(), &known())
            .unwrap();
        assert_eq!(beside[0].label(), "bare:session · modules");
        assert_eq!(beside.len(), 11, "oci and bare:flat are there once");
        for step in request.ablation(spec.stack(), &known()).unwrap() {
            assert!(beside.contains(&step.deployment));
        }
    }

    #[test]
    fn an_ablation_of_two_partitions_is_refused() {
        let mut request = request();
        request.ablation = true;
        let spec = request.spec().unwrap();
        let error = request
            .deployments(spec.stack(), &known())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "an ablation has one partition, not single and modules"
        );
    }
}
