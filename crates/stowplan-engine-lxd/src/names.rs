//! Names and keys of what is made here.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use stowplan_engine_daemon::{RUN, SERVICE, of_ground, of_service};

/// Longest name of an instance (LXD, `shared/validate`, `IsHostname`).
const LONGEST: usize = 63;
/// What the names of our own storage pools begin with.
pub(crate) const POOLS: &str = "stowplan-";
/// Key of our own storage pools, whose value is their name.
pub(crate) const POOL: &str = "user.stowplan.pool";
/// Property of our images: their tag.
pub(crate) const IMAGE: &str = "stowplan.image";
/// What the keys of users begin with.
const USER: &str = "user.";

/// Name of the instance of a container of this name: letters, digits and dashes, as host names have them. Where that
/// changes the name, part of its digest keeps two apart.
pub(crate) fn instance(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    if plain == name && plain.len() <= LONGEST && !plain.ends_with('-') {
        return plain;
    }
    let digest = Sha256::digest(name);
    let short = hex::encode(&digest[..4]);
    let longest = LONGEST - short.len() - 1;
    format!("{}-{short}", &plain[..plain.len().min(longest)])
}

/// Keys of an instance of the run, and of a service where it has one.
pub(crate) fn keys(run: &str, service: Option<&str>) -> Map<String, Value> {
    stowplan_engine_daemon::labels(run, service)
        .into_iter()
        .map(|(key, value)| (format!("{USER}{key}"), Value::String(value)))
        .collect()
}

/// Whether an instance of this name with this configuration was made here: name and keys have to say the same.
pub(crate) fn is_ours(name: &str, config: &HashMap<String, String>) -> bool {
    let of = |key: &str| config.get(&format!("{USER}{key}"));
    match (of(RUN), of(SERVICE)) {
        (Some(run), Some(service)) => instance(&of_service(run, service)) == name,
        (Some(run), None) => instance(&of_ground(run)) == name,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_the_name_of_a_host() {
        assert_eq!(instance("stowplan-7-1-sensing"), "stowplan-7-1-sensing");
        let long = "x".repeat(80);
        for name in ["stowplan.7-1", "stowplan-7_1-a", "ends-", &long] {
            let made = instance(name);
            assert!(made.len() <= LONGEST, "{made}");
            assert!(
                made.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
                "{made}"
            );
            assert!(!made.ends_with('-'), "{made}");
        }
        assert_ne!(instance("stowplan-7.1"), instance("stowplan-7_1"));
        let longer = format!("{long}y");
        assert_ne!(instance(&long), instance(&longer));
    }

    #[test]
    fn an_instance_is_ours_when_name_and_keys_agree() {
        let config = |run: &str, service: Option<&str>| -> HashMap<String, String> {
            let keys = keys(run, service).into_iter();
            keys.map(|(key, value)| (key, value.as_str().unwrap().to_owned()))
                .collect()
        };
        let keyed = config("7-1", Some("a_b"));
        assert!(keyed.contains_key("user.stowplan.run"), "{keyed:?}");
        let name = instance("stowplan-7-1-a_b");
        assert!(is_ours(&name, &keyed));
        assert!(is_ours(&instance("stowplan.7-1"), &config("7-1", None)));
        for (name, config) in [
            (name.as_str(), HashMap::new()),
            ("stowplan-7-1-c", keyed.clone()),
            (name.as_str(), config("7-1", None)),
        ] {
            assert!(!is_ours(name, &config), "{name} {config:?}");
        }
    }
}
