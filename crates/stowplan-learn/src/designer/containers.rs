//! Which container a node is in, and what that container is.

use std::collections::BTreeMap;

use glob::Pattern;
use stowplan_model::Executor;

use super::files::{Group, State};
use super::tree::Place;
use super::yaml::Text;
use crate::draft::DraftProcess;
use crate::error::{ImportError, Warnings};
use crate::names;

/// What a group's type means: whether the executor has several threads, and whether messages are handed
/// over by pointer. Source: `NODE_GROUP_CONTAINER_SPECS` of the designer's `node_groups.py`.
const KINDS: [(&str, bool, bool); 4] = [
    ("ros2_component_container", false, false),
    ("ros2_component_container_mt", true, false),
    ("ros2_component_container_ipc", false, true),
    ("ros2_component_container_mt_ipc", true, true),
];

/// A container of components.
pub(super) struct Container {
    /// Name of its process.
    pub name: String,
    /// Whether its executor has several threads.
    pub several: bool,
    /// Whether its components hand messages over by pointer.
    pub intra_process: bool,
}

impl Container {
    /// The process, or that of a node of its own where there is no container.
    pub fn process(container: Option<&Self>, own: &str) -> DraftProcess {
        let several = container.is_some_and(|container| container.several);
        DraftProcess {
            name: container
                .map_or(own, |container| &container.name)
                .to_owned(),
            executor: if several {
                Executor::Multi { threads: 2 }
            } else {
                Executor::Single
            },
            component_container: container.is_some(),
            comment: if several {
                "threads are assumed: a design does not say how many".to_owned()
            } else {
                String::new()
            },
        }
    }
}

/// The groups of a system with their patterns.
pub(super) struct Groups<'a>(Vec<Known<'a>>);

struct Known<'a> {
    name: &'a Text,
    patterns: Vec<Member>,
    several: bool,
    intra_process: bool,
}

/// How a group names its nodes: a pattern, or a path with all that is below it.
enum Member {
    Pattern(Pattern),
    Path(String),
}

impl Member {
    fn of(text: &Text) -> Result<Self, ImportError> {
        let path = format!("/{}", text.value.trim().trim_matches('/'));
        if !path.contains(['*', '?', '[']) {
            return Ok(Self::Path(path));
        }
        let pattern = Pattern::new(&path);
        pattern.map(Self::Pattern).map_err(|error| {
            let message = format!("'{}' is no pattern: {error}", text.value);
            text.place.says(message)
        })
    }

    /// As `fnmatch` of Python: `*` is any text, slashes too.
    fn means(&self, node: &str) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.matches(node),
            Self::Path(path) => node
                .strip_prefix(path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        }
    }
}

impl<'a> Groups<'a> {
    /// Refuses a type that is not known.
    pub fn new(groups: &'a [Group]) -> Result<Self, ImportError> {
        let known = groups.iter().map(|group| {
            let (several, intra_process) = match &group.kind {
                None => (false, false),
                Some(kind) => kind_of(kind)?,
            };
            Ok(Known {
                name: &group.name,
                patterns: group
                    .nodes
                    .iter()
                    .map(Member::of)
                    .collect::<Result<_, _>>()?,
                several,
                intra_process,
            })
        });
        Ok(Self(known.collect::<Result<_, _>>()?))
    }

    /// The groups that have a node of this path; the last one counts.
    fn of<'b>(&'b self, path: &'b str) -> impl DoubleEndedIterator<Item = &'b Known<'a>> {
        let groups = self.0.iter();
        groups.filter(move |group| group.patterns.iter().any(|member| member.means(path)))
    }

    /// Warns of groups that have no node, and of nodes that several have.
    pub fn check(&self, places: &[Place], warnings: &mut Warnings) {
        let nodes = places.iter().filter(|place| place.node.is_some());
        let mut used = Vec::new();
        for place in nodes {
            let groups: Vec<&Known<'_>> = self.of(&place.path).collect();
            if let [first, .., last] = groups.as_slice() {
                let message = format!(
                    "{} is in the group '{}' too, which counts",
                    place.path, last.name.value
                );
                warnings.add(first.name.place.says(message));
            }
            used.extend(groups.iter().map(|group| &group.name.value));
        }
        for group in &self.0 {
            if !used.contains(&&group.name.value) {
                let message = format!("no node is in the group '{}'", group.name.value);
                warnings.add(group.name.place.says(message));
            }
        }
    }

    /// The container of a node: its group's, the one that it is, or the one that it names. `named` has the
    /// names of nodes by their paths.
    pub fn container(
        &self,
        place: &Place,
        own: &str,
        named: &BTreeMap<&str, &String>,
    ) -> Option<Container> {
        if let Some(group) = self.of(&place.path).next_back() {
            return Some(Container {
                name: names::clean(&group.name.value),
                several: group.several,
                intra_process: group.intra_process,
            });
        }
        let launch = place.node.as_ref()?.launch.changed_by(&place.launch);
        let name = match (launch.state, launch.container) {
            (Some(State::Container), _) => own.to_owned(),
            (Some(State::Component), Some(container)) => match named.get(container.as_str()) {
                Some(name) => (*name).clone(),
                None => names::clean(names::parts(&container).last().copied().unwrap_or_default()),
            },
            _ => return None,
        };
        let executable = launch.executable.unwrap_or_default();
        let is_own = launch.state == Some(State::Container);
        Some(Container {
            name,
            several: is_own && executable.contains("container_mt"),
            intra_process: false,
        })
    }
}

fn kind_of(kind: &Text) -> Result<(bool, bool), ImportError> {
    let known = KINDS.iter().find(|(name, ..)| *name == kind.value);
    known
        .map(|&(_, several, intra_process)| (several, intra_process))
        .ok_or_else(|| {
            let names = KINDS.map(|(name, ..)| name).join(", ");
            let message = format!("a container '{}' is not known, only {names}", kind.value);
            kind.place.says(message)
        })
}

#[cfg(test)]
mod tests {
    use super::super::yaml::{Text, Yaml};
    use super::*;

    #[test]
    fn patterns_of_groups() {
        for (pattern, path, is) in [
            ("/sensing", "/sensing/driver", true),
            ("sensing/", "/sensing/driver", true),
            ("/sensing", "/sensing_2/driver", false),
            ("/sensing/*", "/sensing/lidar/driver", true),
            ("/*/driver", "/sensing/driver", true),
            ("/s?nsing/driver", "/sensing/driver", true),
            ("/sensing/[de]river", "/sensing/driver", true),
            ("/sensing/[!d]river", "/sensing/driver", false),
            ("/*/other", "/sensing/driver", false),
            ("/", "/sensing/driver", true),
        ] {
            let Ok(Yaml::Text(text)) = Yaml::read(&format!("{pattern:?}"), "f") else {
                panic!("{pattern} is a text");
            };
            let text: Text = text;
            assert_eq!(
                Member::of(&text).unwrap().means(path),
                is,
                "{pattern} {path}"
            );
        }
    }
}
