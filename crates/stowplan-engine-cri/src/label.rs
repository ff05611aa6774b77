//! What the containers of a run really are.

use std::path::PathBuf;

use serde_json::Value;
use stowplan_engine::{EngineError, Facts, Seen, agreed, contradiction};
use stowplan_host::cgroup::run_folder;
use stowplan_host::process;

use crate::client::Client;
use crate::runtime::Runtime;
use crate::settings::{Handler, program_of};
use crate::{crio, probe};

/// The label of the containers with these ids and first processes: one value of each fact for all of them.
///
/// # Errors
/// When two differ, or what the kernel shows contradicts what the runtime says.
pub(crate) fn read(
    client: &Client,
    handler: &Handler,
    run: &str,
    containers: &[(String, u32)],
) -> Result<Facts, EngineError> {
    let mut all = Vec::new();
    for (id, pid) in containers {
        let (_, said) = client
            .wait(client.container(id))
            .map_err(|status| client.error("tell of a container", status))?;
        let mut seen = Seen::of(*pid, id);
        seen.cgroup = seen.cgroup.replace(&run_folder(run), "RUN");
        let called = match client.runtime {
            Runtime::Containerd => program_in_bundle(*pid, id),
            Runtime::CriO => crio::runtime_of(&seen.arguments),
        };
        all.push(facts(client.runtime, handler, &said, &seen, called)?);
    }
    let mut facts = agreed(all)?;
    facts.insert("engine.cri".to_owned(), probe::version(client, handler)?);
    Ok(facts)
}

/// The program that the shim was told to call for a container. A shim's working folder is the bundle of its pod, beside
/// those of the containers in it, and holds the program's name (containerd, `runtime/v2/runc`, `WriteRuntime`).
fn program_in_bundle(pid: u32, id: &str) -> Option<String> {
    let shim = process::parent_of(pid)?;
    let bundle = std::fs::read_link(format!("/proc/{shim}/cwd")).ok()?;
    let file: PathBuf = bundle.parent()?.join(id).join("runtime");
    std::fs::read_to_string(file)
        .ok()
        .map(|name| program_of(name.trim()))
}

/// The facts of one container.
fn facts(
    runtime: Runtime,
    handler: &Handler,
    said: &Value,
    seen: &Seen,
    called: Option<String>,
) -> Result<Facts, EngineError> {
    // CRI-O says neither of a single container.
    let text = |key: &str, set: &str| said[key].as_str().unwrap_or(set).to_owned();
    let kind = text("runtimeType", &handler.kind);
    let storage = text("snapshotter", &handler.snapshotter);
    if kind != handler.kind {
        return Err(contradiction("runtime type", &handler.kind, &kind));
    }
    if !seen.parent.starts_with(runtime.monitor()) {
        return Err(contradiction("monitor", runtime.monitor(), &seen.parent));
    }
    if storage.starts_with("overlay") != (seen.root == "overlay") {
        return Err(contradiction("snapshotter", &storage, &seen.root));
    }
    let program = called.unwrap_or_else(|| handler.program.clone());
    if program != handler.program {
        return Err(contradiction("runtime", &handler.program, &program));
    }
    let facts = [
        ("engine.storage", storage),
        ("engine.runtime", program),
        ("engine.monitor", seen.parent.clone()),
        ("engine.cgroup", seen.cgroup.clone()),
    ];
    Ok(facts.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(storage: &str, parent: &str, root: &str, called: &str) -> Result<Facts, EngineError> {
        let handler = Handler {
            name: "runc".to_owned(),
            kind: "io.containerd.runc.v2".to_owned(),
            program: "runc".to_owned(),
            systemd_cgroup: false,
            snapshotter: "overlayfs".to_owned(),
        };
        let said = serde_json::json!({"runtimeType": handler.kind, "snapshotter": storage});
        let seen = Seen {
            root: root.to_owned(),
            parent: parent.to_owned(),
            cgroup: "/RUN/ID".to_owned(),
            ..Seen::default()
        };
        let runtime = Runtime::Containerd;
        facts(runtime, &handler, &said, &seen, Some(called.to_owned()))
    }

    #[test]
    fn a_label_says_what_containerd_and_kernel_agree_on() {
        let label = label("overlayfs", "containerd-shim", "overlay", "runc").unwrap();
        assert_eq!(label["engine.runtime"], "runc");
        assert_eq!(label["engine.storage"], "overlayfs");
        assert_eq!(label["engine.cgroup"], "/RUN/ID");
    }

    #[test]
    fn a_label_that_the_kernel_contradicts_is_an_error() {
        for (storage, parent, root, called) in [
            ("overlayfs", "conmon", "overlay", "runc"),
            ("overlayfs", "containerd-shim", "ext4", "runc"),
            ("native", "containerd-shim", "overlay", "runc"),
            ("overlayfs", "containerd-shim", "overlay", "crun"),
        ] {
            let error = label(storage, parent, root, called).unwrap_err();
            assert!(error.to_string().contains("the kernel shows"), "{error}");
        }
    }
}
