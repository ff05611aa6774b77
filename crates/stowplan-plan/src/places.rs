//! The one resolver of places: `ENGINE[:VARIANT]`, or several such steps with `/` between, outermost first.

use stowplan_model::{Place, PlaceStep};

use crate::nearest;

/// All engines whose names a place may have, on this machine or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownEngines(Vec<KnownEngine>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownEngine {
    name: String,
    /// Names of its variants; `None` where this version does not have the engine, so that nothing but its name is known.
    variants: Option<Vec<String>>,
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
    /// Engines with the names of their variants, the default first and empty where it has none; and the names of those
    /// that this version does not have.
    pub fn new<N: Into<String>, V: Into<String>>(
        engines: impl IntoIterator<Item = (N, Vec<V>)>,
        planned: &[&str],
    ) -> Self {
        let engines = engines.into_iter().map(|(name, variants)| KnownEngine {
            name: name.into(),
            variants: Some(variants.into_iter().map(Into::into).collect()),
        });
        let planned = planned.iter().map(|name| KnownEngine {
            name: (*name).to_owned(),
            variants: None,
        });
        Self(engines.chain(planned).collect())
    }

    fn is_planned(&self, name: &str) -> bool {
        let found = self.0.iter().find(|engine| engine.name == name);
        found.is_some_and(|engine| engine.variants.is_none())
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
        let parts: Vec<&str> = text.split('/').collect();
        let alone = parts.len() == 1;
        let mut steps = Vec::new();
        for part in parts {
            let step = self.step(part, alone);
            steps.push(step.map_err(|(problem, hint)| fail(problem, hint))?);
        }
        let Some(engine) = steps.pop() else {
            return Err(fail("it has no engine".to_owned(), None));
        };
        match steps.iter().find(|outer| !self.is_planned(&outer.name)) {
            Some(outer) => Err(fail(
                format!("no engine can run inside of '{outer}'"),
                Some("leave it out".to_owned()),
            )),
            None => Ok(Place {
                outer: steps,
                engine,
            }),
        }
    }

    /// One step, alone or with others; or what is wrong with it, and what may have been meant.
    fn step(&self, text: &str, alone: bool) -> Result<PlaceStep, (String, Option<String>)> {
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
            let what = if alone { "engine" } else { "engine or host" };
            return Err((format!("no {what} '{name}'"), nearest::hint(name, names)));
        };
        let step = |variant: Option<&str>| PlaceStep {
            name: name.to_owned(),
            variant: variant.map(str::to_owned),
        };
        let Some(variants) = &known.variants else {
            return Ok(step(variant));
        };
        let named = || variants.iter().map(|v| &**v).filter(|v| !v.is_empty());
        match variant {
            None => {
                let default = variants.first().filter(|default| !default.is_empty());
                Ok(step(default.map(String::as_str)))
            }
            Some(variant) if named().any(|known| known == variant) => Ok(step(Some(variant))),
            Some(_) if named().next().is_none() => Err((
                format!("engine '{name}' has no variants"),
                Some(format!("write '{name}'")),
            )),
            Some(variant) => Err((
                format!("engine '{name}' has no variant '{variant}'"),
                nearest::hint(variant, named()),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownEngines {
        let engines = [
            ("bare", vec!["flat", "session", "grouped"]),
            ("oci", vec![""]),
            ("docker", vec![""]),
            ("cri", vec!["", "runc", "crun"]),
        ];
        KnownEngines::new(engines, &["qemu", "kube"])
    }

    #[test]
    fn every_step_of_a_known_place_is_kept() {
        for (text, resolved) in [
            ("bare:grouped", "bare:grouped"),
            ("bare", "bare:flat"),
            ("oci", "oci"),
            ("cri", "cri"),
            ("cri:crun", "cri:crun"),
            ("qemu/oci", "qemu/oci"),
            ("qemu:tcg/bare", "qemu:tcg/bare:flat"),
            ("kube/qemu/cri:runc", "kube/qemu/cri:runc"),
        ] {
            let place = known().place(text).unwrap();
            assert_eq!(place.to_string(), resolved);
            let steps = text.split('/').count();
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
