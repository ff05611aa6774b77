//! A registry that the user names, which images go to instead of into the store of the node.

use std::net::IpAddr;

use oci_client::Reference;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::IMAGES;
use stowplan_host::ledger::DaemonVariables;

/// Variable that names it.
pub(crate) const VARIABLE: &str = "STOWPLAN_KUBE_REGISTRY";
/// How it is named.
const HINT: &str = "set STOWPLAN_KUBE_REGISTRY to HOST:PORT or HOST:PORT/PATH, with 'http://' before it where it has no TLS";

/// Where images are pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registry {
    /// Host, with the port where it has one.
    pub(crate) host: String,
    /// Path of the images on it.
    pub(crate) repository: String,
    /// It is spoken to without TLS.
    pub(crate) is_plain: bool,
}

impl Registry {
    /// The one that the environment of this process names; `None` where it names none.
    pub(crate) fn of_this_process() -> Result<Option<Self>, EngineError> {
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::parse(&text).map(Some),
            _ => Ok(None),
        }
    }

    /// The one that an image of a ledger was pushed to, where it was: `at` says what it was called then.
    pub(crate) fn of_image(tag: &str, at: &DaemonVariables) -> Result<Option<Self>, EngineError> {
        let Some((images, _)) = tag.rsplit_once(':').filter(|(name, _)| *name != IMAGES) else {
            return Ok(None);
        };
        let named = at.get(VARIABLE).and_then(|text| text.into_string().ok());
        let named = named.and_then(|text| Self::parse(&text).ok());
        if let Some(named) = named.filter(|named| named.images() == images) {
            return Ok(Some(named));
        }
        let above = images.strip_suffix("/stowplan").unwrap_or(images);
        Self::parse(above).map(Some)
    }

    fn parse(text: &str) -> Result<Self, EngineError> {
        let (is_plain, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Some(true), rest),
            Some(("https", rest)) => (Some(false), rest),
            Some(_) => return Err(none(text)),
            None => (None, text),
        };
        let rest = rest.trim_end_matches('/');
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let repository = format!("{path}/stowplan");
        let found = Self {
            host: host.to_owned(),
            repository: repository.trim_start_matches('/').to_owned(),
            // As runtimes do it (https://github.com/containerd/containerd/blob/main/docs/hosts.md).
            is_plain: is_plain.unwrap_or_else(|| is_loopback(host)),
        };
        // What is no host would be taken for a folder of another registry.
        let reference = found.reference("1").ok();
        if reference.is_none_or(|reference| reference.registry() != host) {
            return Err(none(text));
        }
        Ok(found)
    }

    /// Name of the images on it, before tag or digest.
    pub(crate) fn images(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }

    /// An image by its tag or digest.
    pub(crate) fn reference(&self, which: &str) -> Result<Reference, EngineError> {
        let mark = if which.contains(':') { '@' } else { ':' };
        let name = format!("{}{mark}{which}", self.images());
        Reference::try_from(name.as_str())
            .map_err(|e| EngineError::new(format!("'{name}' is no name of an image")).because(e))
    }

    /// Where its manifests are.
    pub(crate) fn manifest_url(&self, digest: &str) -> String {
        let scheme = if self.is_plain { "http" } else { "https" };
        let (host, repository) = (&self.host, &self.repository);
        format!("{scheme}://{host}/v2/{repository}/manifests/{digest}")
    }
}

fn none(text: &str) -> EngineError {
    EngineError::new(format!("${VARIABLE} is '{text}', which names no registry")).hint(HINT)
}

/// Whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, bool) {
        let found = Registry::parse(text).unwrap();
        (found.images(), found.is_plain)
    }

    #[test]
    fn a_registry_has_a_host_and_may_have_a_path() {
        let own = |name: &str, is_plain| (name.to_owned(), is_plain);
        assert_eq!(
            parsed("127.0.0.1:5000"),
            own("127.0.0.1:5000/stowplan", true)
        );
        assert_eq!(
            parsed("localhost:5000/"),
            own("localhost:5000/stowplan", true)
        );
        assert_eq!(
            parsed("ghcr.example/team/a"),
            own("ghcr.example/team/a/stowplan", false)
        );
        assert_eq!(parsed("http://rack:5000"), own("rack:5000/stowplan", true));
        assert!(!parsed("https://127.0.0.1:5000").1);
        for text in [
            "team",
            "team/a",
            "ftp://a.b",
            "a b.c",
            ":",
            "/",
            "a.b/UPPER",
        ] {
            let error = Registry::parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("'{text}'")), "{error}");
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn an_image_of_a_ledger_tells_where_it_was_pushed_to() {
        let none = DaemonVariables::default();
        let of = |tag: &str| Registry::of_image(tag, &none).unwrap();
        assert_eq!(of("localhost/stowplan:7-0-ab"), None);
        let pushed = of("rack:5000/team/stowplan:7-0-ab").unwrap();
        assert_eq!(pushed, Registry::parse("rack:5000/team").unwrap());
        assert!(!pushed.is_plain);
        let text = format!(r#"{{"{VARIABLE}": "http://rack:5000/team"}}"#);
        let at: DaemonVariables = serde_json::from_str(&text).unwrap();
        let told = Registry::of_image("rack:5000/team/stowplan:7-0-ab", &at).unwrap();
        assert!(told.unwrap().is_plain);
    }

    #[test]
    fn an_image_has_a_tag_or_a_digest() {
        let registry = Registry::parse("rack:5000").unwrap();
        let digest = format!("sha256:{}", "0".repeat(64));
        let by_digest = registry.reference(&digest).unwrap();
        assert_eq!(by_digest.digest(), Some(digest.as_str()));
        assert_eq!(registry.reference("7-0-ab").unwrap().tag(), Some("7-0-ab"));
        assert_eq!(
            registry.manifest_url(&digest),
            format!("https://rack:5000/v2/stowplan/manifests/{digest}")
        );
    }
}
