//! The storage pool that root file systems are in: the user's, or one of ours that goes with the engine.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{container_entry, of_ground};
use stowplan_host::Host;
use stowplan_host::ledger::{Ledger, Object, folder};

use crate::api::{Instance, PoolInfo, Profile, root_pool};
use crate::client::Client;
use crate::config::{self, Ground};
use crate::{Server, fleet, names};

/// The driver that works on every file system.
const DRIVER: &str = "dir";

/// The pool of our own that one engine of this process has made, if it had to.
pub(crate) struct Pool {
    server: Server,
    number: u32,
    own: Option<(String, Ledger)>,
}

impl Pool {
    pub(crate) fn new(server: Server) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            server,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            own: None,
        }
    }

    /// The pool of the user's default profile, else the first that the user has, else one of ours.
    pub(crate) fn choose(&mut self, client: &Client) -> Result<PoolInfo, EngineError> {
        let pools = all(client)?;
        let profile = client.serving().wait(client.get("/1.0/profiles/default"));
        let profile: Profile = match profile {
            Err(error) if error.is_absent() => Profile::default(),
            other => other.map_err(|error| client.error("tell its default profile", error))?,
        };
        if let Some(found) = choice(&pools, root_pool(&profile.devices)) {
            return Ok(found.clone());
        }
        let name = self.make(client)?;
        Ok(PoolInfo {
            name,
            driver: DRIVER.to_owned(),
            config: std::collections::HashMap::new(),
        })
    }

    /// Whether it has made one.
    pub(crate) const fn is_ours(&self) -> bool {
        self.own.is_some()
    }

    fn make(&mut self, client: &Client) -> Result<String, EngineError> {
        if let Some((name, _)) = &self.own {
            return Ok(name.clone());
        }
        let engine = self.server.name();
        let name = format!("{}{}-{}", names::POOLS, std::process::id(), self.number);
        let mut ledger = Ledger::open(&folder()?, &format!("{engine}-pool-{}", self.number))?;
        ledger.enter(&object(self.server, &name))?;
        self.own = Some((name.clone(), ledger));
        let body = json!({"name": name, "driver": DRIVER, "config": {names::POOL: name}});
        let made = client.ask(Method::POST, "/1.0/storage-pools", &body, Duration::ZERO);
        client
            .serving()
            .wait(made)
            .map_err(|error| client.error(format!("make the storage pool {name}"), error))?;
        Ok(name)
    }

    /// Removes the one of ours, if there is one.
    pub(crate) fn remove_own(&mut self) -> Result<(), EngineError> {
        let Some((name, mut ledger)) = self.own.take() else {
            return Ok(());
        };
        let removed = Client::connect(self.server).and_then(|client| remove(&client, &name));
        if removed.is_ok() {
            ledger.gone(&object(self.server, &name));
        }
        removed.and(ledger.close().map_err(EngineError::from))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // What could not be removed stands in the ledger, and nobody is left to tell.
        let _ = self.remove_own();
    }
}

fn object(server: Server, name: &str) -> Object {
    Object::Pool {
        engine: server.name().to_owned(),
        name: name.to_owned(),
    }
}

/// The server's pools, asked for one by one. LXD refuses its list with details when one of them goes meanwhile, such as
/// the pool of another run.
fn all(client: &Client) -> Result<Vec<PoolInfo>, EngineError> {
    let paths: Vec<String> = client
        .serving()
        .wait(client.list("/1.0/storage-pools"))
        .map_err(|error| client.error("tell its storage pools", error))?;
    let pools = paths.iter().map(|path| one(client, path));
    pools.filter_map(Result::transpose).collect()
}

/// The pool at this path of the server, if there is one.
fn one(client: &Client, path: &str) -> Result<Option<PoolInfo>, EngineError> {
    match client.serving().wait(client.get(path)) {
        Ok(pool) => Ok(Some(pool)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(client.error("tell its storage pools", error)),
    }
}

/// Whether a pool was made here, by this process or another.
fn is_ours(pool: &PoolInfo) -> bool {
    pool.name.starts_with(names::POOLS) && pool.config.get(names::POOL) == Some(&pool.name)
}

fn choice<'a>(pools: &'a [PoolInfo], of_profile: Option<&String>) -> Option<&'a PoolInfo> {
    let users: Vec<&PoolInfo> = pools.iter().filter(|pool| !is_ours(pool)).collect();
    let named = of_profile.and_then(|name| users.iter().find(|pool| pool.name == **name));
    named
        .copied()
        .or_else(|| users.into_iter().min_by_key(|pool| &pool.name))
}

/// Removes a pool of ours with what a dead run left in it. Whether there was one; one of this name that was not made
/// here stays.
pub(crate) fn remove(client: &Client, name: &str) -> Result<bool, EngineError> {
    let failed = |error| client.error(format!("remove the storage pool {name}"), error);
    let path = format!("/1.0/storage-pools/{name}");
    if !one(client, &path)?.is_some_and(|pool| is_ours(&pool)) {
        return Ok(false);
    }
    let instances = client.list("/1.0/instances?recursion=1");
    let instances: Vec<Instance> = client.serving().wait(instances).map_err(failed)?;
    for instance in instances {
        if root_pool(&instance.expanded_devices).is_some_and(|pool| pool == name) {
            client
                .serving()
                .wait(fleet::remove_instance(client, &instance.name))?;
        }
    }
    let removed = client.ask(Method::DELETE, &path, &Value::Null, Duration::ZERO);
    match client.serving().wait(removed) {
        Ok(()) => Ok(true),
        Err(error) if error.is_absent() => Ok(true),
        Err(error) => Err(failed(error)),
    }
}

/// Has the pool unpack these images, where it does so once and not for each instance: a start finds them as the next one does.
pub(crate) fn unpack(
    client: &Client,
    ground: &Ground<'_>,
    pool: &PoolInfo,
    images: &BTreeSet<String>,
    run: &str,
    host: &dyn Host,
) -> Result<(), EngineError> {
    if pool.driver == DRIVER {
        return Ok(());
    }
    let serving = client.serving();
    for image in images {
        let path = format!("/1.0/storage-pools/{}/volumes/image/{image}", pool.name);
        let found: Result<Value, _> = serving.wait(client.get(&path));
        match found {
            Ok(_) => continue,
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(client.error("tell of a storage volume", error)),
        }
        let name = of_ground(run);
        let instance = names::instance(&name);
        let entry = container_entry(client.server().name(), &name);
        host.enter(&entry)?;
        let request = config::nothing(ground, run, image)?;
        let made = serving.wait(fleet::make(client, &instance, &request));
        serving.wait(fleet::remove_instance(client, &instance))?;
        host.gone(&entry);
        made?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_pool_is_taken_and_another_runs_is_not() {
        let pool = |name: &str, ours: bool| PoolInfo {
            name: name.to_owned(),
            driver: "zfs".to_owned(),
            config: [(names::POOL.to_owned(), name.to_owned())]
                .into_iter()
                .filter(|_| ours)
                .collect(),
        };
        let pools = [
            pool("stowplan-7-0", true),
            pool("z", false),
            pool("b", false),
            pool("stowplan-mine", false),
        ];
        let chosen = |of_profile: Option<&str>| {
            let of_profile = of_profile.map(str::to_owned);
            choice(&pools, of_profile.as_ref()).unwrap().name.clone()
        };
        assert_eq!(chosen(Some("z")), "z");
        assert_eq!(chosen(None), "b");
        assert_eq!(chosen(Some("stowplan-7-0")), "b");
        assert!(choice(&pools[..1], None).is_none());
    }
}
