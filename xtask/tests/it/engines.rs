//! An engine is named in its own crate and where ARCHITECTURE.md says that one is added, and nowhere else: what is told of it
//! is told by what it says of itself. Tests, benches, and the tools of this repository may name it.

use std::collections::BTreeSet;
use std::fs;

use crate::sources::{root, sources};

/// Names that a place may have.
const NAMES: [&str; 11] = [
    "bare", "cri", "docker", "incus", "kube", "lxc", "lxd", "nspawn", "oci", "podman", "swarm",
];

/// What no engine is: the traits, and what several engines have in common.
const COMMON: [&str; 3] = ["conformance", "daemon", "tool"];

/// Files that may name an engine beside those that add it, each with its reason.
const OTHERS: [&str; 1] = [
    // What the names of older results meant, which is closed.
    "crates/stowplan-results/src/place.rs",
];

/// The programs' sources, and the manifest of the workspace.
fn named() -> Vec<(String, String)> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut all = sources();
    all.push(("Cargo.toml".to_owned(), manifest));
    all
}

/// Crates of engines, by the ends of their names.
fn engines() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names = crates.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_prefix("stowplan-engine-")?.to_owned())
    });
    names
        .filter(|name| !COMMON.contains(&name.as_str()))
        .collect()
}

/// The files that the entry of ARCHITECTURE.md names.
fn places_to_add_one() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let entry = text.split("- **an engine**").nth(1).unwrap();
    let entry = entry.split("\n- **").next().unwrap();
    let quoted = entry.split('`').skip(1).step_by(2);
    let files = quoted.filter(|word| root().join(word).is_file());
    files.map(str::to_owned).collect()
}

#[test]
fn an_engine_is_added_in_the_files_that_architecture_names() {
    let sources = named();
    let mut all = BTreeSet::new();
    for engine in engines() {
        let own = format!("crates/stowplan-engine-{engine}/");
        let (package, module) = (
            format!("stowplan-engine-{engine}"),
            format!("stowplan_engine_{engine}"),
        );
        // `lxc` is no part of `lxcfs`.
        let names = |text: &str| {
            [&package, &module].iter().any(|name| {
                let mut found = text.match_indices(name.as_str());
                found.any(|(at, _)| {
                    let after = text[at + name.len()..].chars().next();
                    after.is_none_or(|c| !c.is_alphanumeric())
                })
            })
        };
        let files = sources
            .iter()
            .filter(|(path, text)| !path.starts_with(&own) && names(text));
        let files: BTreeSet<String> = files.map(|(path, _)| path.clone()).collect();
        assert!(files.len() <= 3, "{engine}: {files:?}");
        all.extend(files);
    }
    assert_eq!(all, places_to_add_one());
}

#[test]
fn no_engine_is_told_by_its_name() {
    let places = places_to_add_one();
    let mut wrong = Vec::new();
    for (path, text) in named() {
        let own = path.starts_with("crates/stowplan-engine-");
        if own || places.contains(&path) || OTHERS.contains(&path.as_str()) {
            continue;
        }
        for name in NAMES {
            let literals = [format!("\"{name}\""), format!("\"{name}:")];
            if literals.iter().any(|literal| text.contains(literal)) {
                wrong.push(format!("{path} has the name '{name}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for other in OTHERS {
        assert!(root().join(other).is_file(), "{other} is not there");
    }
}

#[test]
fn the_example_of_an_engine_is_small() {
    let folder = root().join("crates/stowplan-agent/examples/setsid");
    let files = fs::read_dir(folder).unwrap();
    let lines = files.map(|entry| {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        text.lines().count()
    });
    let lines: usize = lines.sum();
    assert!(lines <= 150, "{lines} lines");
    let told = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(
        told.contains(&format!("An example of {lines} lines")),
        "{lines}"
    );
}
