//! How a tool tells the container's first process.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::net::RecvFlags;
use stowplan_host::HostError;

/// Where a tool says it.
#[derive(Debug)]
pub(crate) enum Notices {
    /// In datagrams to a socket (`NOTIFY_SOCKET` of sd_notify(3)).
    Socket { socket: OwnedFd, path: PathBuf },
    /// In its own log.
    Log { changes: OwnedFd, path: PathBuf },
}

impl Notices {
    /// Listens at `path`; what is left there of an earlier start is removed.
    pub(crate) fn listen(path: &Path) -> Result<Self, HostError> {
        // There is none at the first start.
        let _ = std::fs::remove_file(path);
        let socket = UnixDatagram::bind(path).map_err(|e| {
            HostError::io("listen on", path, e)
                .hint("names of runs and services may be too long for a socket's path (107 bytes)")
        })?;
        Ok(Self::Socket {
            socket: socket.into(),
            path: path.to_owned(),
        })
    }

    /// Makes an empty log at `path` and watches it.
    pub(crate) fn watch(path: &Path) -> Result<Self, HostError> {
        let failed = |what: &'static str| move |e| HostError::io(what, path, e);
        File::create(path).map_err(failed("create"))?;
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).and_then(|fd| {
            inotify::add_watch(&fd, path, WatchFlags::MODIFY)?;
            Ok(fd)
        });
        let changes = changes.map_err(|e| failed("watch")(e.into()))?;
        Ok(Self::Log {
            changes,
            path: path.to_owned(),
        })
    }

    /// Readable when there is something new.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Socket { socket, .. } => socket.as_fd(),
            Self::Log { changes, .. } => changes.as_fd(),
        }
    }

    /// The socket, for the tool's environment.
    pub(crate) fn socket(&self) -> Option<&Path> {
        match self {
            Self::Socket { path, .. } => Some(path),
            Self::Log { .. } => None,
        }
    }

    /// What has been said: the new datagrams, or the whole log.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Socket { socket, .. } => datagrams(socket),
            Self::Log { changes, path } => {
                let mut events = [0; 4096];
                while matches!(rustix::io::read(changes, &mut events), Ok(length) if length > 0) {}
                let bytes = std::fs::read(path).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        }
    }
}

fn datagrams(socket: &OwnedFd) -> String {
    let mut said = String::new();
    let mut datagram = [0; 4096];
    loop {
        match rustix::net::recv(socket, &mut datagram[..], RecvFlags::DONTWAIT) {
            Ok((length, _)) => {
                said += &String::from_utf8_lossy(&datagram[..length.min(datagram.len())]);
                said.push('\n');
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return said,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn datagrams_are_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notice");
        let notices = Notices::listen(&path).unwrap();
        assert_eq!(
            (notices.said().as_str(), notices.socket()),
            ("", Some(&*path))
        );
        let other = UnixDatagram::unbound().unwrap();
        other.send_to(b"STATUS=Up\nPID=17", &path).unwrap();
        other.send_to(b"READY=1\n", &path).unwrap();
        assert_eq!(notices.said(), "STATUS=Up\nPID=17\nREADY=1\n\n");
        assert_eq!(notices.said(), "");
        // A second start listens at the same place.
        Notices::listen(&path).unwrap();
    }

    #[test]
    fn a_log_is_seen_to_grow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let notices = Notices::watch(&path).unwrap();
        let is_new = || crate::ask::wait_until(notices.fd(), std::time::Duration::ZERO);
        assert!(!is_new() && notices.socket().is_none());
        let mut log = File::options().append(true).open(&path).unwrap();
        log.write_all(b"one\n").unwrap();
        assert!(is_new());
        assert_eq!(notices.said(), "one\n");
        assert!(!is_new());
        log.write_all(b"two\n").unwrap();
        assert_eq!(notices.said(), "one\ntwo\n");
    }
}
