//! Who is behind a socket and beside a container.

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::UCred;
use rustix::net::sockopt::socket_peercred;
use stowplan_host::process;

/// The process that listens on a socket, where the kernel tells (unix(7), `SO_PEERCRED`).
#[must_use]
pub fn peer(socket: &Path) -> Option<u32> {
    Some(
        credentials(socket)?
            .pid
            .as_raw_nonzero()
            .get()
            .unsigned_abs(),
    )
}

/// The user who listens on a socket, where the kernel tells.
#[must_use]
pub fn peer_user(socket: &Path) -> Option<u32> {
    Some(credentials(socket)?.uid.as_raw())
}

fn credentials(socket: &Path) -> Option<UCred> {
    let stream = UnixStream::connect(socket).ok()?;
    socket_peercred(&stream).ok()
}

/// What watches over the containers with these first processes: their parents.
#[must_use]
pub fn watchers<'a>(first: impl IntoIterator<Item = &'a u32>) -> BTreeSet<u32> {
    first
        .into_iter()
        .filter_map(|pid| process::parent_of(*pid))
        .filter(|pid| *pid > 1)
        .collect()
}

/// Whether a program is in a folder where packages put it.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin")])
            .any(|folder| folder.join(program).is_file())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn who_listens_is_known_by_process_and_user() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(peer(&socket), Some(std::process::id()));
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(peer_user(&socket), Some(own));
        drop(listener);
        assert_eq!(peer_user(&socket), None);
    }
}
