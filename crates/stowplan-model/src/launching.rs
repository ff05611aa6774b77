//! What starts the processes of a service.

use crate::{Name, Variant};

/// What starts the processes of a service (docs/measuring.md §1, "Launch").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launching {
    /// `ros2 launch` as the stack's `launch:` models it: an interpreter that evaluates everything, does work for each entity,
    /// has a DDS participant that stays, and loads components once it has discovered their container.
    #[default]
    Ros2,
    /// A plain supervisor, as an init system or a vehicle's execution manager: no interpreter, no work, no participant. Order
    /// and dependencies are the same.
    Native,
}

impl Launching {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Ros2, Self::Native];

    /// Its name in files and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ros2 => "ros2",
            Self::Native => "native",
        }
    }

    /// That of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

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
