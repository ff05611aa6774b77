//! Every warning, once.

use serde::Serialize;

use crate::figures::Figures;

/// A warning with the number of deployments that it is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// The text, with the name of the deployment where it is of one.
    pub text: String,
    /// Deployments that have it; 1 where it is of none in particular.
    pub count: usize,
}

/// Warnings that differ in nothing but the deployment that they begin with, and in numbers, are one.
pub(super) fn all(figures: &Figures) -> Vec<Repeated> {
    let labels = figures.experiment.deployments.iter().map(|d| &*d.label);
    let labels: Vec<&str> = labels.filter(|label| !label.is_empty()).collect();
    let mut groups: Vec<Group> = Vec::new();
    for text in figures.warnings() {
        let group = Group::of(text, &labels);
        match groups.iter_mut().find(|g| g.kind == group.kind) {
            Some(known) => {
                known.count += 1;
                known.is_equal &= known.rest == group.rest;
            }
            None => groups.push(group),
        }
    }
    groups.into_iter().map(Group::told).collect()
}

/// Warnings of one kind.
struct Group {
    /// Without the deployment and its numbers.
    kind: String,
    /// Of the first: without the deployment.
    rest: String,
    /// Of the first: all of it.
    text: String,
    count: usize,
    is_equal: bool,
}

impl Group {
    fn of(text: String, labels: &[&str]) -> Self {
        let rest = labels.iter().filter_map(|label| text.strip_prefix(*label));
        let rest = rest.filter(|rest| rest.starts_with([':', ' ']));
        let rest = rest.min_by_key(|rest| rest.len());
        // What is of no deployment is a kind of its own, numbers and all.
        let kind = rest.map_or_else(
            || text.clone(),
            |rest| rest.replace(|c: char| c.is_ascii_digit(), ""),
        );
        Self {
            kind,
            rest: rest.unwrap_or(&text).to_owned(),
            text,
            count: 1,
            is_equal: true,
        }
    }

    fn told(self) -> Repeated {
        let count = self.count;
        let text = match (count, self.is_equal) {
            (1, _) => self.text,
            (_, true) => format!("{count} deployments{}", self.rest),
            (_, false) => format!("{count} deployments, such as {}", self.text),
        };
        Repeated { text, count }
    }
}
