//! Profiles of the DDS configuration.

use std::fmt;
use std::str::FromStr;

/// Where the configuration of CycloneDDS is from. What a profile does not set is CycloneDDS's own default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DdsProfile {
    /// Participants find each other by multicast, all else goes to each reader, and heartbeats and announcements are as rare
    /// as hundreds of participants on few cores need.
    #[default]
    Stowplan,
    /// The file that Autoware's documentation gives ("DDS settings").
    Autoware,
    /// What `rmw_cyclonedds_cpp` of ROS 2 Humble gives CycloneDDS: nothing.
    RmwHumble,
    /// What `rmw_cyclonedds_cpp` of ROS 2 Jazzy gives it with the discovery range `SUBNET`, the default: participants take
    /// one of 33 indices.
    RmwJazzy,
}

impl DdsProfile {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Stowplan,
        Self::Autoware,
        Self::RmwHumble,
        Self::RmwJazzy,
    ];

    /// As in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stowplan => "stowplan",
            Self::Autoware => "autoware",
            Self::RmwHumble => "rmw-humble",
            Self::RmwJazzy => "rmw-jazzy",
        }
    }

    /// How many participants find each other on one machine; `None` where there is no such limit.
    #[must_use]
    pub const fn most_participants(self) -> Option<usize> {
        match self {
            Self::RmwJazzy => Some(33),
            Self::Stowplan | Self::Autoware | Self::RmwHumble => None,
        }
    }
}

impl fmt::Display for DdsProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no profile of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no DDS profile '{}': there are {}", .0, DdsProfile::ALL.map(DdsProfile::name).join(", "))]
pub struct NoSuchProfile(String);

impl FromStr for DdsProfile {
    type Err = NoSuchProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| NoSuchProfile(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_found_by_its_name() {
        for profile in DdsProfile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        let error = "rmw".parse::<DdsProfile>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no DDS profile 'rmw': there are stowplan, autoware, rmw-humble, rmw-jazzy"
        );
    }
}
