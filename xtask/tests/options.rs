//! A switch of experiments is defined once, for files, the command line and what a result keeps.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests unwrap as the tests do"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Where the switches stand.
const DEFINED: &str = "crates/stowplan-spec/src/run_options.rs";

/// Most files that a switch may need, that one included.
const MOST: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Sources of the programs, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let others = [
                "benches",
                "examples",
                "fuzz",
                "node_modules",
                "target",
                "tests",
            ];
            if path.is_dir() && !others.contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let end = text.find("#[cfg(test)]").unwrap_or(text.len());
                found.push((path, text[..end].to_owned()));
            }
        }
    }
    found
}

#[test]
fn a_switch_needs_few_files() {
    let defined = fs::read_to_string(root().join(DEFINED)).unwrap();
    let first = defined.split("pub struct RunOptions {").nth(1).unwrap();
    let fields = first.split('}').next().unwrap().lines();
    let names = fields.filter_map(|line| line.trim().strip_prefix("pub ")?.strip_suffix(": bool,"));
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"keep_traces"), "{names:?}");
    let sources = sources();
    for name in names {
        let used = format!("options.{name}");
        let set = format!("options: RunOptions {{ {name}");
        let files = sources
            .iter()
            .filter(|(_, text)| text.contains(&used) || text.contains(&set));
        let files: Vec<&PathBuf> = files.map(|(path, _)| path).collect();
        assert!(!files.is_empty(), "nothing uses {name}");
        assert!(files.len() < MOST, "{name}: {files:?}");
    }
}
