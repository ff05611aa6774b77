//! A crate uses only crates of layers above its own, and its modules do not use each other in circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{files, root};

/// Circles that are still there, each with all its modules. A new one is untangled and not added here.
const CIRCLES: [(&str, &str); 1] = [("stowplan-node", "executor graph")];

/// Modules by name, each with those that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn crates() -> PathBuf {
    root().join("crates")
}

/// Code without comments and without the modules of its tests, which may use whatever they test with.
fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = |line: &&str| line.contains("mod ") && line.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(opens) {
            lines.by_ref().find(|line| *line == "}");
            continue;
        }
        kept += line.split("//").next().unwrap_or_default();
        kept.push('\n');
    }
    kept
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first name of each path that begins with `root`, also of those that stand together in braces.
fn first_names(code: &str, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(root) {
        if code[..at].ends_with(|c| is_in_name(c) || c == ':' || c == '$') {
            continue;
        }
        let rest = &code[at + root.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(rest.chars().take_while(|c| is_in_name(*c)).collect());
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' => begins = depth == 0 || begins,
                c if begins && depth == 0 && is_in_name(c) => {
                    let name = group[at..].chars().take_while(|c| is_in_name(*c));
                    names.push(name.collect());
                    begins = false;
                }
                _ => {}
            }
        }
    }
    names
}

/// What the root of a crate gives other names to, with the module that each is of.
fn re_exports(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else {
            continue;
        };
        let path = path
            .trim_start_matches("crate::")
            .trim_start_matches("self::");
        let names = path
            .split(|c| !is_in_name(c))
            .filter(|name| !name.is_empty());
        let names: Vec<&str> = names.collect();
        if let Some((module, names)) = names.split_first()
            && modules.contains(*module)
        {
            let of = names.iter();
            all.extend(of.map(|name| ((*name).to_owned(), (*module).to_owned())));
        }
    }
    all
}

/// Modules of a crate's root that are not of its tests.
fn modules(root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_of_tests = false;
    for line in root.lines() {
        if line.starts_with("#[cfg(test)]") {
            is_of_tests = true;
        } else if !line.starts_with('#') {
            let name = line
                .split_once("mod ")
                .map(|(_, rest)| rest.trim_end_matches(';'));
            if let Some(name) = name.filter(|_| !is_of_tests && line.ends_with(';')) {
                found.insert(name.to_owned());
            }
            is_of_tests = false;
        }
    }
    found
}

/// Which modules of its root a crate's modules use, those below them counted as theirs.
fn uses(source: &Path) -> Uses {
    let roots = ["lib.rs", "main.rs"].map(|root| source.join(root));
    let roots = roots.iter().filter(|root| root.is_file());
    let roots: Vec<String> = roots
        .map(|root| code(&fs::read_to_string(root).unwrap()))
        .collect();
    let roots = roots.join("\n");
    let modules = modules(&roots);
    let re_exports = re_exports(&roots, &modules);
    let mut uses = Uses::new();
    for file in files(source, "rs") {
        let path = file.strip_prefix(source).unwrap().with_extension("");
        let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let own = parts[0];
        if !modules.contains(own) || parts.iter().any(|part| part.ends_with("tests")) {
            continue;
        }
        let code = code(&fs::read_to_string(&file).unwrap());
        let mut names = first_names(&code, "crate::");
        if matches!(parts[..], [_] | [_, "mod"]) {
            names.extend(first_names(&code, "super::"));
        }
        let used = names
            .iter()
            .filter_map(|name| modules.get(name).or_else(|| re_exports.get(name)));
        let used = used.filter(|name| *name != own).cloned();
        uses.entry(own.to_owned()).or_default().extend(used);
    }
    uses
}

/// Modules that are reached from one.
fn reached<'a>(uses: &'a Uses, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if reached.insert(used.as_str()) {
                next.push(used);
            }
        }
    }
    reached
}

/// Modules that reach each other, in the order of their names.
fn circles(uses: &Uses) -> BTreeSet<String> {
    let mut circles = BTreeSet::new();
    for module in uses.keys() {
        let all = reached(uses, module).into_iter();
        let both: Vec<&str> = all
            .filter(|other| reached(uses, other).contains(&**module))
            .collect();
        if !both.is_empty() {
            circles.insert(both.join(" "));
        }
    }
    circles
}

/// The crates of ARCHITECTURE.md's map, from the uppermost on; `-oci` beside `stowplan-engine-bare` is another engine.
fn map() -> Vec<String> {
    let text = fs::read_to_string(crates().join("../ARCHITECTURE.md")).unwrap();
    let map = text.split("## Code map").nth(1).unwrap();
    let map = map.split("\n## ").next().unwrap();
    let rows = map.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(2));
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let names = quoted.map(|name| match name.strip_prefix('-') {
        Some(engine) => format!("stowplan-engine-{engine}"),
        None => name.to_owned(),
    });
    names.filter(|name| name.starts_with("stowplan")).collect()
}

#[test]
fn a_crate_uses_only_those_above_it_in_the_map() {
    let map = map();
    let mut there: Vec<String> = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let at = map.iter().position(|known| *known == name);
        let at = at.unwrap_or_else(|| panic!("the map does not have {name}"));
        let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
        let used = dependencies.into_iter().flat_map(|all| all.keys());
        for used in used.filter(|used| used.starts_with("stowplan")) {
            assert!(
                map[..at].contains(used),
                "{name} uses {used}, which is not above it"
            );
        }
        there.push(name);
    }
    let gone = map.iter().find(|name| !there.contains(name));
    assert_eq!(gone, None, "the map has a crate that is not there");
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let mut found = BTreeSet::new();
    let mut modules = 0;
    for entry in fs::read_dir(crates()).unwrap() {
        let uses = uses(&entry.as_ref().unwrap().path().join("src"));
        modules += uses.len();
        let name = entry.unwrap().file_name().into_string().unwrap();
        found.extend(
            circles(&uses)
                .into_iter()
                .map(|circle| (name.clone(), circle)),
        );
    }
    assert!(modules > 200, "only {modules} modules were found");
    let known = CIRCLES.map(|(name, circle)| (name.to_owned(), circle.to_owned()));
    let known = BTreeSet::from(known);
    let new: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles of modules that are not in the list: {new:#?}\nin the list, and not there any more: {gone:#?}"
    );
}

#[test]
fn a_circle_is_found_by_whichever_way_a_module_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\npub mod d;\n#[cfg(test)]\nmod helper;\npub use c::{C, More as Other};\n",
    );
    write(
        "a.rs",
        "use crate::{\n    b::{B, c::D},\n    d,\n};\n// crate::c is a comment\n",
    );
    write("b/mod.rs", "use super::Other;\nmod deep;\n");
    write("b/deep.rs", "use super::a;\n");
    write("c.rs", "fn c() -> Option<crate::d::D> { None }\n");
    write(
        "d.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
    );
    write("helper.rs", "use crate::a::A;\n");
    let found = uses(folder.path());
    let of = |module: &str| found[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a"), ["b", "d"]);
    assert_eq!(of("b"), ["c"]);
    assert_eq!(of("c"), ["d"]);
    assert!(of("d").is_empty() && circles(&found).is_empty());
    write("d.rs", "use crate::C as _;\n");
    assert_eq!(circles(&uses(folder.path())), ["c d".to_owned()].into());
    write("b/deep.rs", "use crate::a;\n");
    assert!(circles(&uses(folder.path())).contains("a b"));
}
