//! The one resolver of places: `[HOST/]ENGINE[:VARIANT]`, or several such steps with `/` between, outermost first.

use stowplan_model::{LOCAL_HOST, Place, PlaceFacts, PlaceStep, ServiceKind};

use crate::nearest;

/// Every host that a place can name.
const HOSTS: [&str; 1] = [LOCAL_HOST];

/// All engines whose names a place may have, on this machine or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownEngines(Vec<KnownEngine>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownEngine {
    name: String,
    variants: Variants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Variants {
    /// Those of an engine, the default first.
    Known(Vec<KnownVariant>),
    /// This version does not have the engine: nothing but what its services would be is known.
    Planned(ServiceKind),
}

/// One of the places that an engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownVariant {
    /// Name after the colon; empty where the engine has only one form.
    pub name: String,
    /// What the engine says of it.
    pub facts: PlaceFacts,
}

/// Why a text is not a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("place '{place}': {problem}")]
pub struct PlaceError {
    /// The text.
    pub place: String,
    /// What is wrong with it.
    pub problem: String,
    /// What may have been meant.
    pub hint: Option<String>,
}

impl KnownEngines {
    /// Engines with their variants, the default first; and the names of those that this version does not have, with what
    /// their services are.
    pub fn new<N: Into<String>>(
        engines: impl IntoIterator<Item = (N, Vec<KnownVariant>)>,
        planned: &[(&str, ServiceKind)],
    ) -> Self {
        let engines = engines.into_iter().map(|(name, variants)| KnownEngine {
            name: name.into(),
            variants: Variants::Known(variants),
        });
        let planned = planned.iter().map(|(name, services)| KnownEngine {
            name: (*name).to_owned(),
            variants: Variants::Planned(*services),
        });
        Self(engines.chain(planned).collect())
    }

    /// What the services of an engine are that this version does not have.
    fn planned(&self, name: &str) -> Option<ServiceKind> {
        let found = self.0.iter().find(|engine| engine.name == name)?;
        match &found.variants {
            Variants::Known(_) => None,
            Variants::Planned(services) => Some(*services),
        }
    }

    /// Every place on the machine itself, in the order of the engines.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.0.iter().flat_map(|engine| {
            let variants = match &engine.variants {
                Variants::Known(variants) => &variants[..],
                Variants::Planned(_) => &[],
            };
            variants.iter().map(|variant| Place {
                host: LOCAL_HOST.to_owned(),
                outer: Vec::new(),
                engine: variant.step(&engine.name),
                facts: variant.facts,
            })
        })
    }

    /// Plain processes in one group: what every other place is held against.
    #[must_use]
    pub fn flat(&self) -> Option<Place> {
        self.places().find(|place| place.facts.is_flat())
    }

    /// Containers whose isolation can be added part by part.
    #[must_use]
    pub fn ablated(&self) -> Option<Place> {
        self.places().find(|place| place.facts.ablates)
    }

    /// The plain processes that have to stand beside `place` before something can be said of its isolation, the nearest
    /// first: in groups that lie as its own do, and as those of most engines.
    #[must_use]
    pub fn controls(&self, place: &Place) -> Vec<Place> {
        let near = |control: Place| Some((control.facts.control_of(place.facts)?, control));
        let mut controls: Vec<(usize, Place)> = self.places().filter_map(near).collect();
        controls.sort_by_key(|(near, _)| *near);
        controls.into_iter().map(|(_, control)| control).collect()
    }

    /// The place that `text` means. An engine without a variant is its default one, by name where that has one.
    ///
    /// # Errors
    /// When a word of it is unknown, or an engine stands where nothing can run inside of it.
    pub fn place(&self, text: &str) -> Result<Place, PlaceError> {
        let fail = |problem: String, hint: Option<String>| PlaceError {
            place: text.to_owned(),
            problem,
            hint,
        };
        let (host, rest) = match text.split_once('/') {
            Some((host, rest)) if HOSTS.contains(&host) => (host, rest),
            _ => (LOCAL_HOST, text),
        };
        let mut steps = Vec::new();
        for (nth, part) in rest.split('/').enumerate() {
            let could_be_host = nth == 0 && rest == text && text.contains('/');
            let hosts = if could_be_host { &HOSTS[..] } else { &[] };
            let step = self.step(part, hosts);
            steps.push(step.map_err(|(problem, hint)| fail(problem, hint))?);
        }
        let Some(engine) = steps.pop() else {
            return Err(fail("it has no engine".to_owned(), None));
        };
        let (engine, mut facts) = engine;
        let mut outer = Vec::new();
        for (step, _) in steps.into_iter().rev() {
            let Some(services) = self.planned(&step.name) else {
                return Err(fail(
                    format!("no engine can run inside of '{step}'"),
                    Some("leave it out".to_owned()),
                ));
            };
            facts.services = services;
            outer.insert(0, step);
        }
        Ok(Place {
            host: host.to_owned(),
            outer,
            engine,
            facts,
        })
    }

    /// One step; or what is wrong with it, and what may have been meant. `hosts` could stand in its place.
    fn step(
        &self,
        text: &str,
        hosts: &[&str],
    ) -> Result<(PlaceStep, PlaceFacts), (String, Option<String>)> {
        let (name, variant) = match text.split_once(':') {
            None => (text, None),
            Some((name, variant)) => (name, Some(variant)),
        };
        if name.is_empty() || variant == Some("") {
            let form =
                "write ENGINE, ENGINE:VARIANT or OUTER/ENGINE, for example 'bare:grouped' or 'oci'";
            return Err(("a word is missing".to_owned(), Some(form.to_owned())));
        }
        let Some(known) = self.0.iter().find(|engine| engine.name == name) else {
            let names = self.0.iter().map(|engine| &*engine.name);
            let what = if hosts.is_empty() {
                "engine"
            } else {
                "engine or host"
            };
            let names = names.chain(hosts.iter().copied());
            return Err((format!("no {what} '{name}'"), nearest::hint(name, names)));
        };
        let variants = match &known.variants {
            Variants::Known(variants) => variants,
            Variants::Planned(services) => return Ok(planned_step(name, variant, *services)),
        };
        let named = || variants.iter().map(|v| &*v.name).filter(|v| !v.is_empty());
        let found = match variant {
            None => variants.first(),
            Some(asked) => variants
                .iter()
                .find(|known| known.name == asked && !asked.is_empty()),
        };
        match (found, variant) {
            (Some(found), _) => Ok((found.step(name), found.facts)),
            (None, None) => Err((format!("engine '{name}' has no places"), None)),
            (None, Some(_)) if named().next().is_none() => Err((
                format!("engine '{name}' has no variants"),
                Some(format!("write '{name}'")),
            )),
            (None, Some(variant)) => Err((
                format!("engine '{name}' has no variant '{variant}'"),
                nearest::hint(variant, named()),
            )),
        }
    }
}

impl KnownVariant {
    /// A variant of this name.
    #[must_use]
    pub fn new(name: &str, facts: PlaceFacts) -> Self {
        Self {
            name: name.to_owned(),
            facts,
        }
    }

    fn step(&self, engine: &str) -> PlaceStep {
        PlaceStep {
            name: engine.to_owned(),
            variant: Some(&self.name).filter(|name| !name.is_empty()).cloned(),
        }
    }
}

fn planned_step(
    name: &str,
    variant: Option<&str>,
    services: ServiceKind,
) -> (PlaceStep, PlaceFacts) {
    let step = PlaceStep {
        name: name.to_owned(),
        variant: variant.map(str::to_owned),
    };
    let facts = PlaceFacts {
        services,
        ..PlaceFacts::containers()
    };
    (step, facts)
}

#[cfg(test)]
mod tests {
    use stowplan_model::CpuGroups;

    use super::*;

    fn known() -> KnownEngines {
        let plain = |name, groups| KnownVariant::new(name, PlaceFacts::processes(groups));
        let boxed = |name| KnownVariant::new(name, PlaceFacts::containers());
        let on_top = PlaceFacts {
            cpu_groups: CpuGroups::OnTop,
            ..PlaceFacts::containers()
        };
        let engines = [
            (
                "bare",
                vec![
                    plain("flat", CpuGroups::One),
                    plain("session", CpuGroups::Sessions),
                    plain("grouped", CpuGroups::InRun),
                    plain("grouped-lxd", CpuGroups::OnTop),
                ],
            ),
            ("oci", vec![boxed("")]),
            ("docker", vec![boxed("")]),
            ("cri", vec![boxed(""), boxed("runc"), boxed("crun")]),
            ("lxd", vec![KnownVariant::new("", on_top)]),
        ];
        let planned = [("qemu", ServiceKind::Guest), ("kube", ServiceKind::Cluster)];
        KnownEngines::new(engines, &planned)
    }

    #[test]
    fn controls_of_a_place_are_plain_processes_in_groups_like_its_own() {
        let controls = |text: &str| {
            let known = known();
            let all = known.controls(&known.place(text).unwrap());
            let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
            texts.join(" ")
        };
        assert_eq!(controls("oci"), "bare:grouped");
        assert_eq!(controls("cri:crun"), "bare:grouped");
        assert_eq!(controls("lxd"), "bare:grouped-lxd bare:grouped");
        for none in ["bare:flat", "bare:grouped", "qemu/oci", "kube/oci"] {
            assert_eq!(controls(none), "", "{none}");
        }
        let flat = known().flat().map(|place| place.to_string());
        assert_eq!(flat.as_deref(), Some("bare:flat"));
        assert_eq!(known().ablated(), None);
    }

    #[test]
    fn inside_of_something_a_place_is_what_that_is() {
        let kind = |text: &str| known().place(text).unwrap().facts.services;
        assert_eq!(kind("bare"), ServiceKind::Processes);
        assert_eq!(kind("qemu/bare:flat"), ServiceKind::Guest);
        assert_eq!(kind("kube/qemu/oci"), ServiceKind::Cluster);
        assert!(!known().place("qemu/bare:flat").unwrap().is_plain());
    }

    #[test]
    fn every_step_of_a_known_place_is_kept() {
        for (text, resolved) in [
            ("bare:grouped", "bare:grouped"),
            ("bare", "bare:flat"),
            ("oci", "oci"),
            ("cri", "cri"),
            ("cri:crun", "cri:crun"),
            ("local/oci", "oci"),
            ("local/qemu/oci", "qemu/oci"),
            ("qemu/oci", "qemu/oci"),
            ("qemu:tcg/bare", "qemu:tcg/bare:flat"),
            ("kube/qemu/cri:runc", "kube/qemu/cri:runc"),
        ] {
            let place = known().place(text).unwrap();
            assert_eq!(place.to_string(), resolved);
            let steps = resolved.split('/').count();
            assert_eq!(place.steps().count(), steps, "{text}");
            assert_eq!(known().place(resolved).unwrap(), place);
        }
    }

    #[test]
    fn a_place_with_a_word_that_is_unknown_is_none_wherever_it_stands() {
        let wrong = [
            "ocy",
            "moon/oci",
            "qemu/moon/oci",
            "qemu/ocy",
            "local",
            "loca/oci",
            "oci/local",
            "qemu/local/oci",
            "dockr",
            "bare:flot",
            "qemu/bare:flot",
            "bare:x",
            "oci:runc",
            "cri:runk",
            "docker/oci",
            "qemu/bare/oci",
            "bare:",
            ":flat",
            "oci/",
            "/oci",
            "oci//x",
            "a b",
            "",
        ];
        let told = wrong.map(|text| {
            let error = known().place(text).unwrap_err();
            let hint = error.hint.as_ref().map(|hint| format!(" ({hint})"));
            format!("{error}{}", hint.unwrap_or_default())
        });
        insta::assert_snapshot!(told.join("\n"));
    }
}
