//! How a runtime is set up, as it tells itself: the answer to `Status` has containerd's configuration as JSON, and of CRI-O's the
//! name of one image.

use std::collections::BTreeMap;

use serde::Deserialize;
use stowplan_engine::EngineError;

use super::crio::{Config, Storage};

/// What is used of the configuration of containerd's CRI plugin. It has many more keys, which differ between versions.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    containerd: Containerd,
    /// Name of the image of sandboxes.
    pub sandbox_image: Option<String>,
    systemd_cgroup: bool,
    /// Where CRI-O keeps images; `None` for containerd.
    #[serde(skip)]
    pub storage: Option<Storage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Containerd {
    snapshotter: String,
    default_runtime_name: String,
    runtimes: BTreeMap<String, Runtime>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Runtime {
    runtime_type: String,
    options: Option<Options>,
    snapshotter: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Options {
    binary_name: String,
    systemd_cgroup: bool,
}

/// What is behind a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// Its name.
    pub name: String,
    /// Shim.
    pub kind: String,
    /// Program that the shim calls.
    pub program: String,
    /// Whether systemd makes the cgroups.
    pub systemd_cgroup: bool,
    /// Who makes root file systems.
    pub snapshotter: String,
}

impl Settings {
    pub fn parse(json: &str) -> Result<Self, EngineError> {
        serde_json::from_str(json)
            .map_err(|e| EngineError::new("cannot read the runtime's configuration").because(e))
    }

    /// With what CRI-O tells beside the CRI.
    pub fn with(mut self, config: &Config) -> Self {
        let storage = config.storage();
        let runtimes = config.handlers().map(|(name, program)| {
            let options = Options {
                binary_name: program,
                systemd_cgroup: config.has_systemd_cgroups(),
            };
            let runtime = Runtime {
                options: Some(options),
                ..Runtime::default()
            };
            (name, runtime)
        });
        self.containerd = Containerd {
            snapshotter: storage.driver().to_owned(),
            default_runtime_name: config.default_handler().to_owned(),
            runtimes: runtimes.collect(),
        };
        self.storage = Some(storage);
        self
    }

    fn add_handler(&self, name: &str) -> String {
        if self.storage.is_some() {
            return format!(
                "add one to CRI-O's configuration: [crio.runtime.runtimes.{name}] with runtime_path = \"/usr/bin/{name}\", \
                 and start it anew"
            );
        }
        format!(
            "add one to containerd's configuration: \
             [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.{name}] with \
             runtime_type = \"io.containerd.runc.v2\" and options = {{BinaryName = \"{name}\"}}, and start it anew"
        )
    }

    /// The handler of this name; the default one when `None`.
    pub fn handler(&self, name: Option<&str>) -> Result<Handler, EngineError> {
        let name = name.unwrap_or(&self.containerd.default_runtime_name);
        let Some(runtime) = self.containerd.runtimes.get(name) else {
            let known: Vec<&str> = self
                .containerd
                .runtimes
                .keys()
                .map(String::as_str)
                .collect();
            return Err(EngineError::new(format!(
                "the runtime has no handler '{name}', only {}",
                known.join(", ")
            ))
            .hint(self.add_handler(name)));
        };
        let options = runtime.options.as_ref();
        let program = options.map(|options| options.binary_name.as_str());
        Ok(Handler {
            name: name.to_owned(),
            kind: runtime.runtime_type.clone(),
            program: program_of(program.unwrap_or_default()),
            systemd_cgroup: self.systemd_cgroup || options.is_some_and(|o| o.systemd_cgroup),
            snapshotter: runtime
                .snapshotter
                .clone()
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| self.containerd.snapshotter.clone()),
        })
    }
}

/// The program of a `BinaryName`; the shim calls runc where it has none (containerd, `runtime/v2/runc`).
pub fn program_of(binary_name: &str) -> String {
    let name = binary_name.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { "runc" } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As containerd 1.6.20 tells, shortened.
    const TOLD: &str = r#"{"containerd":{"snapshotter":"overlayfs","defaultRuntimeName":"runc","runtimes":{
        "crun":{"runtimeType":"io.containerd.runc.v2","options":{"BinaryName":"/usr/bin/crun","SystemdCgroup":true}},
        "runc":{"runtimeType":"io.containerd.runc.v2","options":null,"privileged_without_host_devices":false}}},
        "sandboxImage":"registry.k8s.io/pause:3.6","systemdCgroup":false,"restrictOOMScoreAdj":true}"#;

    #[test]
    fn a_handler_is_what_the_configuration_says() {
        let settings = Settings::parse(TOLD).unwrap();
        assert_eq!(
            settings.sandbox_image.as_deref(),
            Some("registry.k8s.io/pause:3.6")
        );
        let default = settings.handler(None).unwrap();
        assert_eq!(
            (default.name.as_str(), default.program.as_str()),
            ("runc", "runc")
        );
        assert!(!default.systemd_cgroup);
        let crun = settings.handler(Some("crun")).unwrap();
        assert_eq!(
            (crun.program.as_str(), crun.snapshotter.as_str()),
            ("crun", "overlayfs")
        );
        assert!(crun.systemd_cgroup);
        let error = settings.handler(Some("kata")).unwrap_err();
        assert!(
            error.to_string().ends_with("'kata', only crun, runc"),
            "{error}"
        );
        assert!(error.hint.unwrap().contains("runtimes.kata"));
    }
}
