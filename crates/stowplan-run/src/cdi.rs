//! Devices by the names of the Container Device Interface (CDI 1.0,
//! <https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md>): what a program needs to use a GPU, as its vendor
//! describes it. Each becomes plain devices, mounts and variables, so that every engine gives a service the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stowplan_host::chain;
use stowplan_model::{RealMount, RealService, is_cdi_name};

use crate::error::ExperimentError;

/// Where descriptions are; what the latter says goes before what the former says.
pub(crate) const FOLDERS: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

/// A description. It may say more, which does not matter here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    kind: String,
    #[serde(default)]
    container_edits: Edits,
    devices: Vec<Device>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    name: String,
    #[serde(default)]
    container_edits: Edits,
}

/// What a program gets.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Edits {
    env: Vec<String>,
    device_nodes: Vec<Node>,
    mounts: Vec<Mount>,
    hooks: Vec<Hook>,
    additional_gids: Vec<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    path: String,
    host_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    host_path: String,
    container_path: String,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hook {
    hook_name: String,
    path: String,
}

/// Puts what each named device means in the place of its name, but for those that the engine `gives` itself. Gives what cannot be
/// had of it.
///
/// # Errors
/// When nobody describes a device, or its description cannot be read.
pub(crate) fn resolve(
    services: &mut [RealService],
    folders: &[&Path],
    gives: impl Fn(&str) -> bool,
) -> Result<Vec<String>, ExperimentError> {
    let is_meant = |device: &str| is_cdi_name(device) && !gives(device);
    let is_named = |service: &RealService| service.devices.iter().any(|name| is_meant(name));
    if !services.iter().any(is_named) {
        return Ok(Vec::new());
    }
    let specs = read_all(folders)?;
    let mut lacks = Vec::new();
    for service in services.iter_mut() {
        let (names, others): (Vec<String>, Vec<String>) = std::mem::take(&mut service.devices)
            .into_iter()
            .partition(|device| is_meant(device));
        service.devices = others;
        let mut general: Vec<&Spec> = Vec::new();
        for name in &names {
            let (spec, device) =
                find(&specs, name).ok_or_else(|| unknown(&specs, service, name))?;
            // What all devices of a description have in common comes once.
            if !general.iter().any(|done| std::ptr::eq(*done, spec)) {
                general.push(spec);
                apply(service, &spec.container_edits, &mut lacks)?;
            }
            apply(service, &device.container_edits, &mut lacks)?;
        }
    }
    Ok(lacks)
}

/// The descriptions, those of the last folder first.
fn read_all(folders: &[&Path]) -> Result<Vec<Spec>, ExperimentError> {
    let mut specs = Vec::new();
    for folder in folders.iter().rev() {
        // A folder that is not there describes nothing.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let kind = file.extension().unwrap_or_default();
            if kind == "json" || kind == "yaml" {
                specs.push(read(&file)?);
            }
        }
    }
    Ok(specs)
}

fn read(file: &Path) -> Result<Spec, ExperimentError> {
    let text = fs::read_to_string(file).map_err(|source| ExperimentError::Read {
        path: file.to_owned(),
        source,
    })?;
    // JSON is YAML.
    serde_saphyr::from_str(&text).map_err(|error| ExperimentError::Name {
        what: format!(
            "{} is no description of CDI devices: {}",
            file.display(),
            chain(&error)
        ),
    })
}

fn find<'a>(specs: &'a [Spec], name: &str) -> Option<(&'a Spec, &'a Device)> {
    let (kind, device) = name.split_once('=')?;
    let mut of_kind = specs.iter().filter(|spec| spec.kind == kind);
    of_kind.find_map(|spec| {
        let found = spec.devices.iter().find(|found| found.name == device)?;
        Some((spec, found))
    })
}

fn unknown(specs: &[Spec], service: &RealService, name: &str) -> ExperimentError {
    let known: Vec<String> = specs
        .iter()
        .flat_map(|spec| {
            let devices = spec.devices.iter();
            devices.map(|device| format!("{}={}", spec.kind, device.name))
        })
        .collect();
    let known = if known.is_empty() {
        "no device; a GPU's are written by its vendor's tool, as 'nvidia-ctk cdi generate'"
            .to_owned()
    } else {
        known.join(", ")
    };
    ExperimentError::Name {
        what: format!(
            "service '{}' wants the device '{name}', but the files in {} describe {known}",
            service.name,
            FOLDERS.join(" and ")
        ),
    }
}

fn apply(
    service: &mut RealService,
    edits: &Edits,
    lacks: &mut Vec<String>,
) -> Result<(), ExperimentError> {
    for node in &edits.device_nodes {
        if node
            .host_path
            .as_ref()
            .is_some_and(|path| *path != node.path)
        {
            return Err(ExperimentError::Name {
                what: format!(
                    "service '{}' is to have a device as {} that has another path here, which cannot be had",
                    service.name, node.path
                ),
            });
        }
        if !service.devices.contains(&node.path) {
            service.devices.push(node.path.clone());
        }
    }
    for mount in &edits.mounts {
        let is_there = |there: &RealMount| there.to == mount.container_path;
        if !service.mounts.iter().any(is_there) {
            service.mounts.push(RealMount {
                from: mount.host_path.clone(),
                to: mount.container_path.clone(),
                read_only: mount.options.iter().any(|option| option == "ro"),
            });
        }
    }
    let own: BTreeMap<String, String> = service.env.iter().cloned().collect();
    let variables = edits.env.iter().filter_map(|text| text.split_once('='));
    for (name, value) in variables.filter(|(name, _)| !own.contains_key(*name)) {
        service.env.push((name.to_owned(), value.to_owned()));
    }
    for hook in &edits.hooks {
        lacks.push(format!(
            "service '{}': the hook {} ({}) of a device is not run",
            service.name, hook.path, hook.hook_name
        ));
    }
    if !edits.additional_gids.is_empty() {
        lacks.push(format!(
            "service '{}': the groups of a device are not added to those of the program",
            service.name
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = r"
name: beside
description: One node beside a real program.
profile: minimal
topics: { /x: 4 }
modules: { m: { nodes: { n: { timer: 10Hz, publishes: /x } } } }
services:
  real:
    command: [/bin/infer]
    env: { VISIBLE: mine }
    devices: [/dev/fuse, example.com/gpu=0, example.com/gpu=1]
";

    const TOLD: &str = r#"{
        "cdiVersion": "0.6.0",
        "kind": "example.com/gpu",
        "containerEdits": {
            "env": ["VISIBLE=all", "DRIVER=1.2=x"],
            "mounts": [{"hostPath": "/usr/lib/libgpu.so", "containerPath": "/usr/lib/libgpu.so", "options": ["ro", "nosuid"]}],
            "hooks": [{"hookName": "createContainer", "path": "/usr/bin/hook", "args": ["hook", "ldcache"]}]
        },
        "devices": [
            {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/gpu0", "type": "c", "major": 1}]}},
            {"name": "1", "containerEdits": {"deviceNodes": [{"path": "/dev/gpu1", "hostPath": "/dev/gpu1"}]}}
        ]
    }"#;

    fn services() -> Vec<RealService> {
        let stack =
            stowplan_spec::parse_stack(STACK, "test.yaml").unwrap_or_else(|e| panic!("{e}"));
        stack.services
    }

    #[test]
    fn a_name_becomes_what_its_description_says() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("gpu.json"), TOLD).unwrap();
        fs::write(folder.path().join("notes.txt"), "not one").unwrap();
        let mut services = services();
        let lacks = resolve(&mut services, &[folder.path()], |_| false).unwrap();
        let service = &services[0];
        assert_eq!(service.devices, ["/dev/fuse", "/dev/gpu0", "/dev/gpu1"]);
        assert_eq!(service.mounts.len(), 1);
        assert!(service.mounts[0].read_only);
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            service.env,
            [own("VISIBLE", "mine"), own("DRIVER", "1.2=x")]
        );
        assert_eq!(
            lacks,
            ["service 'real': the hook /usr/bin/hook (createContainer) of a device is not run"]
        );
    }

    #[test]
    fn the_last_folder_goes_before_and_an_unknown_device_is_named_with_the_known_ones() {
        let (first, last) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(first.path().join("gpu.json"), TOLD).unwrap();
        let other = "cdiVersion: 0.6.0\nkind: example.com/gpu\ndevices:\n- name: '0'\n  containerEdits:\n    \
                     deviceNodes: [{path: /dev/newer}]\n";
        fs::write(last.path().join("gpu.yaml"), other).unwrap();
        let mut both = services();
        resolve(&mut both, &[first.path(), last.path()], |_| false).unwrap();
        assert_eq!(both[0].devices, ["/dev/fuse", "/dev/newer", "/dev/gpu1"]);
        let error = resolve(&mut services(), &[last.path()], |_| false).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("'example.com/gpu=1'"), "{text}");
        assert!(text.ends_with("describe example.com/gpu=0"), "{text}");
        let none =
            resolve(&mut services(), &[Path::new("/no/such/folder")], |_| false).unwrap_err();
        assert!(none.to_string().contains("nvidia-ctk"), "{none}");
    }

    #[test]
    fn what_an_engine_gives_itself_needs_no_description() {
        let mut services = services();
        let nowhere = Path::new("/no/such/folder");
        let lacks = resolve(&mut services, &[nowhere], |device| {
            device.starts_with("example.com/gpu=")
        });
        assert_eq!(lacks.unwrap(), [""; 0]);
        let devices = ["/dev/fuse", "example.com/gpu=0", "example.com/gpu=1"];
        assert_eq!(services[0].devices, devices);
        let one = |device: &str| device == "example.com/gpu=0";
        assert!(resolve(&mut services, &[nowhere], one).is_err());
    }
}
