//! Names and labels of what is made here.

use std::collections::HashMap;
use std::hash::BuildHasher;

/// Label of everything that is made here: the run.
pub const RUN: &str = "stowplan.run";
/// Label of a service's container: the service.
pub const SERVICE: &str = "stowplan.service";
/// Name of images made here, before the colon; the registry part keeps daemons from looking for it elsewhere.
pub const IMAGES: &str = "localhost/stowplan";

/// Name of the container of a service.
#[must_use]
pub fn of_service(run: &str, service: &str) -> String {
    plain(&format!("stowplan-{run}-{service}"))
}

/// Name of the container that stands for the network of a run.
#[must_use]
pub fn of_ground(run: &str) -> String {
    plain(&format!("stowplan.{run}"))
}

/// What every daemon takes as a name.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// Labels of a container.
#[must_use]
pub fn labels(run: &str, service: Option<&str>) -> HashMap<String, String> {
    let mut labels = HashMap::from([(RUN.to_owned(), run.to_owned())]);
    labels.extend(service.map(|service| (SERVICE.to_owned(), service.to_owned())));
    labels
}

/// Whether a container of this name with these labels was made here: name and labels have to say the same.
#[must_use]
pub fn is_ours<S: BuildHasher>(name: &str, labels: Option<&HashMap<String, String, S>>) -> bool {
    let Some(labels) = labels else { return false };
    match (labels.get(RUN), labels.get(SERVICE)) {
        (Some(run), Some(service)) => of_service(run, service) == name,
        (Some(run), None) => of_ground(run) == name,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_ours_when_name_and_labels_agree() {
        let labelled = labels("7-1", Some("a/b"));
        assert_eq!(of_service("7-1", "a/b"), "stowplan-7-1-a-b");
        assert!(is_ours("stowplan-7-1-a-b", Some(&labelled)));
        assert!(is_ours("stowplan.7-1", Some(&labels("7-1", None))));
        for (name, labels) in [
            ("stowplan-7-1-a-b", None),
            ("stowplan-7-1-a-b", Some(HashMap::new())),
            ("stowplan-7-1-c", Some(labelled.clone())),
            ("stowplan-7-1-a-b", Some(labels("7-1", None))),
        ] {
            assert!(!is_ours(name, labels.as_ref()), "{name} {labels:?}");
        }
    }
}
