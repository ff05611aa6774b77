//! Where a runtime listens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_host::ledger::DaemonVariables;

/// Variable that `crictl` reads too.
const VARIABLE: &str = "CONTAINER_RUNTIME_ENDPOINT";

/// Where `crictl` looks as well: containerd, the containerd of k3s, CRI-O.
const PLACES: [&str; 3] = [
    "/run/containerd/containerd.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/crio/crio.sock",
];

/// The socket of a runtime, and where to look next if it serves no pods: Docker's packages switch that off in the containerd
/// that they bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    first: PathBuf,
    others: Vec<PathBuf>,
}

impl Endpoint {
    /// This socket.
    #[must_use]
    pub fn at(socket: &Path) -> Self {
        Self {
            first: socket.to_owned(),
            others: Vec::new(),
        }
    }

    /// The one that `crictl` would use on this machine.
    ///
    /// # Errors
    /// When `$CONTAINER_RUNTIME_ENDPOINT` names no unix socket.
    pub fn of_this_machine() -> Result<Self, EngineError> {
        Self::told_by(&DaemonVariables::of_this_process())
    }

    /// The one that `crictl` would use where these variables are set.
    ///
    /// # Errors
    /// When `$CONTAINER_RUNTIME_ENDPOINT` names no unix socket.
    pub fn told_by(at: &DaemonVariables) -> Result<Self, EngineError> {
        Self::find(|name| at.get(name), Path::exists)
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
            return Ok(Self::at(Path::new(path)));
        }
        let places = PLACES.iter().map(PathBuf::from);
        let mut found = places.filter(|place| exists(place));
        Ok(Self {
            first: found.next().unwrap_or_else(|| PLACES[0].into()),
            others: found.collect(),
        })
    }

    /// Where to look first.
    pub fn first(&self) -> &Path {
        &self.first
    }

    /// Where to look after that.
    pub fn others(&self) -> &[PathBuf] {
        &self.others
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
        let [containerd, k3s, crio] = PLACES.map(Path::new);
        assert_eq!(of(&[]).unwrap(), Endpoint::at(containerd));
        let both = of(&PLACES[1..]).unwrap();
        assert_eq!((both.first(), both.others()), (k3s, &[crio.to_owned()][..]));
        let all = of(&PLACES).unwrap();
        assert_eq!((all.first(), all.others().len()), (containerd, 2));
        let set =
            |text: &'static str| Endpoint::find(move |_| Some(OsString::from(text)), |_| true);
        let one = Endpoint::at(Path::new("/x/c.sock"));
        assert_eq!(set("unix:///x/c.sock").unwrap(), one);
        assert_eq!(set("/x/c.sock").unwrap(), one);
        let error = set("tcp://far:1").unwrap_err();
        assert!(error.to_string().contains("'tcp://far:1'"), "{error}");
    }
}
