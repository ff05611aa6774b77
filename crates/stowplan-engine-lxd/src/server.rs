//! Which server, and what is different about it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stowplan_engine_daemon::is_installed;

/// A server that speaks LXD's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// `lxd`.
    Lxd,
    /// `incusd`.
    Incus,
}

impl Server {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lxd, Self::Incus];

    /// Name of the engine, as in a place, and of the server in its own answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lxd => "lxd",
            Self::Incus => "incus",
        }
    }

    /// Its socket: what its own client would use on this machine. `variable` reads the environment, `exists` the
    /// machine.
    pub(crate) fn socket(
        self,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) -> PathBuf {
        let (socket, folder, places) = match self {
            Self::Lxd => (
                "LXD_SOCKET",
                "LXD_DIR",
                ["/var/lib/lxd", "/var/snap/lxd/common/lxd"],
            ),
            Self::Incus => (
                "INCUS_SOCKET",
                "INCUS_DIR",
                ["/var/lib/incus", "/run/incus"],
            ),
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(path) = set(socket) {
            return PathBuf::from(path);
        }
        let below = |folder: &Path| folder.join("unix.socket");
        if let Some(folder) = set(folder) {
            return below(Path::new(&folder));
        }
        let [first, second] = places.map(|folder| below(Path::new(folder)));
        if !exists(&first) && exists(&second) {
            second
        } else {
            first
        }
    }

    /// What to do when it does not answer.
    pub(crate) fn hint(self) -> String {
        let (program, install, start) = match self {
            Self::Lxd => (
                "lxd",
                "apt-get install lxd lxd-client",
                "systemctl start lxd', or 'lxd --group root' where systemd does not run",
            ),
            Self::Incus => (
                "incusd",
                "apt-get install incus",
                "systemctl start incus', or 'incusd --group root' where systemd does not run",
            ),
        };
        if is_installed(program) {
            format!("start it with '{start}; it answers to root and to the members of its group")
        } else {
            format!("install it with '{install}', then start it with '{start}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_the_one_that_the_servers_own_client_uses() {
        let socket = |server: Server, set: Option<(&str, &str)>, there: &str| {
            server.socket(
                |name| {
                    set.filter(|(key, _)| *key == name)
                        .map(|(_, value)| value.into())
                },
                |path| path.starts_with(there),
            )
        };
        let lxd = "/var/lib/lxd/unix.socket";
        assert_eq!(socket(Server::Lxd, None, "/nowhere"), Path::new(lxd));
        assert_eq!(socket(Server::Lxd, None, "/"), Path::new(lxd));
        assert_eq!(
            socket(Server::Lxd, None, "/var/snap"),
            Path::new("/var/snap/lxd/common/lxd/unix.socket")
        );
        assert_eq!(
            socket(Server::Lxd, Some(("LXD_DIR", "/x")), "/"),
            Path::new("/x/unix.socket")
        );
        assert_eq!(
            socket(Server::Incus, Some(("INCUS_SOCKET", "/x/s")), "/"),
            Path::new("/x/s")
        );
        assert_eq!(
            socket(Server::Incus, None, "/run"),
            Path::new("/run/incus/unix.socket")
        );
    }
}
