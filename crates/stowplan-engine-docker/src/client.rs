//! The connection to a daemon.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bollard::errors::Error;
use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::InspectContainerOptions;
use bollard::{API_DEFAULT_VERSION, Docker};
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{Serving, peer, peer_user};
use stowplan_host::ledger::DaemonVariables;

use crate::Daemon;

/// Longest wait for the answer to a request, in seconds, beyond what the request itself asks to wait.
pub(crate) const PATIENCE_S: u64 = 120;

/// Longest time that a daemon takes to clean up after a program.
const CLEAN_UP: Duration = Duration::from_secs(30);

/// A connection.
pub(crate) struct Client {
    serving: Serving,
    api: Docker,
    daemon: Daemon,
    socket: PathBuf,
}

impl Client {
    /// Connects to the daemon that its own client would use.
    pub(crate) fn connect(daemon: Daemon) -> Result<Self, EngineError> {
        Self::connect_at(daemon, &DaemonVariables::of_this_process())
    }

    /// Connects to the daemon that these variables tell of, and agrees on a version of the API.
    pub(crate) fn connect_at(daemon: Daemon, at: &DaemonVariables) -> Result<Self, EngineError> {
        let others = !rustix::process::geteuid().is_root();
        let exists = others.then_some(Path::exists as fn(&Path) -> bool);
        let socket = daemon.socket(|name| at.get(name), exists)?;
        let serving = Serving::new()?;
        let failed = |error: Error| {
            EngineError::new(format!(
                "{} does not answer on {}",
                daemon.name(),
                socket.display()
            ))
            .because(error)
            .hint(daemon.hint())
        };
        let path = socket.display().to_string();
        let api =
            Docker::connect_with_unix(&path, PATIENCE_S, API_DEFAULT_VERSION).map_err(failed)?;
        let api = serving.wait(api.negotiate_version()).map_err(failed)?;
        Ok(Self {
            serving,
            api,
            daemon,
            socket,
        })
    }

    pub(crate) const fn daemon(&self) -> Daemon {
        self.daemon
    }

    /// The API. Its futures are driven by [`Client::wait`].
    pub(crate) const fn api(&self) -> &Docker {
        &self.api
    }

    /// The API with another limit on the time of a request.
    pub(crate) fn patient(&self, limit: Duration) -> Docker {
        self.api.clone().with_timeout(limit)
    }

    pub(crate) const fn serving(&self) -> &Serving {
        &self.serving
    }

    /// Drives a future to its end.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.serving.wait(future)
    }

    /// What the daemon says of a container.
    ///
    /// Podman has a word (`stopped`) for the time between the end of a program and its clean-up that is none of the
    /// API's; a moment later that is over.
    pub(crate) async fn inspect(&self, name: &str) -> Result<ContainerInspectResponse, Error> {
        let deadline = Instant::now() + CLEAN_UP;
        loop {
            let found = self
                .api
                .inspect_container(name, None::<InspectContainerOptions>);
            match found.await {
                Err(Error::JsonDataError { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                other => return other,
            }
        }
    }

    /// The process that serves the socket, where the kernel tells.
    pub(crate) fn daemon_pid(&self) -> Option<u32> {
        peer(&self.socket)
    }

    /// The user whose daemon it is, where that is not root.
    pub(crate) fn rootless_user(&self) -> Option<u32> {
        peer_user(&self.socket).filter(|user| *user != 0)
    }

    /// The error of a request.
    pub(crate) fn error(&self, what: impl std::fmt::Display, error: Error) -> EngineError {
        match error {
            Error::DockerResponseServerError { message, .. } => {
                EngineError::new(format!("{} cannot {what}: {message}", self.daemon.name()))
            }
            other => EngineError::new(format!("{} does not {what}", self.daemon.name()))
                .because(other)
                .hint(format!(
                    "if it no longer runs, {}; 'stowplan clean' removes what is left",
                    self.daemon.hint()
                )),
        }
    }
}

/// The status of an answer that says no.
pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// Whether the daemon says that there is none of this name.
pub(crate) fn is_absent(error: &Error) -> bool {
    status(error) == Some(404)
}
