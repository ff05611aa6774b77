//! What tests of the repository read of it.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose files are no part of the programs.
const OTHERS: [&str; 7] = [
    "benches",
    "examples",
    "fuzz",
    "node_modules",
    "stowplan-testkit",
    "target",
    "tests",
];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files of this ending in a folder and below it, sorted.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The programs' own sources and manifests with their paths from the root, each without its tests.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_code = name.ends_with(".rs") && !name.ends_with("tests.rs");
            if path.is_dir() && !OTHERS.contains(&name.as_str()) {
                folders.push(path);
            } else if name == "Cargo.toml" || is_code {
                let from_root = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((from_root, without_tests(&fs::read_to_string(path).unwrap())));
            }
        }
    }
    found
}

fn without_tests(text: &str) -> String {
    let ends = ["#[cfg(test)]", "[dev-dependencies]"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    text[..end.unwrap_or(text.len())].to_owned()
}
