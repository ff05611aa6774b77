//! What starts the processes of a service.

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
}
