//! What the API server is asked for a deployment: a pod for each service. Kubernetes starts what it has been told of, so that
//! nothing is created before the start.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri::{self, last_of_log};
use stowplan_engine_daemon::{Backend, Happened, Place, Serving};
use stowplan_host::Host;
use stowplan_host::cgroup::kill_all;
use stowplan_wire::deployment::StopMode;

use crate::cluster::Cluster;
use crate::config::CONTAINER;
use crate::ground::{Ground, PATIENCE};
use crate::node::text;
use crate::pods::{AT_ONCE_S, PodName};
use crate::state::{Phase, Seen};
use crate::watch::{Known, Watch};
use crate::{ENGINE, admission, label, pods};

/// Time between two looks at what only the kernel tells.
const LOOK: Duration = Duration::from_millis(5);

/// What is asked for, for one service.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) service: String,
    /// Name of the pod.
    pub(crate) pod: String,
    /// The pod.
    pub(crate) object: Value,
    /// What admission makes of it, which a result tells.
    pub(crate) changes: Vec<String>,
    /// What its image may be called by the runtime.
    pub(crate) image: String,
    /// Its kubelet starts it again when it ends.
    pub(crate) restarts: bool,
    /// Its kubelet checks it.
    pub(crate) is_checked: bool,
}

/// What has been told of a pod.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) scheduled: bool,
    /// The last container that was said to run.
    pub(super) started: Option<String>,
    /// It was said to have ended.
    pub(super) ended: bool,
    /// The last container that was said to have passed a check.
    pub(super) healthy: Option<String>,
}

/// A pod that is to be made, or has been.
#[derive(Debug)]
pub(super) struct Made {
    /// As the ledger names it.
    name: String,
    pub(super) wanted: Wanted,
    /// Uid of the pod; empty before it was asked for.
    pub(super) uid: String,
    /// Its end is our own doing.
    pub(super) is_stopped: bool,
    pub(super) told: Told,
    /// Its log, which goes with it.
    log: Option<File>,
    /// Its control groups.
    groups: BTreeSet<PathBuf>,
}

impl Made {
    /// Whether nothing more is to be told of it.
    pub(super) const fn is_over(&self) -> bool {
        self.is_stopped || (self.told.ended && !self.wanted.restarts)
    }
}

/// Pods of one run.
pub(crate) struct KubeBackend {
    pub(super) cluster: Cluster,
    pub(super) runtime: cri::Client,
    pub(super) watch: Watch,
    pub(super) ground: Ground,
    /// By an id that no other pod of this deployment had.
    pub(super) made: RefCell<BTreeMap<String, Made>>,
    next: Cell<u32>,
    pub(super) happened: RefCell<VecDeque<Happened>>,
    /// How the images have come to the node.
    arrived: String,
    /// Namespaces that the cluster is still removing.
    going: Rc<RefCell<Vec<String>>>,
}

impl KubeBackend {
    pub(crate) fn new(
        cluster: Cluster,
        runtime: cri::Client,
        ground: Ground,
        arrived: String,
        going: Rc<RefCell<Vec<String>>>,
    ) -> Self {
        Self {
            watch: Watch::new(&cluster, &ground.namespace),
            cluster,
            runtime,
            ground,
            made: RefCell::default(),
            next: Cell::new(0),
            happened: RefCell::default(),
            arrived,
            going,
        }
    }

    pub(super) fn at<'a>(&'a self, pod: &'a str) -> PodName<'a> {
        PodName {
            namespace: &self.ground.namespace,
            name: pod,
        }
    }

    /// What was asked for under this id.
    fn wanted(&self, id: &str) -> Result<Wanted, EngineError> {
        let made = self.made.borrow();
        let found = made.get(id).map(|made| made.wanted.clone());
        found.ok_or_else(|| EngineError::new("it has no pod"))
    }

    /// What is known of the pod with this id.
    fn seen(&self, id: &str) -> Option<Seen> {
        let made = self.made.borrow();
        self.watch.of(&made.get(id)?.wanted.pod)
    }

    /// Where the kubelet writes what its program says.
    fn log_path(&self, pod: &str, seen: &Seen) -> PathBuf {
        let folder = format!("{}_{pod}_{}", self.ground.namespace, seen.uid);
        self.cluster
            .node
            .logs
            .join(folder)
            .join(CONTAINER)
            .join(format!("{}.log", seen.restarts))
    }

    /// Its end is our own doing from now on, and what it says until then is kept.
    fn is_being_stopped(&self, id: &str) {
        let path = self
            .wanted(id)
            .ok()
            .zip(self.seen(id))
            .map(|(wanted, seen)| self.log_path(&wanted.pod, &seen));
        if let Some(made) = self.made.borrow_mut().get_mut(id) {
            made.is_stopped = true;
            if made.log.is_none() {
                // One that has not begun has none.
                made.log = path.and_then(|path| File::open(path).ok());
            }
        }
    }

    /// Waits until the program of a pod runs, or has run.
    async fn runs(&self, wanted: &Wanted) -> Result<(), EngineError> {
        let at = self.at(&wanted.pod);
        let done = |known: &Known| {
            let seen = known.of(&wanted.pod)?;
            match &seen.phase {
                Phase::Running(_) | Phase::Ended(_) => Some(Ok(())),
                Phase::Coming if seen.ended_before.is_some() => Some(Ok(())),
                Phase::Failed(why) => Some(Err(why.clone())),
                Phase::Coming if seen.is_going => {
                    Some(Err("somebody else has asked for its end".to_owned()))
                }
                Phase::Coming => None,
            }
        };
        let why = match self.watch.until(PATIENCE, done).await {
            Ok(Some(Ok(()))) => return Ok(()),
            Ok(Some(Err(why))) => why,
            Ok(None) => {
                let warned = pods::warning(&self.cluster, at).await;
                warned.unwrap_or_else(|| format!("nothing was told of it in {PATIENCE:?}"))
            }
            Err(why) => return Err(self.cluster.lost(&why)),
        };
        Err(
            EngineError::new(format!("the pod {at} does not start: {why}"))
                .hint("'kubectl describe pod' says more while it is there"),
        )
    }

    /// Checks where a pod is and what it is of.
    fn check(&self, wanted: &Wanted, seen: &Seen) -> Result<(), EngineError> {
        let (at, node) = (self.at(&wanted.pod), &self.cluster.node.name);
        if let Some(other) = seen.node.as_ref().filter(|other| *other != node) {
            return Err(EngineError::new(format!(
                "the pod {at} is on node {other}, which is not this machine ({node})"
            )));
        }
        let digest = seen.image.rsplit('@').next().unwrap_or_default();
        if !wanted.image.is_empty() && !digest.is_empty() && !wanted.image.contains(digest) {
            return Err(EngineError::new(format!(
                "the pod {at} has the image {}, not {}",
                seen.image, wanted.image
            )));
        }
        Ok(())
    }

    /// Waits until the kernel has no control groups of a pod any more, which its kubelet removes by itself.
    async fn has_no_groups(&self, groups: BTreeSet<PathBuf>) {
        let begin = Instant::now();
        while groups.iter().any(|folder| folder.exists()) && begin.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends the processes of a pod whose API server does not answer.
    fn kill(&self, id: &str) {
        for folder in self.groups(id) {
            // What could not be killed stands in the ledger with its pod.
            let _ = kill_all(&folder);
        }
    }

    fn groups(&self, id: &str) -> BTreeSet<PathBuf> {
        let made = self.made.borrow();
        made.get(id)
            .map(|made| made.groups.clone())
            .unwrap_or_default()
    }

    /// The id of the last pod of this name.
    fn id_of(&self, name: &str) -> Option<String> {
        let made = self.made.borrow();
        let mut all = made.iter().rev();
        all.find(|(_, made)| made.name == name)
            .map(|(id, _)| id.clone())
    }
}

impl Backend for KubeBackend {
    type Request = Wanted;

    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn serving(&self) -> &Serving {
        self.cluster.serving()
    }

    /// Only gives it an id.
    async fn make(&self, name: &str, wanted: &Wanted) -> Result<String, EngineError> {
        let number = self.next.get();
        self.next.set(number + 1);
        let id = format!("{number:08}-{}", wanted.pod);
        let made = Made {
            name: name.to_owned(),
            wanted: wanted.clone(),
            uid: String::new(),
            is_stopped: false,
            told: Told::default(),
            log: None,
            groups: BTreeSet::new(),
        };
        self.made.borrow_mut().insert(id.clone(), made);
        Ok(id)
    }

    async fn begin(&self, id: &str) -> Result<(), EngineError> {
        let wanted = self.wanted(id)?;
        let at = self.at(&wanted.pod);
        let made = pods::create(&self.cluster, at, &wanted.object, false).await?;
        if let Some(own) = self.made.borrow_mut().get_mut(id) {
            own.uid = text(&made["metadata"]["uid"]);
        }
        let changes = admission::changes(&wanted.object, &made);
        if changes != wanted.changes {
            return Err(EngineError::new(format!(
                "admission made another pod of {at} than it had said: {}",
                changes.join("; ")
            )));
        }
        self.runs(&wanted).await
    }

    async fn end(&self, id: &str, how: StopMode) -> Result<(), EngineError> {
        let grace_s = match how {
            // The API has whole seconds.
            StopMode::Terminate { grace_ms } => grace_ms.div_ceil(1000).max(AT_ONCE_S),
            StopMode::Kill => AT_ONCE_S,
        };
        let wanted = self.wanted(id)?;
        self.is_being_stopped(id);
        let at = self.at(&wanted.pod);
        pods::remove(&self.cluster, &self.watch, at, grace_s).await?;
        self.has_no_groups(self.groups(id)).await;
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        let Some(id) = self.id_of(name) else {
            return Ok(false);
        };
        let wanted = self.wanted(&id)?;
        self.is_being_stopped(&id);
        let at = self.at(&wanted.pod);
        let removed = pods::remove(&self.cluster, &self.watch, at, AT_ONCE_S).await;
        match removed {
            Ok(removed) => {
                self.has_no_groups(self.groups(&id)).await;
                if removed {
                    self.is_removed(&wanted.service, &id);
                }
                Ok(removed)
            }
            Err(error) => {
                self.kill(&id);
                Err(error)
            }
        }
    }

    fn locate(&self, id: &str) -> Result<Place, EngineError> {
        let Some((wanted, seen)) = self.wanted(id).ok().zip(self.seen(id)) else {
            return Ok(Place::default());
        };
        self.check(&wanted, &seen)?;
        let (container, out_of_memory) = match &seen.phase {
            Phase::Running(container) => (container, false),
            Phase::Ended(end) => (&end.container, end.out_of_memory),
            Phase::Coming | Phase::Failed(_) => return Ok(Place::default()),
        };
        let pid = self.pid(container)?;
        let place = Place {
            out_of_memory,
            log: Some(self.log_path(&wanted.pod, &seen).display().to_string()),
            ..Place::find(pid, container)?
        };
        if place.pid > 0 && place.cgroups.is_empty() {
            return Err(EngineError::new(format!(
                "process {pid} is said to be of the pod {}, but no control group of it has its container's id",
                self.at(&wanted.pod)
            )));
        }
        if let Some(made) = self.made.borrow_mut().get_mut(id) {
            made.groups = place.cgroups.values().map(PathBuf::from).collect();
        }
        Ok(place)
    }

    fn freeze(&self, _id: &str, _frozen: bool) -> Result<(), EngineError> {
        Err(EngineError::new("Kubernetes has no way to freeze a pod"))
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        self.next_event(wait)
    }

    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError> {
        let made = self.made.borrow();
        let Some(made) = made.get(id) else {
            return Ok(String::new());
        };
        if let Some(log) = &made.log {
            // By this name it is there though it has none any more (proc_pid_fd(5)).
            let kept = format!("/proc/self/fd/{}", log.as_raw_fd());
            return last_of_log(Path::new(&kept), bytes);
        }
        let seen = self.watch.of(&made.wanted.pod);
        seen.map_or_else(
            || Ok(String::new()),
            |seen| last_of_log(&self.log_path(&made.wanted.pod, &seen), bytes),
        )
    }

    fn label(&self, containers: &[(String, u32)]) -> Result<BTreeMap<String, String>, EngineError> {
        let found = containers.iter().filter_map(|(id, pid)| {
            let seen = self.seen(id)?;
            Some((seen, *pid))
        });
        let mut label = label::read(&self.cluster, &self.runtime, &found.collect::<Vec<_>>())?;
        label.insert("engine.images".to_owned(), self.arrived.clone());
        Ok(label)
    }

    fn processes(&self, first: &[u32]) -> Vec<u32> {
        label::processes(&self.runtime, first)
    }

    fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError> {
        self.ground.clear(&self.cluster, host)?;
        self.going.borrow_mut().push(self.ground.namespace.clone());
        Ok(())
    }
}
