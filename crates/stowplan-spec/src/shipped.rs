//! Stacks, partition tables, experiments and scenarios that come with the program.

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../", $folder, "/", $name, ".yaml")))),*]
    };
}

const STACKS: &[(&str, &str)] = files!["stacks":
    "autoware-galactic",
    "autoware-humble",
    "autoware-reference-system",
    "autoware-small",
    "contended",
    "hello",
    "vision",
];

const PARTITIONS: &[(&str, &str)] = files!["stacks/partitions":
    "wen-5", "wen-10", "wen-17", "wen-26", "betz-8",
];

const EXPERIMENTS: &[(&str, &str)] = files!["stacks/experiments":
    "contended-resources",
];

const SCENARIOS: &[(&str, &str)] = files!["stacks/scenarios":
    "parking-to-intersection",
];

/// A file that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// `stack`, `partition`, `experiment` or `scenario`.
    pub kind: &'static str,
    /// Its name, which no other of any kind has.
    pub name: &'static str,
    /// The file as it stands.
    pub text: &'static str,
}

impl Shipped {
    /// What the file says that it is: its `description:` in one line, else its first comment.
    #[must_use]
    pub fn description(&self) -> String {
        let mut lines = self.text.lines();
        match lines.find_map(|line| line.strip_prefix("description: ")) {
            // Folded: the indented lines that follow.
            Some(">-") => {
                let folded = lines.map_while(|line| line.strip_prefix("  "));
                folded.map(str::trim).collect::<Vec<_>>().join(" ")
            }
            Some(line) => line.to_owned(),
            None => {
                let first = self.text.lines().next().unwrap_or_default();
                let first = first.trim_start_matches("# ");
                let after_name = first.strip_prefix(self.name).unwrap_or(first);
                after_name.trim_start_matches(": ").to_owned()
            }
        }
    }
}

/// Every file that comes with the program: stacks, partition tables, experiments, scenarios.
pub fn all_shipped() -> impl Iterator<Item = Shipped> {
    let kinds = [
        ("stack", STACKS),
        ("partition", PARTITIONS),
        ("experiment", EXPERIMENTS),
        ("scenario", SCENARIOS),
    ];
    kinds.into_iter().flat_map(|(kind, files)| {
        let of_kind = files.iter();
        of_kind.map(move |&(name, text)| Shipped { kind, name, text })
    })
}

fn find(files: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    files
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, text)| *text)
}

/// The text of the shipped stack `name`.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    find(STACKS, name)
}

/// Names of the shipped stacks.
pub fn shipped_names() -> impl Iterator<Item = &'static str> {
    STACKS.iter().map(|(name, _)| *name)
}

/// The text of the shipped partition table `name`.
#[must_use]
pub fn shipped_partition(name: &str) -> Option<&'static str> {
    find(PARTITIONS, name)
}

/// Names of the shipped partition tables.
pub fn shipped_partition_names() -> impl Iterator<Item = &'static str> {
    PARTITIONS.iter().map(|(name, _)| *name)
}

/// The text of the shipped experiment `name`.
#[must_use]
pub fn shipped_experiment(name: &str) -> Option<&'static str> {
    find(EXPERIMENTS, name)
}

/// Names of the shipped experiments.
pub fn shipped_experiment_names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(name, _)| *name)
}

/// The text of the shipped scenario `name`.
#[must_use]
pub fn shipped_scenario(name: &str) -> Option<&'static str> {
    find(SCENARIOS, name)
}

/// Names of the shipped scenarios.
pub fn shipped_scenario_names() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_has_a_name_of_its_own_and_a_description() {
        let mut names: Vec<&str> = all_shipped().map(|file| file.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for file in all_shipped() {
            assert!(file.description().len() > 10, "{file:?}");
        }
    }
}
