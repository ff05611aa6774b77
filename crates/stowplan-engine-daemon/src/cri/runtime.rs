//! The runtimes that speak the CRI.

use std::path::Path;

use crate::is_installed;

/// A runtime that speaks the CRI. They differ where the CRI ends: in how they get an image that nobody has to pull, in what watches
/// over a container, and in what they tell of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Runtime {
    /// containerd.
    #[default]
    Containerd,
    /// CRI-O.
    CriO,
}

impl Runtime {
    /// The one that says this name of itself (CRI v1, `VersionResponse.runtime_name`).
    pub fn of(told: &str) -> Option<Self> {
        match told {
            "containerd" => Some(Self::Containerd),
            "cri-o" => Some(Self::CriO),
            _ => None,
        }
    }

    /// The one that would listen on this socket.
    pub fn on(socket: &Path) -> Self {
        let name = socket.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with("crio") {
            Self::CriO
        } else {
            Self::Containerd
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::CriO => "CRI-O",
        }
    }

    /// What watches over each of its containers, by the beginning of its name.
    pub const fn monitor(self) -> &'static str {
        match self {
            Self::Containerd => "containerd-shim",
            Self::CriO => "conmon",
        }
    }

    /// What to do when it does not answer.
    pub fn hint(self) -> String {
        let (program, install) = match self {
            Self::Containerd => (
                "containerd",
                "install it with 'apt-get install containerd runc'",
            ),
            Self::CriO => (
                "crio",
                "add the package source that github.com/cri-o/packaging tells and install it with 'apt-get install cri-o'",
            ),
        };
        let start = format!(
            "start it with 'systemctl start {program}', or '{program}' where systemd does not run"
        );
        if is_installed(program) {
            start
        } else {
            format!("{install}, then {start}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_who_it_says_it_is() {
        assert_eq!(Runtime::of("containerd"), Some(Runtime::Containerd));
        assert_eq!(Runtime::of("cri-o"), Some(Runtime::CriO));
        assert_eq!(Runtime::of("docker"), None);
        let on = |socket: &str| Runtime::on(Path::new(socket));
        assert_eq!(on("/run/crio/crio.sock"), Runtime::CriO);
        assert_eq!(
            on("/run/k3s/containerd/containerd.sock"),
            Runtime::Containerd
        );
    }
}
