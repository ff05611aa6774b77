//! Which daemon, and what is different about it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::is_installed;

/// A daemon that speaks Docker's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    /// `dockerd`.
    Docker,
    /// `podman system service`.
    Podman,
}

impl Daemon {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// Name of the engine, as in a place.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Its socket: what its own client would use on this machine. `variable` reads the environment; `exists` the machine, for
    /// another user than root.
    pub(crate) fn socket(
        self,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: Option<fn(&Path) -> bool>,
    ) -> Result<PathBuf, EngineError> {
        let (name, places) = match self {
            Self::Docker => ("DOCKER_HOST", ["/var/run/docker.sock", "docker.sock"]),
            Self::Podman => (
                "CONTAINER_HOST",
                ["/run/podman/podman.sock", "podman/podman.sock"],
            ),
        };
        if let Some(host) = variable(name).filter(|host| !host.is_empty()) {
            let host = host.to_string_lossy();
            return host.strip_prefix("unix://").map(PathBuf::from).ok_or_else(|| {
                EngineError::new(format!("${name} is '{host}', not a unix socket")).hint(format!(
                    "services have to run on this machine: unset {name}, or set it to unix:///PATH"
                ))
            });
        }
        let [of_root, of_user] = places;
        let of_user = variable("XDG_RUNTIME_DIR").map(|folder| Path::new(&folder).join(of_user));
        // Root has the daemon of the machine. Others have one of their own where it runs.
        Ok(match of_user {
            Some(path) if exists.is_some_and(|exists| exists(&path)) => path,
            _ => PathBuf::from(of_root),
        })
    }

    /// Whether it ends an answer of events while it runs. Podman cuts the file of its events at 1 MB and goes on with a new one; of 4.3,
    /// who listens from an instant on reads the old one to its end (`getTail` in libpod/events/logfile.go).
    pub(crate) const fn ends_its_answer(self) -> bool {
        matches!(self, Self::Podman)
    }

    /// What to do when it does not answer.
    pub(crate) fn hint(self) -> String {
        let (program, install, start) = match self {
            Self::Docker => (
                "dockerd",
                "apt-get install docker.io",
                "systemctl start docker', or 'dockerd' where systemd does not run",
            ),
            Self::Podman if geteuid().is_root() => (
                "podman",
                "apt-get install podman runc",
                "systemctl start podman.socket', or 'podman system service --time=0' where systemd does not run",
            ),
            Self::Podman => (
                "podman",
                "apt-get install podman runc uidmap",
                "systemctl --user start podman.socket', or 'podman system service --time=0' where systemd does not run",
            ),
        };
        if is_installed(program) {
            format!("start it with '{start}")
        } else {
            format!("install it with '{install}', then start it with '{start}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_the_one_that_the_daemons_own_client_uses() {
        let none = |_: &str| None;
        let of = |daemon: Daemon| daemon.socket(none, None).unwrap();
        assert_eq!(of(Daemon::Docker), Path::new("/var/run/docker.sock"));
        assert_eq!(of(Daemon::Podman), Path::new("/run/podman/podman.sock"));
        let set = |name: &str| (name == "DOCKER_HOST").then(|| OsString::from("unix:///x/d.sock"));
        let found = Daemon::Docker.socket(set, None);
        assert_eq!(found.unwrap(), Path::new("/x/d.sock"));
        let far = |name: &str| (name == "CONTAINER_HOST").then(|| OsString::from("ssh://far"));
        let error = Daemon::Podman.socket(far, None).unwrap_err();
        assert!(error.to_string().contains("'ssh://far'"), "{error}");
        assert!(error.hint.unwrap().contains("CONTAINER_HOST"));
    }

    #[test]
    fn another_user_than_root_has_a_daemon_of_their_own_where_it_runs() {
        let own = |name: &str| (name == "XDG_RUNTIME_DIR").then(|| OsString::from("/run/user/7"));
        let of = |exists| Daemon::Podman.socket(own, exists).unwrap();
        let of_root = Path::new("/run/podman/podman.sock");
        assert_eq!(of(None), of_root);
        assert_eq!(of(Some(|_| false)), of_root);
        let theirs = Path::new("/run/user/7/podman/podman.sock");
        assert_eq!(of(Some(|_| true)), theirs);
    }
}
