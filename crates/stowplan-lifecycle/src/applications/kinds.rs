//! Which applications there are, and what is measured of each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::figures::Figure;

/// An application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Application {
    /// Like a driver assistance function: an image thirty times a second.
    Adas,
    /// Like a real-time function: a thousand steps a second.
    Control,
    /// Like a function of the infotainment: a server with four threads.
    Server,
}

impl Application {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Adas, Self::Control, Self::Server];

    /// Name on the command line and in results, and of its program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adas => "adas",
            Self::Control => "control",
            Self::Server => "server",
        }
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no application '{0}'; applications are {all}", all = Application::ALL.map(Application::name).join(", "))]
pub struct NoSuchApplication(pub String);

impl FromStr for Application {
    type Err = NoSuchApplication;

    fn from_str(text: &str) -> Result<Self, NoSuchApplication> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|application| application.name() == text);
        found.ok_or_else(|| NoSuchApplication(text.to_owned()))
    }
}

/// What is measured of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Everything is compiled, from sources that nobody has compiled, and an image is made of the program.
    Build,
    /// One line was changed: what it is in is compiled, and an image is made.
    UpdateCached,
    /// One line was changed: everything is compiled, and an image is made.
    Update,
    /// `create` alone.
    Create,
    /// From `start` of what was created until it says that it is ready.
    StartCreated,
    /// From `create` until it says that it is ready.
    Start,
    /// From `resume` of what is paused until it says that it is ready again.
    Resume,
    /// From `stop` until it has ended.
    Stop,
    /// From `stop` of what runs until it says that it is ready again.
    Restart,
}

impl Step {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 9] = [
        Self::Build,
        Self::UpdateCached,
        Self::Update,
        Self::Create,
        Self::StartCreated,
        Self::Start,
        Self::Resume,
        Self::Stop,
        Self::Restart,
    ];

    /// Name of the metric.
    #[must_use]
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Build => "application_build",
            Self::UpdateCached => "application_update_cached",
            Self::Update => "application_update",
            Self::Create => "application_create",
            Self::StartCreated => "application_start_created",
            Self::Start => "application_start",
            Self::Resume => "application_resume",
            Self::Stop => "application_stop",
            Self::Restart => "application_restart",
        }
    }

    /// The figure of it.
    pub(super) fn of(self, application: Application, value: Result<u64, String>) -> Figure {
        Figure {
            metric: self.metric(),
            subject: Some(application.to_string()),
            value,
        }
    }

    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::UpdateCached => "update, cached",
            Self::Update => "update, no cache",
            Self::Create => "create",
            Self::StartCreated => "start (created) → ready",
            Self::Start => "create and start → ready",
            Self::Resume => "paused → ready",
            Self::Stop => "stop",
            Self::Restart => "restart → ready",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_known_by_its_name() {
        for application in Application::ALL {
            assert_eq!(application.to_string().parse(), Ok(application));
        }
        let error = "radio".parse::<Application>().unwrap_err();
        let told = "there is no application 'radio'; applications are adas, control, server";
        assert_eq!(error.to_string(), told);
    }
}
