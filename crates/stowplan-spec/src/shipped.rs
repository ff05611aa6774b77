//! Stacks and partition tables that come with the program.

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../", $folder, "/", $name, ".yaml")))),*]
    };
}

const STACKS: &[(&str, &str)] = files!["stacks":
    "autoware-galactic",
    "autoware-humble",
    "autoware-reference-system",
    "contended",
    "hello",
];

const PARTITIONS: &[(&str, &str)] = files!["stacks/partitions":
    "wen-5", "wen-10", "wen-17", "wen-26", "betz-8",
];

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
