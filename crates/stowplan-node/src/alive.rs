//! Health checks: the first process of a service answers them, and `alive` asks.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use stowplan_wire::service::ANSWERED_WITHIN_MS;

use crate::error::NodeError;

/// Longest wait for an answer: as long as a watchdog of ours waits.
const PATIENCE: Duration = Duration::from_millis(ANSWERED_WITHIN_MS);

/// Where checks are answered.
#[derive(Debug)]
pub struct Answering(UnixListener);

impl Answering {
    /// Listens at `path`, at which a process before this one may have listened.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn at(path: &Path) -> Result<Self, NodeError> {
        let failed = |source| NodeError::System {
            what: "listen for health checks",
            source,
        };
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self(listener))
    }

    /// Readable when somebody asks.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Answers all that ask, with a byte.
    pub fn answer(&self) {
        while let Ok((mut asking, _)) = self.0.accept() {
            // Who does not wait for the answer does not need it.
            let _ = asking.write_all(&[1]);
        }
    }
}

/// Asks at `path` whether the service does its work.
///
/// # Errors
/// When nobody answers in time.
pub fn ask(path: &Path) -> Result<(), NodeError> {
    let answer = || {
        let mut asked = UnixStream::connect(path)?;
        asked.set_read_timeout(Some(PATIENCE))?;
        asked.read_exact(&mut [0])
    };
    answer().map_err(|source| NodeError::Silent {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_alive_and_who_does_not_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alive.sock");
        let absent = ask(&path).unwrap_err().to_string();
        assert!(absent.contains("alive.sock"), "{absent}");
        let answering = Answering::at(&path).unwrap();
        // It is asked and does not look.
        ask(&path).unwrap_err();
        let asked = std::thread::spawn({
            let path = path.clone();
            move || ask(&path)
        });
        while !asked.is_finished() {
            answering.answer();
        }
        asked.join().unwrap().unwrap();
        // After a start of the same service again.
        Answering::at(&path).unwrap();
    }
}
