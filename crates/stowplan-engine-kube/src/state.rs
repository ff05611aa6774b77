//! How far a pod of one container has come, as its status tells it.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, Pod, PodStatus};

/// What a container waits for while all is well. A pod that may restart waits the longer the more often it has ended.
const COMING: [&str; 3] = ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"];
/// What the runtime is said to have done about a program that it could not start.
const NOT_STARTED: [&str; 3] = ["StartError", "ContainerCannotRun", "ContainerStatusUnknown"];
/// The kernel has ended it for lack of memory.
const OUT_OF_MEMORY: &str = "OOMKilled";

/// How far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its program does not run yet.
    #[default]
    Coming,
    /// It runs in this container.
    Running(String),
    /// It ended by itself.
    Ended(End),
    /// It is not started, or was ended by the cluster, and why.
    Failed(String),
}

/// A container that ended by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// The container.
    pub(crate) container: String,
    /// Its status.
    pub(crate) code: i32,
    /// For lack of memory.
    pub(crate) out_of_memory: bool,
}

impl End {
    fn of(container: &str, end: &ContainerStateTerminated) -> Self {
        Self {
            container: plain_id(container),
            code: end.exit_code,
            out_of_memory: end.reason.as_deref() == Some(OUT_OF_MEMORY),
        }
    }
}

/// What is known of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its uid.
    pub(crate) uid: String,
    /// Where it was placed.
    pub(crate) node: Option<String>,
    /// Its quality of service class.
    pub(crate) qos: String,
    /// Somebody has asked for its end.
    pub(crate) is_going: bool,
    pub(crate) phase: Phase,
    /// How the container before this one ended, where the pod restarts.
    pub(crate) ended_before: Option<End>,
    /// How often it has restarted.
    pub(crate) restarts: i32,
    /// Whether its container has passed the probe of its start, where it has one.
    pub(crate) has_begun: bool,
    /// Of which image its container is, as the runtime calls it.
    pub(crate) image: String,
    /// Every container that has been made.
    pub(crate) containers: Vec<String>,
}

impl Seen {
    pub(crate) fn of(pod: &Pod) -> Self {
        let none = PodStatus::default();
        let status = pod.status.as_ref().unwrap_or(&none);
        let statuses = status.container_statuses.as_deref().unwrap_or_default();
        let ids = statuses.iter().filter_map(|of| of.container_id.as_deref());
        let first = statuses.first();
        let before = first.and_then(|of| of.last_state.as_ref()?.terminated.as_ref());
        Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            qos: status.qos_class.clone().unwrap_or_default(),
            is_going: pod.metadata.deletion_timestamp.is_some(),
            phase: phase(status),
            ended_before: before.and_then(|end| Some(End::of(end.container_id.as_deref()?, end))),
            restarts: first.map(|of| of.restart_count).unwrap_or_default(),
            has_begun: first.and_then(|of| of.started).unwrap_or_default(),
            image: first.map(|of| of.image_id.clone()).unwrap_or_default(),
            containers: ids.map(plain_id).collect(),
        }
    }
}

fn phase(status: &PodStatus) -> Phase {
    let why = |reason: &str, message: Option<&String>| match message {
        Some(message) if !message.is_empty() => format!("{reason}: {message}"),
        _ => reason.to_owned(),
    };
    // Evicted, or refused by the kubelet.
    if let Some(reason) = status.reason.as_deref().filter(|reason| !reason.is_empty()) {
        return Phase::Failed(why(reason, status.message.as_ref()));
    }
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let scheduled = conditions.iter().find(|of| of.type_ == "PodScheduled");
    if let Some(of) = scheduled.filter(|of| of.status == "False") {
        let reason = of.reason.as_deref().unwrap_or("it is not scheduled");
        return Phase::Failed(why(reason, of.message.as_ref()));
    }
    let container = status.container_statuses.as_deref().unwrap_or_default();
    let Some(container) = container.first() else {
        return Phase::Coming;
    };
    let id = container.container_id.as_deref().map(plain_id);
    let id = id.unwrap_or_default();
    let Some(state) = &container.state else {
        return Phase::Coming;
    };
    let ContainerState {
        running,
        terminated,
        waiting,
    } = state;
    if running.is_some() {
        return Phase::Running(id);
    }
    if let Some(end) = terminated {
        let reason = end.reason.as_deref().unwrap_or_default();
        if NOT_STARTED.contains(&reason) {
            return Phase::Failed(why(reason, end.message.as_ref()));
        }
        return Phase::Ended(End::of(&id, end));
    }
    match waiting
        .as_ref()
        .and_then(|of| Some((of.reason.as_deref()?, of)))
    {
        Some((reason, of)) if !COMING.contains(&reason) => {
            Phase::Failed(why(reason, of.message.as_ref()))
        }
        _ => Phase::Coming,
    }
}

/// `containerd://ID` without what runs it.
fn plain_id(id: &str) -> String {
    id.rsplit('/').next().unwrap_or(id).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(status: serde_json::Value) -> Seen {
        let pod = json!({"metadata": {"uid": "u"}, "spec": {"containers": [], "nodeName": "n"}, "status": status});
        Seen::of(&serde_json::from_value(pod).unwrap())
    }

    fn container(state: serde_json::Value) -> Phase {
        let status = json!({"name": "service", "image": "i", "imageID": "sha256:1", "ready": false, "restartCount": 0,
            "containerID": "containerd://abc", "state": state});
        let seen = seen(json!({"phase": "Pending", "containerStatuses": [status]}));
        assert_eq!(
            (seen.image.as_str(), seen.node.as_deref()),
            ("sha256:1", Some("n"))
        );
        assert_eq!(seen.containers, ["abc"]);
        seen.phase
    }

    #[test]
    fn a_container_that_comes_runs_and_ends() {
        let coming = json!({"waiting": {"reason": "ContainerCreating"}});
        assert_eq!(container(coming), Phase::Coming);
        let running = json!({"running": {"startedAt": "2026-11-26T12:00:00Z"}});
        assert_eq!(container(running), Phase::Running("abc".to_owned()));
        let end = json!({"terminated": {"exitCode": 3, "reason": "Error"}});
        let ended = |code, out_of_memory| {
            Phase::Ended(End {
                container: "abc".to_owned(),
                code,
                out_of_memory,
            })
        };
        assert_eq!(container(end), ended(3, false));
        let end = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        assert_eq!(container(end), ended(137, true));
        assert_eq!(seen(json!({})).phase, Phase::Coming);
    }

    #[test]
    fn a_pod_that_restarts_says_how_it_ended_before() {
        let before = json!({"terminated": {"exitCode": 139, "reason": "Error", "containerID": "containerd://abc"}});
        let status = |id: &str, state| {
            json!({"name": "service", "image": "i", "imageID": "", "ready": false, "restartCount": 1,
            "containerID": format!("containerd://{id}"), "state": state, "lastState": before})
        };
        let ended = End {
            container: "abc".to_owned(),
            code: 139,
            out_of_memory: false,
        };
        for (id, state, phase) in [
            (
                "abc",
                json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                Phase::Coming,
            ),
            (
                "def",
                json!({"running": {}}),
                Phase::Running("def".to_owned()),
            ),
        ] {
            let seen = seen(json!({"containerStatuses": [status(id, state)]}));
            assert_eq!(
                (seen.phase, seen.ended_before, seen.restarts),
                (phase, Some(ended.clone()), 1)
            );
        }
    }

    #[test]
    fn what_does_not_come_says_why() {
        let never = json!({"waiting": {"reason": "ErrImageNeverPull", "message": "image x is not present"}});
        let why = "ErrImageNeverPull: image x is not present";
        assert_eq!(container(never), Phase::Failed(why.to_owned()));
        let program = json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: \"/x\""}});
        assert_eq!(
            container(program),
            Phase::Failed("StartError: exec: \"/x\"".to_owned())
        );
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
        assert_eq!(
            seen(evicted).phase,
            Phase::Failed("Evicted: low on memory".to_owned())
        );
        let unscheduled = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available"}]});
        let why = "Unschedulable: 0/1 nodes are available";
        assert_eq!(seen(unscheduled).phase, Phase::Failed(why.to_owned()));
    }
}
