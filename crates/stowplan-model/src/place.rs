//! Places: where a deployment runs. The text of one becomes a [`Place`] where the known engines are, in `stowplan-plan`.

use std::fmt;

use crate::{PlaceFacts, ServiceKind};

/// An engine with its variant, as `bare:grouped`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceStep {
    /// Name of the engine.
    pub name: String,
    /// Variant after the colon; `None` where the engine has only one form, or its default is asked for.
    pub variant: Option<String>,
}

/// Name of the host that Stowplan runs on. It need not be written in a place.
pub const LOCAL_HOST: &str = "local";

/// Where a deployment runs, of known words only: `docker`, or `qemu/docker` for Docker inside of QEMU.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// What the engine runs inside of, outermost first; empty on the host itself.
    pub outer: Vec<PlaceStep>,
    /// What starts the services.
    pub engine: PlaceStep,
    /// What its engine says of it; inside of something else, what that is.
    pub facts: PlaceFacts,
}

impl Place {
    /// Every step, outermost first: each has to be there for the place to be there.
    pub fn steps(&self) -> impl Iterator<Item = &PlaceStep> {
        self.outer.iter().chain([&self.engine])
    }

    /// Whether the services are plain processes on the local machine.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.facts.services == ServiceKind::Processes
    }
}

impl fmt::Display for PlaceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.variant
            .as_ref()
            .map_or(Ok(()), |variant| write!(f, ":{variant}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host != LOCAL_HOST {
            write!(f, "{}/", self.host)?;
        }
        for step in &self.outer {
            write!(f, "{step}/")?;
        }
        write!(f, "{}", self.engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuGroups;

    fn step(name: &str, variant: Option<&str>) -> PlaceStep {
        PlaceStep {
            name: name.to_owned(),
            variant: variant.map(str::to_owned),
        }
    }

    #[test]
    fn a_place_is_told_with_every_step_and_a_host_that_is_another() {
        let mut place = Place {
            host: LOCAL_HOST.to_owned(),
            outer: vec![step("qemu", None)],
            engine: step("bare", Some("flat")),
            facts: PlaceFacts::processes(CpuGroups::One),
        };
        assert_eq!(place.to_string(), "qemu/bare:flat");
        assert_eq!(place.steps().count(), 2);
        place.host = "orin".to_owned();
        assert_eq!(place.to_string(), "orin/qemu/bare:flat");
    }
}
