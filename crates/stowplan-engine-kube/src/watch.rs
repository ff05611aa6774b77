//! What happens to the pods of a run, as the API server tells it by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Error, Event, watcher};
use stowplan_host::chain;
use stowplan_host::process::clock_ns;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::state::Seen;

/// Time that a look takes: what has come is seen only when the connection is served.
const LOOK: Duration = Duration::from_millis(1);

/// A change of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Uid of the pod.
    pub(crate) uid: String,
    /// What is known of it now; nothing where it is gone.
    pub(crate) seen: Option<Seen>,
    /// When it was told, CLOCK_MONOTONIC ns.
    pub(crate) t_ns: u64,
}

/// The pods of a namespace.
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    known: Mutex<Known>,
    changed: Notify,
}

/// What has been told so far.
#[derive(Default)]
pub(crate) struct Known {
    pods: BTreeMap<String, Seen>,
    /// Uids of those that have gone.
    gone: BTreeSet<String>,
    /// Everything that was there has been told.
    is_whole: bool,
    changes: VecDeque<Change>,
    /// Those that a list has told of that is not at its end, after a watch was interrupted.
    listed: Vec<String>,
    /// Why nothing is told any more.
    lost: Option<String>,
}

impl Watch {
    /// Watches from now on, whenever something of the connection is waited for.
    pub(crate) fn new(cluster: &Cluster, namespace: &str) -> Self {
        let shared = Arc::<Shared>::default();
        let told = Arc::clone(&shared);
        let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), namespace);
        cluster.serving().spawn(async move {
            let stream = watcher(pods, watcher::Config::default()).default_backoff();
            let mut stream = std::pin::pin!(stream);
            while let Some(event) = stream.next().await {
                told.lock().take(event);
                told.changed.notify_waiters();
                // Nobody wants to know any more.
                if Arc::strong_count(&told) == 1 {
                    return;
                }
            }
        });
        Self { shared }
    }

    /// What is known of a pod.
    pub(crate) fn of(&self, pod: &str) -> Option<Seen> {
        self.shared.lock().pods.get(pod).cloned()
    }

    /// Waits until `done` gives something of what is known, which is the whole by then. The error is why nothing is told any more;
    /// `None` is that it took longer than `patience`.
    pub(crate) async fn until<T>(
        &self,
        patience: Duration,
        done: impl Fn(&Known) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let waited = timeout(patience, async {
            loop {
                let changed = self.shared.changed.notified();
                {
                    let known = self.shared.lock();
                    if let Some(found) = done(&known).filter(|_| known.is_whole) {
                        return Ok(found);
                    }
                    if let Some(why) = &known.lost {
                        return Err(why.clone());
                    }
                }
                changed.await;
            }
        });
        waited.await.map_or(Ok(None), |found| found.map(Some))
    }

    /// The next change, if one comes within `wait`.
    pub(crate) fn next(&self, cluster: &Cluster, wait: Duration) -> Result<Option<Change>, String> {
        cluster.wait(async {
            let waited = timeout(wait.max(LOOK), async {
                loop {
                    let changed = self.shared.changed.notified();
                    {
                        let mut known = self.shared.lock();
                        if let Some(change) = known.changes.pop_front() {
                            return Ok(change);
                        }
                        if let Some(why) = &known.lost {
                            return Err(why.clone());
                        }
                    }
                    changed.await;
                }
            });
            waited.await.map_or(Ok(None), |found| found.map(Some))
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// What is known of a pod.
    pub(crate) fn of(&self, pod: &str) -> Option<&Seen> {
        self.pods.get(pod)
    }

    /// Whether the one with this uid has gone.
    pub(crate) fn has_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    fn take(&mut self, event: Result<Event<Pod>, Error>) {
        match event {
            Ok(event) => {
                self.lost = None;
                self.learn(event);
            }
            // A watch ends from time to time, and begins again: only where it cannot, nobody is there.
            Err(Error::InitialListFailed(error) | Error::WatchStartFailed(error)) => {
                self.lost = Some(chain(&error));
            }
            Err(_) => {}
        }
    }

    fn learn(&mut self, event: Event<Pod>) {
        match event {
            Event::Apply(pod) => self.now(&pod),
            Event::InitApply(pod) => {
                self.listed.extend(pod.metadata.name.clone());
                self.now(&pod);
            }
            Event::Delete(pod) => {
                let name = pod.metadata.name.unwrap_or_default();
                self.is_gone(&name);
            }
            Event::Init => self.listed.clear(),
            Event::InitDone => {
                self.is_whole = true;
                let listed = std::mem::take(&mut self.listed);
                let known = self.pods.keys().cloned();
                let gone: Vec<String> = known.filter(|name| !listed.contains(name)).collect();
                for name in gone {
                    self.is_gone(&name);
                }
            }
        }
    }

    fn now(&mut self, pod: &Pod) {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let seen = Seen::of(pod);
        if self.pods.get(&name) != Some(&seen) {
            self.changed(seen.uid.clone(), Some(seen.clone()));
            self.pods.insert(name, seen);
        }
    }

    fn is_gone(&mut self, name: &str) {
        if let Some(seen) = self.pods.remove(name) {
            self.gone.insert(seen.uid.clone());
            self.changed(seen.uid, None);
        }
    }

    fn changed(&mut self, uid: String, seen: Option<Seen>) {
        let t_ns = clock_ns();
        self.changes.push_back(Change { uid, seen, t_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, uid: &str) -> Pod {
        let json = serde_json::json!({"metadata": {"name": name, "uid": uid}});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn each_change_is_told_once() {
        let mut known = Known::default();
        for event in [
            Event::Init,
            Event::InitApply(pod("a", "1")),
            Event::InitDone,
            Event::Apply(pod("a", "1")),
            Event::Apply(pod("b", "2")),
        ] {
            known.take(Ok(event));
        }
        let uids: Vec<&str> = known.changes.iter().map(|of| of.uid.as_str()).collect();
        assert_eq!(uids, ["1", "2"]);
        // What went while nobody told of it is missing in the next list.
        for event in [
            Event::Init,
            Event::InitApply(pod("b", "2")),
            Event::InitDone,
        ] {
            known.take(Ok(event));
        }
        let last = known.changes.back().unwrap();
        assert_eq!((last.uid.as_str(), &last.seen), ("1", &None));
        assert!(known.has_gone("1") && !known.has_gone("2"));
        known.take(Ok(Event::Delete(pod("b", "2"))));
        assert!(known.pods.is_empty() && known.changes.len() == 4);
    }
}
