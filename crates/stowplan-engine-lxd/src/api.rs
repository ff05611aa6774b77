//! What the server answers (LXD, `doc/rest-api.yaml`): the parts that are used.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// The envelope of every answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    /// `sync`, `async` or `error`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Path of the operation of an `async` one.
    #[serde(default)]
    pub(crate) operation: String,
    /// HTTP status of an `error`.
    #[serde(default)]
    pub(crate) error_code: u16,
    /// Text of an `error`.
    #[serde(default)]
    pub(crate) error: String,
    #[serde(default)]
    pub(crate) metadata: Value,
}

/// An operation that has ended.
#[derive(Debug, Deserialize)]
pub(crate) struct Operation {
    /// 200 when it has succeeded.
    pub(crate) status_code: u16,
    #[serde(default)]
    pub(crate) err: String,
}

/// `GET /1.0`.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerInfo {
    pub(crate) api_version: String,
    pub(crate) environment: Environment,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Environment {
    /// `lxd` or `incus`.
    pub(crate) server: String,
    pub(crate) server_version: String,
    /// Pid on its host.
    pub(crate) server_pid: u32,
    /// `lxc` with the version of liblxc; several are divided by ` | `.
    pub(crate) driver: String,
    pub(crate) driver_version: String,
}

/// `GET /1.0/storage-pools/NAME`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PoolInfo {
    pub(crate) name: String,
    pub(crate) driver: String,
    #[serde(default)]
    pub(crate) config: HashMap<String, String>,
}

/// `GET /1.0/profiles/NAME`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Profile {
    #[serde(default)]
    pub(crate) devices: HashMap<String, HashMap<String, String>>,
}

/// `GET /1.0/instances/NAME`.
#[derive(Debug, Deserialize)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) config: HashMap<String, String>,
    #[serde(default)]
    pub(crate) expanded_devices: HashMap<String, HashMap<String, String>>,
}

/// `GET /1.0/images?recursion=1`.
#[derive(Debug, Deserialize)]
pub(crate) struct ImageInfo {
    pub(crate) fingerprint: String,
    #[serde(default)]
    pub(crate) properties: HashMap<String, String>,
}

/// A message of `/1.0/events?type=lifecycle`.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    /// RFC 3339.
    pub(crate) timestamp: String,
    pub(crate) metadata: Lifecycle,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lifecycle {
    /// `instance-started` and the like.
    pub(crate) action: String,
    /// `/1.0/instances/NAME`, perhaps with a query.
    pub(crate) source: String,
}

/// The root disk among devices.
pub(crate) fn root_pool(devices: &HashMap<String, HashMap<String, String>>) -> Option<&String> {
    let is_root = |device: &&HashMap<String, String>| {
        device.get("type").is_some_and(|kind| kind == "disk")
            && device.get("path").is_some_and(|path| path == "/")
    };
    devices.values().find(is_root)?.get("pool")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_that_of_the_disk_on_the_root() {
        let profile: Profile = serde_json::from_value(serde_json::json!({
            "name": "default",
            "devices": {
                "eth0": {"type": "nic", "network": "lxdbr0"},
                "data": {"type": "disk", "path": "/data", "pool": "other"},
                "root": {"type": "disk", "path": "/", "pool": "fast"},
            }
        }))
        .unwrap();
        assert_eq!(root_pool(&profile.devices).unwrap(), "fast");
        assert_eq!(root_pool(&Profile::default().devices), None);
    }
}
