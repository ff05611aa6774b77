//! Files of parameters, which a pod gets as a ConfigMap. It is in the namespace of the run and goes with it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, KeyToPath, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::of_service;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, ServiceStart};

use crate::cluster::Cluster;
use crate::names;

/// Most bytes of all files of a service: the API takes a ConfigMap of 1 MiB with its names and escapes.
const MOST: usize = 256 << 10;
/// Name of the volume in a pod.
const VOLUME: &str = "parameters";
/// Endings of files that have parameters.
const ENDINGS: [&str; 6] = ["json", "json5", "toml", "xml", "yaml", "yml"];

/// The files of a service, each under the number of its mount.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    name: String,
    files: BTreeMap<usize, File>,
}

#[derive(Debug)]
struct File {
    text: String,
    mode: i32,
}

impl Parameters {
    /// Those among `mounts` that are files of parameters: text that may only be read, and not much of it.
    pub(crate) fn of(plan: &DeploymentPlan, service: &ServiceStart, mounts: &[BindMount]) -> Self {
        let mut left = MOST;
        let mut files = BTreeMap::new();
        for (number, mount) in mounts.iter().enumerate() {
            let Some(file) = read(mount).filter(|file| file.text.len() <= left) else {
                continue;
            };
            left -= file.text.len();
            files.insert(number, file);
        }
        let name = format!("{}-parameters", of_service(&plan.run, &service.name));
        Self {
            name: names::plain(&name),
            files,
        }
    }

    pub(crate) fn has(&self, number: usize) -> bool {
        self.files.contains_key(&number)
    }

    /// The volume with all of them.
    pub(crate) fn volume(&self) -> Option<Volume> {
        let item = |(number, file): (&usize, &File)| KeyToPath {
            key: key(*number),
            path: key(*number),
            mode: Some(file.mode),
        };
        (!self.files.is_empty()).then(|| Volume {
            name: VOLUME.to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: self.name.clone(),
                items: Some(self.files.iter().map(item).collect()),
                default_mode: Some(0o644),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        })
    }

    /// Makes the ConfigMap, where there is something to have in it.
    pub(crate) fn make(
        &self,
        cluster: &Cluster,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let object = self.object(namespace, labels)?;
        let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
        let made = cluster.wait(cluster.create(&collection, &object, false));
        made.map(drop)
            .map_err(|e| cluster.error(format!("make the ConfigMap {namespace}/{}", self.name), e))
    }

    fn object(
        &self,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<Value, EngineError> {
        let files = self.files.iter();
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(namespace.to_owned()),
                labels: Some(labels.clone()),
                ..ObjectMeta::default()
            },
            data: Some(
                files
                    .map(|(number, file)| (key(*number), file.text.clone()))
                    .collect(),
            ),
            immutable: Some(true),
            binary_data: None,
        };
        serde_json::to_value(map)
            .map_err(|e| EngineError::new("cannot write a ConfigMap as JSON").because(e))
    }
}

/// Where a container has one of them.
pub(crate) fn mount(number: usize, mount: &BindMount) -> VolumeMount {
    VolumeMount {
        name: VOLUME.to_owned(),
        mount_path: mount.to.clone(),
        sub_path: Some(key(number)),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

fn key(number: usize) -> String {
    format!("file-{number}")
}

/// A file of parameters; `None` where it is something else, which the pod then has from its host.
fn read(mount: &BindMount) -> Option<File> {
    let (_, ending) = mount.from.rsplit_once('.')?;
    if !mount.read_only || !ENDINGS.contains(&ending) {
        return None;
    }
    let about = fs::metadata(&mount.from).ok()?;
    if !about.is_file() || about.len() > MOST as u64 {
        return None;
    }
    let mode = about.permissions().mode() & 0o777;
    // In a ConfigMap it would be root's, and its owner could not read it.
    if mode & 0o004 == 0 {
        return None;
    }
    let mode = i32::try_from(mode).ok()?;
    let text = fs::read_to_string(&mount.from).ok()?;
    Some(File { text, mode })
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;

    use super::*;

    #[test]
    fn text_that_may_only_be_read_is_parameters_and_the_rest_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mount = |name: &str, bytes: &[u8], read_only| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let mode = if name == "own.yaml" { 0o600 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            BindMount {
                from: path.display().to_string(),
                to: format!("/given/{name}"),
                read_only,
            }
        };
        let mounts = [
            mount("written.yaml", b"a: 1", false),
            mount("a.yaml", b"a: 1", true),
            mount("map.pcd", b"x", true),
            mount("odd.json", b"\xff\xff", true),
            mount("large.yaml", &vec![b'x'; MOST + 1], true),
            mount("b.xml", b"<b/>", true),
            mount("more.yaml", &vec![b'x'; MOST - 7], true),
            mount("own.yaml", b"a: 1", true),
        ];
        let plan = command_plan("7-1", "/nowhere", None, &[("a", &["/x"])]);
        let found = Parameters::of(&plan, &plan.services[0], &mounts);
        let has: Vec<usize> = (0..mounts.len()).filter(|n| found.has(*n)).collect();
        assert_eq!(has, [1, 5]);
        let object = found.object("n", &BTreeMap::new()).unwrap();
        assert_eq!(object["metadata"]["name"], "stowplan-7-1-a-parameters");
        assert_eq!(object["data"]["file-1"], "a: 1");
        assert_eq!(object["immutable"], true);
        let source = found.volume().unwrap().config_map.unwrap();
        assert_eq!(source.items.unwrap().len(), 2);
        let none = Parameters::of(&plan, &plan.services[0], &mounts[..1]);
        assert_eq!(none.volume(), None);
    }
}
