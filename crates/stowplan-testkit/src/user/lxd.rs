//! LXD and Incus: their API, as their user would call it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Labelled, NOT_OURS, User, ask};

/// The storage pool of a user's instances.
const POOL: &str = "users-own";
/// Key of a run.
const RUN_KEY: &str = "user.stowplan.run";
/// Key of a service.
const SERVICE_KEY: &str = "user.stowplan.service";
/// Property of an image made here: its tag.
const IMAGE_KEY: &str = "stowplan.image";

/// A server that speaks LXD's API on a unix socket.
#[derive(Debug, Clone)]
pub struct InstanceServer {
    socket: PathBuf,
}

impl InstanceServer {
    /// The server of the engine of this name: in the folder that the environment names, else where root has it.
    ///
    /// # Panics
    /// When no engine of this name has such a server.
    #[must_use]
    pub fn of(engine: &str) -> Self {
        let (variable, place) = match engine {
            "lxd" => ("LXD_DIR", "/var/lib/lxd"),
            "incus" => ("INCUS_DIR", "/var/lib/incus"),
            other => panic!("no server of '{other}'"),
        };
        let folder = std::env::var_os(variable).map_or_else(|| place.into(), PathBuf::from);
        Self::at(&folder)
    }

    /// The server with its socket in this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            socket: folder.join("unix.socket"),
        }
    }

    /// Sends a request, waits for the end of what it begins, and gives status and metadata.
    fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let ask = |method: &str, path: &str, body: &str| {
            ask(&self.socket, method, path, body.as_bytes()).expect("the server answers")
        };
        let (status, answer) = ask(method, path, body);
        match answer["operation"].as_str() {
            Some(operation) if !operation.is_empty() => {
                let (_, ended) = ask("GET", &format!("{operation}/wait"), "");
                let code = ended["metadata"]["status_code"].as_u64();
                let code = code.and_then(|code| code.try_into().ok());
                (code.unwrap_or(status), ended["metadata"].clone())
            }
            _ if answer["metadata"].is_null() => (status, answer["error"].clone()),
            _ => (status, answer["metadata"].clone()),
        }
    }

    /// Makes the pool of a user's instances with a driver of its own choice.
    ///
    /// # Errors
    /// What the server says, where it cannot.
    pub fn make_pool(&self, driver: &str) -> Result<(), String> {
        // A folder has no size.
        let config = if driver == "dir" {
            ""
        } else {
            r#""size": "1GiB""#
        };
        let body = format!(r#"{{"name": "{POOL}", "driver": "{driver}", "config": {{{config}}}}}"#);
        match self.call("POST", "/1.0/storage-pools", &body) {
            (200 | 201, _) => Ok(()),
            (_, said) => Err(said.to_string()),
        }
    }

    /// Removes it.
    ///
    /// # Panics
    /// When something is left in it.
    pub fn remove_pool(&self) {
        let (status, said) = self.call("DELETE", &format!("/1.0/storage-pools/{POOL}"), "");
        assert_eq!(status, 200, "{said}");
    }

    /// Where the server has mounted it.
    ///
    /// # Panics
    /// When the socket is in no folder.
    #[must_use]
    pub fn pool_folder(&self) -> PathBuf {
        let folder = self.socket.parent().expect("a folder");
        folder.join("storage-pools").join(POOL)
    }

    /// What is listed at `path`.
    fn list(&self, path: &str) -> Vec<Value> {
        let (_, list) = self.call("GET", &format!("{path}?recursion=1"), "");
        list.as_array().expect("a list").clone()
    }
}

/// A value as text.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl User for InstanceServer {
    fn labelled(&self) -> Vec<Labelled> {
        let all = self.list("/1.0/instances").into_iter();
        let labelled = all.filter_map(|one| {
            Some(Labelled {
                name: text(&one["name"]).expect("a name"),
                run: text(&one["config"][RUN_KEY])?,
                service: text(&one["config"][SERVICE_KEY]),
            })
        });
        labelled.collect()
    }

    fn images(&self) -> Vec<String> {
        let all = self.list("/1.0/images").into_iter();
        all.filter_map(|image| text(&image["properties"][IMAGE_KEY]))
            .collect()
    }

    fn pools(&self) -> Vec<String> {
        let all = self.list("/1.0/storage-pools").into_iter();
        all.filter_map(|pool| text(&pool["name"])).collect()
    }

    fn remove_image(&self, tag: &str) {
        for image in self.list("/1.0/images") {
            if text(&image["properties"][IMAGE_KEY]).as_deref() == Some(tag) {
                let fingerprint = text(&image["fingerprint"]).expect("a fingerprint");
                let (status, said) = self.call("DELETE", &format!("/1.0/images/{fingerprint}"), "");
                assert_eq!(status, 200, "{said}");
            }
        }
    }

    fn make(&self, name: &str) {
        if !self.pools().iter().any(|pool| pool == POOL) {
            self.make_pool("dir").expect("a pool can be made");
        }
        let body = format!(
            r#"{{"name": "{name}", "type": "container", "source": {{"type": "none"}}, "profiles": [],
                "config": {{"{RUN_KEY}": "{NOT_OURS}"}},
                "devices": {{"root": {{"type": "disk", "path": "/", "pool": "{POOL}"}}}}}}"#
        );
        let (status, said) = self.call("POST", "/1.0/instances", &body);
        assert_eq!(status, 200, "{said}");
    }

    fn has(&self, name: &str) -> bool {
        let (status, _) = self.call("GET", &format!("/1.0/instances/{name}"), "");
        status == 200
    }

    fn remove(&self, name: &str) {
        let (status, said) = self.call("DELETE", &format!("/1.0/instances/{name}"), "");
        assert_eq!(status, 200, "{said}");
        // As long as another instance is in it, it stays.
        let _ = self.call("DELETE", &format!("/1.0/storage-pools/{POOL}"), "");
    }
}
