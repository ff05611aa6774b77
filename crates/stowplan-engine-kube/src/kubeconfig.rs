//! Which cluster is asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;
use stowplan_engine::EngineError;
use stowplan_host::ledger::DaemonVariables;

/// Stowplan's own variable, where its cluster is another one than that of kubectl.
const OWN: &str = "STOWPLAN_KUBECONFIG";
/// That of kubectl.
const KUBECTL: &str = "KUBECONFIG";
/// Where k3s writes its own.
const OF_K3S: &str = "/etc/rancher/k3s/k3s.yaml";

/// What to do where there is none.
pub(crate) const HINT: &str = "start a Kubernetes with this machine as its node, such as k3s, and set STOWPLAN_KUBECONFIG to its file; \
                               docs/how-to/engines/kube.md has the steps";

/// Files that say where a cluster is and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    files: Vec<PathBuf>,
}

impl Source {
    /// That of this process.
    pub(crate) fn of_this_process() -> Result<Self, EngineError> {
        Self::find(|name| std::env::var_os(name), Path::exists)
    }

    /// That which these variables told.
    pub(crate) fn told_by(at: &DaemonVariables) -> Result<Self, EngineError> {
        Self::find(|name| at.get(name), Path::exists)
    }

    fn find(
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, EngineError> {
        let set = |name: &str| variable(name).filter(|set| !set.is_empty());
        for name in [OWN, KUBECTL] {
            let Some(set) = set(name) else { continue };
            let files: Vec<PathBuf> = std::env::split_paths(&set)
                .filter(|path| !path.as_os_str().is_empty())
                .collect();
            if !files.iter().any(|path| exists(path)) {
                return Err(EngineError::new(format!(
                    "${name} is '{}', which is no file",
                    set.to_string_lossy()
                ))
                .hint(HINT));
            }
            return Ok(Self { files });
        }
        let home = set("HOME").map(|home| Path::new(&home).join(".kube/config"));
        let places = home.into_iter().chain([PathBuf::from(OF_K3S)]);
        let found = places.into_iter().find(|place| exists(place));
        let files = found.into_iter().collect::<Vec<_>>();
        if files.is_empty() {
            return Err(EngineError::new(format!(
                "there is no kubeconfig: neither ${OWN}, ${KUBECTL}, ~/.kube/config nor {OF_K3S}"
            ))
            .hint(HINT));
        }
        Ok(Self { files })
    }

    /// Their names, for an error.
    pub(crate) fn told(&self) -> String {
        let names = self.files.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(":")
    }

    /// What they say together.
    pub(crate) fn read(&self) -> Result<Kubeconfig, EngineError> {
        let failed = || EngineError::new(format!("cannot read the kubeconfig {}", self.told()));
        let mut all = Kubeconfig::default();
        for path in self.files.iter().filter(|path| path.exists()) {
            let one = Kubeconfig::read_from(path).map_err(|e| failed().because(e))?;
            all = all.merge(one).map_err(|e| failed().because(e))?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(set: &[(&str, &str)], there: &[&str]) -> Result<Source, EngineError> {
        let variable = |name: &str| {
            let mut found = set.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| OsString::from(value))
        };
        Source::find(variable, |path| there.iter().any(|p| Path::new(p) == path))
    }

    #[test]
    fn the_file_is_the_one_that_is_named_first() {
        let all = [(OWN, "/own"), (KUBECTL, "/a:/b"), ("HOME", "/home/x")];
        let there = ["/own", "/b", "/home/x/.kube/config", OF_K3S];
        let told = |set: &[(&str, &str)], there: &[&str]| find(set, there).unwrap().told();
        assert_eq!(told(&all, &there), "/own");
        assert_eq!(told(&all[1..], &there), "/a:/b");
        assert_eq!(told(&all[2..], &there), "/home/x/.kube/config");
        assert_eq!(told(&all[2..], &[OF_K3S]), OF_K3S);
        let error = find(&all, &[OF_K3S]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "$STOWPLAN_KUBECONFIG is '/own', which is no file"
        );
        assert!(find(&[], &[]).unwrap_err().hint.is_some());
    }

    #[test]
    fn a_broken_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "clusters: 7").unwrap();
        let name = path.display().to_string();
        let source = find(&[(OWN, &name)], &[&name]).unwrap();
        let error = source.read().unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
    }
}
