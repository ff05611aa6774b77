//! What the containers of a run really are.

use serde_json::Value;
use stowplan_engine::{EngineError, Facts, ObservedContainer, agreed, contradiction};
use stowplan_engine_daemon::{program_in_bundle, program_name, runtime_name, runtime_version};
use stowplan_host::cgroup::run_folder;

use stowplan_engine_daemon::cri::{Client, Handler, Runtime, runtime_of};

use crate::probe;

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
    let mut program = None;
    for (id, pid) in containers {
        let (_, said) = client
            .wait(client.container(id))
            .map_err(|status| client.error("tell of a container", status))?;
        let mut seen = ObservedContainer::of(*pid, id);
        seen.cgroup = seen.cgroup.replace(&run_folder(run), "RUN");
        let called = match client.runtime {
            Runtime::Containerd => program_in_bundle(*pid, id),
            Runtime::CriO => runtime_of(&seen.arguments),
        };
        all.push(facts(
            client.runtime,
            handler,
            &said,
            &seen,
            called.as_deref(),
        )?);
        program = called;
    }
    let mut facts = agreed(all)?;
    facts.extend(runtime_version(program.as_deref()));
    facts.insert("engine.cri".to_owned(), probe::version(client, handler)?);
    Ok(facts)
}

/// The facts of one container.
fn facts(
    runtime: Runtime,
    handler: &Handler,
    said: &Value,
    seen: &ObservedContainer,
    called: Option<&str>,
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
    if let Some(other) = called.map(program_name)
        && other != handler.program
    {
        return Err(contradiction("runtime", &handler.program, other));
    }
    let configured = format!("{}, as configured", handler.program);
    let facts = [
        ("engine.storage", storage),
        ("engine.runtime", runtime_name(called, &configured)),
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
        let seen = ObservedContainer {
            root: root.to_owned(),
            parent: parent.to_owned(),
            cgroup: "/RUN/ID".to_owned(),
            ..ObservedContainer::default()
        };
        let runtime = Runtime::Containerd;
        facts(runtime, &handler, &said, &seen, Some(called))
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
