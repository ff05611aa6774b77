//! Deployments that differ in neither partition nor place.

use crate::injection::Injection;
use crate::launching::Launching;
use crate::names::Name;

/// One of several deployments of the same partition at the same place with the same resources.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// What tells it from the others.
    pub name: Name,
    /// What is put into it; `None` is the deployment as it is.
    pub injection: Option<Injection>,
    /// What starts the processes of its services.
    pub launching: Launching,
}

impl Launching {
    /// The variants of every deployment that these make: none where it is the default alone.
    #[must_use]
    pub fn variants(all: &[Self]) -> Vec<Variant> {
        if all.iter().all(|one| *one == Self::Ros2) {
            return Vec::new();
        }
        let named = all.iter().filter_map(|one| {
            Some(Variant {
                name: Name::new(one.name()).ok()?,
                injection: None,
                launching: *one,
            })
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_alone_is_no_variant() {
        assert!(Launching::variants(&[]).is_empty());
        assert!(Launching::variants(&[Launching::Ros2]).is_empty());
        let both = Launching::variants(&[Launching::Native, Launching::Ros2]);
        let names: Vec<&str> = both.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["native", "ros2"]);
        for variant in &both {
            assert_eq!(
                Launching::of_name(variant.name.as_str()),
                Some(variant.launching)
            );
        }
        assert_eq!(Launching::of_name("make"), None);
    }
}
