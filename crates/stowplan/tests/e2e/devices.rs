//! A device by its name of the Container Device Interface: a service gets what its description says, on every engine.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use stowplan_results::{Results, RunStatus};
use stowplan_testkit::{ShellRoot, is_root, skip};

use crate::faults::with_program;
use crate::measured::only_result;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, engines_missing};

/// Where programs look for descriptions that do not outlive the machine's run.
const FOLDER: &str = "/var/run/cdi";

/// Devices that no container has by itself.
const DEVICES: [&str; 2] = ["/dev/cpu_dma_latency", "/dev/loop-control"];

/// Every engine, at a place of its own.
const PLACES: [(&str, &str); 8] = [
    ("bare:flat", "bare"),
    ("oci", "oci"),
    ("nspawn", "nspawn"),
    ("lxc", "lxc"),
    ("docker", "docker"),
    ("podman", "podman"),
    ("cri", "cri"),
    ("lxd", "lxd"),
];

/// A description that goes with the test.
struct Described {
    file: PathBuf,
    kind: String,
}

impl Described {
    fn new(device: &str, library: &Path) -> Self {
        let kind = format!("stowplan.test/gpu-{}", std::process::id());
        let library = library.display().to_string();
        let edits = json!({
            "deviceNodes": [{ "path": device }],
            "mounts": [{ "hostPath": library, "containerPath": library, "options": ["ro"] }],
            "env": ["GPU=there"],
            "hooks": [{ "hookName": "createContainer", "path": "/usr/bin/hook" }],
        });
        let devices = json!([{ "name": "0", "containerEdits": edits }]);
        let text = json!({ "cdiVersion": "0.6.0", "kind": kind, "devices": devices }).to_string();
        fs::create_dir_all(FOLDER).unwrap();
        let file = Path::new(FOLDER).join(format!("stowplan-{}.json", std::process::id()));
        fs::write(&file, text).unwrap();
        Self { file, kind }
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        // It stays where others have one.
        let _ = fs::remove_dir(FOLDER);
    }
}

#[test]
fn a_device_by_name_comes_with_its_files_and_variables() {
    if !is_root("describe devices to the machine") {
        return;
    }
    let device = DEVICES.into_iter().find(|path| Path::new(path).exists());
    let Some(device) = device else {
        return skip!("this machine has none of {DEVICES:?}");
    };
    for (place, engine) in PLACES {
        if engines_missing(&[engine]) {
            continue;
        }
        let bench = Bench::new();
        // The host's for those that can have it; what a container has of the host besides is named.
        let root = ShellRoot::below(bench.path().to_str().unwrap());
        let rootfs = match place {
            "bare:flat" | "oci" => String::new(),
            _ => format!("    rootfs: {}\n", root.path()),
        };
        let _turn = shared_turn();
        let library = bench.path().join("libgpu.so");
        fs::write(&library, "found\n").unwrap();
        let described = Described::new(device, &library);
        let script = format!(
            ": < {device} && test \"$GPU\" = there && cat {} && trap exit TERM && {{ sleep 600 & wait; }}",
            library.display()
        );
        let program = format!(
            "    command: [/bin/sh, -c, '{script}']\n{rootfs}    devices: [{}=0]\n    ready: {{ log_line: found }}\n",
            described.kind
        );
        with_program(&bench, place, &program, "200ms").expect(0);
        let results = Results::open(only_result(&bench)).unwrap();
        assert_eq!(results.runs[0].status, RunStatus::Finished, "{place}");
        let told = results.experiment.warnings.join("\n");
        assert!(told.contains("the hook /usr/bin/hook"), "{told}");
        let deviations = results.experiment.deployments[0].deviations.join("\n");
        let can_write = deviations.contains("not a mount that can only be read");
        assert_eq!(can_write, place == "bare:flat", "{deviations}");
    }
}

#[test]
fn a_device_that_nobody_describes_is_named() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let program = "    command: [/bin/true]\n    devices: [stowplan.test/none=7]\n";
    let told = with_program(&bench, "bare:flat", program, "200ms")
        .expect(3)
        .err;
    assert!(told.contains("'stowplan.test/none=7'"), "{told}");
}
