//! The deployments that a request asks for.

use stowplan_model::{Deployment, Limits, Name, Partition, Place, Stack, Variant};
use stowplan_plan::KnownEngines;

use crate::ablation::{Step, steps};
use crate::error::ExperimentError;
use crate::isolation::isolation_of_names;
use crate::request::{PartitionRequest, Request};

impl Request {
    /// Places × partitions × variants, in the order in which the user named them, then what an ablation adds:
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
        let limits = self.limits(stack, &partitions)?;
        let variants = self.variants(stack)?;
        let mut deployments = Vec::new();
        for partition in &partitions {
            for place in &self.places {
                let place = known.place(place)?;
                let deployment = one(self, stack, partition, place, &limits);
                deployments.extend(variants.iter().map(|variant| Deployment {
                    variant: variant.clone(),
                    ..deployment.clone()
                }));
            }
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
        let limits = self.limits(stack, &partitions)?;
        let containers = known.ablated().ok_or_else(|| {
            bad(
                "no engine here has containers whose isolation can be added part by part"
                    .to_owned(),
            )
        })?;
        steps(&one(self, stack, partition, containers, &limits), known)
    }

    fn partitions(&self) -> Result<Vec<Partition>, ExperimentError> {
        let partitions = self.partitions.iter();
        partitions.map(PartitionRequest::to_model).collect()
    }

    /// Limits by service, each of which is one of some partition or a real program.
    fn limits(
        &self,
        stack: &Stack,
        partitions: &[Partition],
    ) -> Result<Vec<(Name, Limits)>, ExperimentError> {
        let mut all = Vec::new();
        for (name, limits) in &self.limits {
            let name = Name::new(name.as_str()).map_err(|e| bad(e.to_string()))?;
            if !partitions.iter().any(|p| is_service(stack, p, &name)) {
                let what =
                    format!("limits are for '{name}', which is a service of no partition here");
                return Err(bad(what));
            }
            all.push((name, limits.to_model()?));
        }
        Ok(all)
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
    limits: &[(Name, Limits)],
) -> Deployment {
    let limits = limits.iter();
    Deployment {
        partition: partition.clone(),
        place,
        limits: limits
            .filter(|(name, _)| is_service(stack, partition, name))
            .cloned()
            .collect(),
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
    use super::*;
    use crate::prepare::tests::known;
    use crate::request::tests::request;
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
