//! How images come to the node that is this machine: into the store of its runtime, or to a registry from which it pulls them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri::{self, Store, remove_pulled};
use stowplan_engine_daemon::{Daemon, IMAGES};
use stowplan_host::ledger::DaemonVariables;
use stowplan_image::Contents;

use crate::ENGINE;
use crate::cluster::Cluster;
use crate::kubeconfig::Source;
use crate::push::{Pushed, Pusher};
use crate::registry::Registry;

/// The store of the node's runtime.
const STORE: Store = Store {
    engine: ENGINE,
    endpoint: None,
};

/// How an image has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Arrival {
    /// Written into the store.
    Imported,
    /// The store had one of the same digest.
    AlreadyThere,
    /// To a registry.
    Pushed(Pushed),
}

/// Images of the node, by their tags.
#[derive(Debug, Default)]
pub(crate) struct NodeStore {
    arrivals: RefCell<BTreeMap<String, Arrival>>,
}

impl NodeStore {
    /// The name by which pods have the image of this tag: by its digest, where the node pulls it.
    pub(crate) fn name(&self, tag: &str) -> String {
        match self.arrivals.borrow().get(tag) {
            Some(Arrival::Pushed(pushed)) => pushed.name.clone(),
            _ => tag.to_owned(),
        }
    }

    /// How the images of these tags have come to the node.
    pub(crate) fn told(&self, tags: &[String]) -> String {
        let arrivals = self.arrivals.borrow();
        let told = tags.iter().filter_map(|tag| {
            Some(match arrivals.get(tag)? {
                Arrival::Imported => "imported".to_owned(),
                Arrival::AlreadyThere => "already there".to_owned(),
                Arrival::Pushed(pushed) => {
                    let (images, _) = pushed.name.split_once('@')?;
                    format!("pushed to {images}")
                }
            })
        });
        let told: BTreeSet<String> = told.collect();
        told.into_iter().collect::<Vec<_>>().join("; ")
    }

    /// What stays of them though the experiment goes.
    pub(crate) fn stays(&self, tags: &[String]) -> BTreeSet<String> {
        let arrivals = self.arrivals.borrow();
        let stays = tags.iter().filter_map(|tag| match arrivals.get(tag)? {
            Arrival::Pushed(pushed) => {
                let why = pushed.stays.as_ref()?;
                Some(format!(
                    "the image {tag} stays in the registry, which removes none: {why}"
                ))
            }
            Arrival::Imported | Arrival::AlreadyThere => None,
        });
        stays.collect()
    }

    fn arrived(&self, tag: &str) -> Option<Arrival> {
        self.arrivals.borrow().get(tag).cloned()
    }

    /// Removes an image of ours. `at` says where registries were.
    pub(crate) fn remove(
        &self,
        client: &cri::Client,
        tag: &str,
        at: &DaemonVariables,
    ) -> Result<bool, EngineError> {
        let Some(registry) = Registry::of_image(tag, at)? else {
            return STORE.remove_image(client, tag);
        };
        let pusher = Pusher::new(&registry)?;
        let Some(digest) = pusher.digest(tag)? else {
            return Ok(false);
        };
        let name = format!("{}@{digest}", registry.images());
        let pulled = remove_pulled(client, &name, tag)?;
        Ok(pusher.remove(&digest)? | pulled)
    }
}

impl Daemon for NodeStore {
    type Client = cri::Client;

    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn images_name(&self) -> String {
        let registry = Registry::of_this_process().ok().flatten();
        registry.map_or_else(|| IMAGES.to_owned(), |registry| registry.images())
    }

    fn connect(&self) -> Result<cri::Client, EngineError> {
        let cluster = Cluster::connect(&Source::of_this_process()?)?;
        cri::Client::connect(&cluster.node.endpoint())
    }

    fn has_image(&self, client: &cri::Client, tag: &str) -> Result<bool, EngineError> {
        match (self.arrived(tag), Registry::of_this_process()?) {
            (Some(Arrival::Pushed(_)), Some(registry)) => {
                Pusher::new(&registry)?.digest(tag).map(|had| had.is_some())
            }
            _ => STORE.has_image(client, tag),
        }
    }

    fn load_image(
        &self,
        client: &cri::Client,
        contents: &Contents,
        tag: &str,
    ) -> Result<(), EngineError> {
        let arrival = match Registry::of_this_process()? {
            Some(registry) => Arrival::Pushed(Pusher::new(&registry)?.push(contents, tag)?),
            None if STORE.bring(client, contents, tag)? => Arrival::AlreadyThere,
            None => Arrival::Imported,
        };
        self.arrivals.borrow_mut().insert(tag.to_owned(), arrival);
        Ok(())
    }

    fn remove_image(&self, client: &cri::Client, tag: &str) -> Result<bool, EngineError> {
        self.remove(client, tag, &DaemonVariables::of_this_process())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_how_each_image_came_and_what_stays() {
        let store = NodeStore::default();
        let pushed = |stays: Option<&str>| {
            Arrival::Pushed(Pushed {
                name: "rack:5000/stowplan@sha256:1".to_owned(),
                stays: stays.map(str::to_owned),
            })
        };
        let tags = ["a", "b", "c", "d"].map(str::to_owned);
        let arrivals = [
            Arrival::Imported,
            Arrival::AlreadyThere,
            pushed(None),
            pushed(Some("it answers '405 Method Not Allowed'")),
        ];
        store
            .arrivals
            .borrow_mut()
            .extend(tags.clone().into_iter().zip(arrivals));
        assert_eq!(store.told(&tags[..1]), "imported");
        assert_eq!(
            store.told(&tags),
            "already there; imported; pushed to rack:5000/stowplan"
        );
        assert_eq!(store.name("a"), "a");
        assert_eq!(store.name("c"), "rack:5000/stowplan@sha256:1");
        assert!(store.stays(&tags[..3]).is_empty());
        let stays = store.stays(&tags);
        assert!(stays.iter().all(|told| told.contains("405")) && stays.len() == 1);
    }
}
