//! Where a runtime listens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;

/// Variable that `crictl` reads too.
const VARIABLE: &str = "CONTAINER_RUNTIME_ENDPOINT";

/// Where `crictl` looks as well: containerd, the containerd of k3s, CRI-O.
const PLACES: [&str; 3] = [
    "/run/containerd/containerd.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/crio/crio.sock",
];

/// The socket of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(PathBuf);

impl Endpoint {
    /// This socket.
    #[must_use]
    pub fn at(socket: &Path) -> Self {
        Self(socket.to_owned())
    }

    /// The one that `crictl` would use on this machine.
    ///
    /// # Errors
    /// When `$CONTAINER_RUNTIME_ENDPOINT` names no unix socket.
    pub fn of_this_machine() -> Result<Self, EngineError> {
        Self::find(|name| std::env::var_os(name), Path::exists)
    }

    fn find(
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, EngineError> {
        if let Some(set) = variable(VARIABLE).filter(|set| !set.is_empty()) {
            let set = set.to_string_lossy();
            let path = set.strip_prefix("unix://").unwrap_or(&set);
            if !path.starts_with('/') {
                return Err(
                    EngineError::new(format!("${VARIABLE} is '{set}', not a unix socket")).hint(
                        format!("services have to run on this machine: unset {VARIABLE}, or set it to unix:///PATH"),
                    ),
                );
            }
            return Ok(Self(path.into()));
        }
        let mut places = PLACES.iter().map(Path::new);
        let found = places.find(|place| exists(place));
        Ok(Self::at(found.unwrap_or_else(|| Path::new(PLACES[0]))))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_the_one_that_crictl_uses() {
        let none = |_: &str| None;
        let of = |places: &'static [&str]| {
            Endpoint::find(none, move |path| {
                places.iter().any(|p| Path::new(p) == path)
            })
        };
        assert_eq!(of(&[]).unwrap(), of(&PLACES).unwrap());
        assert_eq!(of(&PLACES[1..]).unwrap().path(), Path::new(PLACES[1]));
        let set = |text: &'static str| {
            Endpoint::find(move |_| Some(OsString::from(text)), |_| true).map(|found| found.0)
        };
        assert_eq!(set("unix:///x/c.sock").unwrap(), Path::new("/x/c.sock"));
        assert_eq!(set("/x/c.sock").unwrap(), Path::new("/x/c.sock"));
        let error = set("tcp://far:1").unwrap_err();
        assert!(error.to_string().contains("'tcp://far:1'"), "{error}");
    }
}
