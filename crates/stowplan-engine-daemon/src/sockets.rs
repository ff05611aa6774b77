//! Who is behind a socket and beside a container.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::UCred;
use rustix::net::sockopt::socket_peercred;
use stowplan_host::process;

/// The process that serves a socket, where the kernel tells: the one that listens on it (unix(7), `SO_PEERCRED`), and where that
/// is systemd, which hands its sockets on (systemd.socket(5)), the one to which it has.
#[must_use]
pub fn peer(socket: &Path) -> Option<u32> {
    let listens = credentials(socket)?.pid.as_raw_nonzero().get();
    let listens = listens.unsigned_abs();
    if is_systemd(listens) {
        let inode = listening(socket)?;
        process::all().find(|pid| !is_systemd(*pid) && has_open(*pid, &inode))
    } else {
        Some(listens)
    }
}

/// Of the machine or of a user.
fn is_systemd(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "systemd")
}

/// Inode of the socket that listens on this path, as the links of open files name it.
fn listening(socket: &Path) -> Option<String> {
    /// The kernel gives the table a page at a time and counts its way back to where it was: when a socket before that ends
    /// meanwhile, it passes over one that is still there. What is listed is there; what is not is looked for again.
    const READINGS: usize = 4;
    // It may have been bound by another name: /var/run is a link to /run.
    let wanted = socket.canonicalize().ok()?;
    (0..READINGS).find_map(|_| listed(&wanted))
}

/// The same in one reading of the table (proc_net(5), `/proc/net/unix`).
fn listed(wanted: &Path) -> Option<String> {
    /// `__SO_ACCEPTCON`: of the sockets that accepted connections on it have the path, too.
    const LISTENS: &str = "00010000";
    let table = fs::read_to_string("/proc/net/unix").ok()?;
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, LISTENS, _, _, inode, path] = columns[..] else {
            return None;
        };
        let is_wanted = Path::new(path).canonicalize().is_ok_and(|p| p == wanted);
        is_wanted.then(|| format!("socket:[{inode}]"))
    })
}

fn has_open(pid: u32, link: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == Path::new(link)))
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
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn who_listens_is_known_by_process_and_user() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(peer(&socket), Some(std::process::id()));
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(peer_user(&socket), Some(own));
        let (_bound, silent) = nobody_listens(folder.path());
        assert_eq!(peer_user(&silent), None);
    }

    #[test]
    fn who_has_a_listening_socket_open_is_found_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, other) = (folder.path().join("s"), folder.path().join("link"));
        let listener = UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink(folder.path(), &other).unwrap();
        let link = listening(&other.join("s")).unwrap();
        assert_eq!(listening(&socket).as_ref(), Some(&link));
        assert!(has_open(std::process::id(), &link));
        let (_bound, silent) = nobody_listens(folder.path());
        assert_eq!(listening(&silent), None);
        assert!(!has_open(std::process::id(), "socket:[0]"));
        drop(listener);
        assert!(!has_open(std::process::id(), &link));
    }

    /// A listener that was dropped would not do: a child that another test starts meanwhile has it until its `execve`.
    fn nobody_listens(folder: &Path) -> (UnixDatagram, PathBuf) {
        let socket = folder.join("datagram");
        (UnixDatagram::bind(&socket).unwrap(), socket)
    }
}
