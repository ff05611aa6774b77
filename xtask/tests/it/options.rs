//! A switch of experiments is defined once, for files, the command line and what a result keeps.

use std::fs;

use crate::sources::{root, sources};

/// Where the switches stand.
const DEFINED: &str = "crates/stowplan-spec/src/run_options.rs";

/// Most files that a switch may need, that one included.
const MOST: usize = 5;

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
        let set = format!("{name}: ");
        let sets = |text: &str| text.contains("RunOptions") && text.contains(&set);
        let files = sources
            .iter()
            .filter(|(_, text)| text.contains(&used) || sets(text));
        let files: Vec<&String> = files.map(|(path, _)| path).collect();
        assert!(files.len() > 1, "nothing uses {name}");
        assert!(files.len() <= MOST, "{name}: {files:?}");
    }
}
