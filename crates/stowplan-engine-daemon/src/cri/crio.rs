//! What CRI-O has beside the CRI: its configuration on the same socket, and the store of images that skopeo writes into too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Serving, is_installed};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use hyperlocal::UnixConnector;
use serde::Deserialize;
use stowplan_engine::EngineError;
use stowplan_engine_tool::ask;
use stowplan_image::{Contents, Settings as OfImage, write_archive};

/// Longest time that loading an image may take.
const LOADING: Duration = Duration::from_secs(3600);

/// What is used of CRI-O's configuration (crio.conf(5)), with its defaults filled in, as it tells it itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    crio: Crio,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Crio {
    root: PathBuf,
    runroot: PathBuf,
    storage_driver: String,
    runtime: Runtimes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Runtimes {
    default_runtime: String,
    cgroup_manager: String,
    runtimes: BTreeMap<String, Handler>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Handler {
    runtime_path: String,
}

/// Where a CRI-O keeps images.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    root: PathBuf,
    run_root: PathBuf,
    driver: String,
}

impl Config {
    /// That of the CRI-O on a socket, which answers HTTP there as well (cri-o, `server/inspect.go`).
    pub fn of(socket: &Path, serving: &Serving) -> Result<Self, EngineError> {
        let failed = || EngineError::new("CRI-O does not tell its configuration");
        let text = serving
            .wait(get(socket, "/config"))
            .map_err(|e| failed().because(e))?;
        toml::from_str(&text).map_err(|e| failed().because(e))
    }

    /// Where it keeps images.
    pub fn storage(&self) -> Storage {
        let root = self.crio.root.clone();
        let driver = match self.crio.storage_driver.as_str() {
            "" => driver_of(&root).unwrap_or_default(),
            named => named.to_owned(),
        };
        Storage {
            root,
            run_root: self.crio.runroot.clone(),
            driver,
        }
    }

    pub fn default_handler(&self) -> &str {
        &self.crio.runtime.default_runtime
    }

    /// Names of handlers, and the program of each.
    pub fn handlers(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.crio.runtime.runtimes.iter();
        all.map(|(name, handler)| {
            let path = &handler.runtime_path;
            // Without a path it looks for a program of the handler's name (crio.conf(5), `runtime_path`).
            let program = if path.is_empty() { name } else { path };
            (name.clone(), program.clone())
        })
    }

    pub fn has_systemd_cgroups(&self) -> bool {
        self.crio.runtime.cgroup_manager == "systemd"
    }
}

async fn get(socket: &Path, path: &str) -> io::Result<String> {
    let http: legacy::Client<UnixConnector, Empty<Bytes>> =
        legacy::Client::builder(TokioExecutor::new()).build(UnixConnector);
    let answer = http.get(hyperlocal::Uri::new(socket, path).into()).await;
    let body = answer.map_err(io::Error::other)?.into_body();
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    String::from_utf8(bytes.to_vec()).map_err(io::Error::other)
}

/// The driver of a store that was made without naming one: each has a folder of its own for what it knows of images
/// (containers/storage, `store.go`).
fn driver_of(root: &Path) -> Option<String> {
    let entries = fs::read_dir(root).ok()?.flatten();
    let mut drivers = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix("-images").map(str::to_owned)
    });
    drivers.next()
}

impl Storage {
    /// Who makes root file systems.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Brings an image into the store. The CRI has no way to be given one; skopeo writes into the same store.
    pub fn load(
        &self,
        contents: &Contents,
        tag: &str,
        settings: &OfImage,
    ) -> Result<(), EngineError> {
        if !is_installed("skopeo") {
            return Err(EngineError::new(
                "CRI-O takes no image that it has not pulled, and there is no skopeo to write one into its store",
            )
            .hint("install it with 'apt-get install skopeo'"));
        }
        let failed = || EngineError::new(format!("cannot write the image {tag}"));
        // Without a name: nothing is left of it, however this ends.
        let file = tempfile::tempfile().map_err(|e| failed().because(e))?;
        let written = write(contents, tag, settings, &file);
        written.map_err(|e| failed().because(e))?;
        let from = format!(
            "docker-archive:/proc/{}/fd/{}",
            std::process::id(),
            file.as_raw_fd()
        );
        let to = self.reference(tag);
        let arguments = ["copy", "--quiet", "--insecure-policy", &from, &to];
        ask("skopeo", &arguments, LOADING).map(drop)
    }

    /// An image of the store (containers-transports(5), `containers-storage`).
    fn reference(&self, tag: &str) -> String {
        let (root, run_root) = (self.root.display(), self.run_root.display());
        format!(
            "containers-storage:[{}@{root}+{run_root}]{tag}",
            self.driver
        )
    }

    /// Folders with the files of an image; none where the driver is not `overlay`, whose layers they are (containers/storage,
    /// `images.go`, `layers.go`).
    pub fn folders(&self, tag: &str) -> Result<Vec<String>, EngineError> {
        if self.driver != "overlay" {
            return Ok(Vec::new());
        }
        let images: Vec<Image> = self.known("overlay-images/images.json")?;
        let layers: Vec<Layer> = self.known("overlay-layers/layers.json")?;
        let image = images
            .iter()
            .find(|image| image.names.iter().any(|name| name == tag));
        let mut next = image.map(|image| image.layer.clone());
        let mut folders = Vec::new();
        while let Some(layer) = next.and_then(|id| layers.iter().find(|layer| layer.id == id)) {
            let folder = self.root.join("overlay").join(&layer.id).join("diff");
            folders.push(folder.display().to_string());
            next = layer.parent.clone();
        }
        Ok(folders)
    }

    fn known<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<Vec<T>, EngineError> {
        let path = self.root.join(file);
        let failed = || EngineError::new(format!("cannot read {}", path.display()));
        let text = fs::read(&path).map_err(|e| failed().because(e))?;
        serde_json::from_slice(&text).map_err(|e| failed().because(e))
    }
}

#[derive(Debug, Deserialize)]
struct Image {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    layer: String,
}

#[derive(Debug, Deserialize)]
struct Layer {
    id: String,
    parent: Option<String>,
}

fn write(contents: &Contents, tag: &str, settings: &OfImage, file: &File) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write_archive(contents, tag, settings, &mut out)?;
    out.flush()
}

/// The runtime that conmon was started with (conmon(8), `--runtime`).
pub fn runtime_of(arguments: &[String]) -> Option<String> {
    let mut pairs = arguments.windows(2);
    let found = pairs.find(|pair| matches!(pair[0].as_str(), "-r" | "--runtime"))?;
    found[1].rsplit('/').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As CRI-O tells it, shortened.
    const TOLD: &str = r#"
[crio]
root = "ROOT"
runroot = "/run/containers/storage"
storage_driver = ""
storage_option = []
[crio.runtime]
default_runtime = "crun"
cgroup_manager = "cgroupfs"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
runtime_type = ""
[crio.runtime.runtimes.runc]
runtime_path = ""
"#;

    #[test]
    fn handlers_and_storage_are_what_the_configuration_says() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["overlay", "overlay-images", "overlay-layers"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let place = root.path().display().to_string();
        let config: Config = toml::from_str(&TOLD.replace("ROOT", &place)).unwrap();
        assert_eq!(config.default_handler(), "crun");
        assert!(!config.has_systemd_cgroups());
        let handlers: Vec<(String, String)> = config.handlers().collect();
        let own = |name: &str, program: &str| (name.to_owned(), program.to_owned());
        assert_eq!(
            handlers,
            [own("crun", "/usr/libexec/crio/crun"), own("runc", "runc")]
        );
        let storage = config.storage();
        assert_eq!(
            storage.reference("localhost/a:1"),
            format!("containers-storage:[overlay@{place}+/run/containers/storage]localhost/a:1")
        );
        let images =
            r#"[{"id":"i","names":["localhost/a:1"],"layer":"two","created":"x"},{"id":"j"}]"#;
        let layers = r#"[{"id":"one","diff-size":3},{"id":"two","parent":"one"}]"#;
        fs::write(root.path().join("overlay-images/images.json"), images).unwrap();
        fs::write(root.path().join("overlay-layers/layers.json"), layers).unwrap();
        let folder = |layer: &str| format!("{place}/overlay/{layer}/diff");
        assert_eq!(
            storage.folders("localhost/a:1").unwrap(),
            [folder("two"), folder("one")]
        );
        assert_eq!(storage.folders("localhost/b:1").unwrap(), [""; 0]);
    }

    #[test]
    fn the_runtime_is_the_one_that_conmon_was_told() {
        let of = |arguments: &[&str]| {
            let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            runtime_of(&owned)
        };
        assert_eq!(
            of(&["conmon", "-c", "1", "-r", "/usr/sbin/runc"]).as_deref(),
            Some("runc")
        );
        assert_eq!(of(&["conmon", "-c", "1"]), None);
    }
}
