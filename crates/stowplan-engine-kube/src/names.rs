//! Names of what is made here, as Kubernetes takes them, and how it is told again.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};
use stowplan_engine_daemon::{RUN, SERVICE, is_ours};

/// Annotation with the name that a ledger has.
pub(crate) const NAME: &str = "stowplan.name";
/// Annotation of a namespace: who has made it.
pub(crate) const OWNER: &str = "stowplan.owner";
/// Label that all tools know.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value.
const STOWPLAN: &str = "stowplan";
/// Longest name of a namespace and value of a label (RFC 1123, "label").
const LONGEST: usize = 63;

/// What Kubernetes takes as a name: as it is where it takes that, else with a number that two different ones do not share.
pub(crate) fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let text: String = lower
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect();
    let text = text.trim_matches('-');
    if text == name && text.len() <= LONGEST {
        return text.to_owned();
    }
    let digest = Sha256::digest(name);
    let number = hex::encode(&digest[..4]);
    let kept: String = text.chars().take(LONGEST - 1 - number.len()).collect();
    format!("{}-{number}", kept.trim_end_matches('-'))
}

/// The namespace that a ledger has under this name.
pub(crate) fn namespace(name: &str) -> String {
    plain(&name.replacen('.', "-", 1))
}

/// Labels of what is made here: by them a user finds it, and a watch.
pub(crate) fn labels(run: &str, service: Option<&str>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        (MANAGED_BY.to_owned(), STOWPLAN.to_owned()),
        (RUN.to_owned(), plain(run)),
    ]);
    labels.extend(service.map(|service| (SERVICE.to_owned(), plain(service))));
    labels
}

/// What picks out everything that is made here.
pub(crate) fn selector() -> String {
    format!("{MANAGED_BY}={STOWPLAN}")
}

/// Annotations, which have the words as they are.
pub(crate) fn annotations(
    name: &str,
    run: &str,
    service: Option<&str>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        (NAME.to_owned(), name.to_owned()),
        (RUN.to_owned(), run.to_owned()),
    ]);
    all.extend(service.map(|service| (SERVICE.to_owned(), service.to_owned())));
    all
}

/// Whether something with these annotations was made here under this name of a ledger.
pub(crate) fn is_named(name: &str, annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.is_some_and(|all| {
        let words: HashMap<String, String> = all.clone().into_iter().collect();
        all.get(NAME).is_some_and(|has| has == name) && is_ours(name, Some(&words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_kubernetes_takes_stays_and_others_stay_different() {
        assert_eq!(plain("stowplan-7-1-sensing"), "stowplan-7-1-sensing");
        assert_eq!(namespace("stowplan.7-1"), "stowplan-7-1");
        let odd = ["a/B", "a_B", "a.B", "-a", "a"].map(plain);
        for (at, one) in odd.iter().enumerate() {
            assert!(!odd[..at].contains(one), "{odd:?}");
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(one.chars().all(fits) && !one.starts_with('-'), "{one}");
        }
        let long = plain(&"x".repeat(200));
        assert_eq!(long.len(), LONGEST);
        assert_ne!(long, plain(&"x".repeat(201)));
    }

    #[test]
    fn what_is_ours_says_so_in_its_name_and_its_annotations() {
        let made = annotations("stowplan-7-1-a", "7-1", Some("a"));
        assert!(is_named("stowplan-7-1-a", Some(&made)));
        assert!(!is_named("stowplan-7-1-b", Some(&made)));
        assert!(!is_named("stowplan-7-1-a", None));
        let users = annotations("stowplan-7-1-a", "another", None);
        assert!(!is_named("stowplan-7-1-a", Some(&users)));
        assert_eq!(labels("7-1", None).len(), 2);
    }
}
