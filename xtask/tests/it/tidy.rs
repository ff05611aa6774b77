//! What a comment or a page cites is there: the document in the repository, and in it the section or heading.
//!
//! A path counts from the root, the citing file's folder or `docs/`; a link's target from the citing file's folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::root;

/// By the end of its name, which programs of the shell do not have.
fn is_text(path: &Path) -> bool {
    let mut ends = "c h md proto py rs sh toml ts yaml".split(' ');
    path.extension().is_none_or(|end| ends.any(|e| end == e))
}

/// Adds the texts of a folder, without what tools have made in it.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && name != ".ci";
        if path.is_dir() {
            if !hidden && !["node_modules", "results", "target"].contains(&name.as_str()) {
                texts(&path, found);
            }
        } else if is_text(&path) {
            found.push(path);
        }
    }
}

/// Whether a document has the section (` §4`) or the heading (`#an-anchor`) that follows its name, if one does.
pub(crate) fn has_section(page: &str, rest: &str) -> bool {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let mut headings = headings.map(|line| line.trim_start_matches('#').trim());
    if let Some(anchor) = rest.strip_prefix('#') {
        // As GitHub makes anchors of headings.
        let kept = |c: &char| c.is_alphanumeric() || *c == '-' || *c == '_';
        let wanted: String = anchor.chars().take_while(kept).collect();
        let of = |heading: &str| heading.to_lowercase().replace(' ', "-");
        return headings.any(|one| of(one).chars().filter(kept).eq(wanted.chars()));
    }
    let rest = rest.trim_start_matches(['`', ')', ',', ' ']);
    rest.strip_prefix('§').is_none_or(|number| {
        let wanted: String = number.chars().take_while(char::is_ascii_digit).collect();
        headings.any(|one| one.starts_with(&format!("{wanted}. ")))
    })
}

/// The citations of a line, each with whether it resolves.
fn citations<'a>(file: &Path, line: &'a str) -> Vec<(&'a str, bool)> {
    let in_path = |c: &char| c.is_ascii_alphanumeric() || "_-./:".contains(*c);
    let mut found = Vec::new();
    for (at, end) in line.match_indices(".md") {
        let rest = &line[at + end.len()..];
        let begin = at - line[..at].chars().rev().take_while(in_path).count();
        let path = &line[begin..at + end.len()];
        let more = rest.starts_with(|c: char| c.is_alphanumeric());
        if begin == at || more || path.contains("://") {
            continue;
        }
        let mut places = vec![file.parent().unwrap().join(path)];
        if !line[..begin].ends_with("](") {
            places.extend([root().join(path), root().join("docs").join(path)]);
        }
        let page = places.iter().find_map(|at| fs::read_to_string(at).ok());
        found.push((path, page.is_some_and(|page| has_section(&page, rest))));
    }
    // A section of a document that goes by a word in capitals and not by its file.
    let words = line
        .match_indices('§')
        .filter_map(|(at, _)| line[..at].split(' ').rfind(|w| !w.is_empty()));
    let capitals = words.filter(|w| w.len() > 3 && w.chars().all(|c| c.is_ascii_uppercase()));
    found.extend(capitals.map(|word| (word, false)));
    found
}

#[test]
fn every_citation_resolves() {
    let (mut files, mut lost, mut resolved) = (Vec::new(), String::new(), 0);
    texts(&root(), &mut files);
    // The examples below resolve to nothing on purpose.
    files.retain(|file| !file.ends_with("xtask/tests/it/tidy.rs"));
    for file in &files {
        let text = String::from_utf8(fs::read(file).unwrap()).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            for (cited, there) in citations(file, line) {
                resolved += usize::from(there);
                if !there {
                    lost += &format!("{}:{}: {cited}\n", file.display(), number + 1);
                }
            }
        }
    }
    assert!(lost.is_empty(), "nothing is where these point:\n{lost}");
    assert!(resolved > 100, "only {resolved} citations were found");
}

/// Files of Rust below the root, with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    texts(&root(), &mut files);
    files.retain(|file| file.extension().is_some_and(|end| end == "rs"));
    let read = |file: PathBuf| (file.clone(), fs::read_to_string(file).unwrap());
    files.into_iter().map(read).collect()
}

/// What a test prints is not shown where it passes: one that has not looked uses `skip!` or `disturbed!`.
#[test]
fn no_test_that_has_not_looked_only_prints_it() {
    let words = ["skipped", "disturbed", "others took"];
    let prints = words.map(|word| format!("println!(\"{word}"));
    for (file, text) in sources() {
        let found = prints.iter().find(|print| text.contains(&***print));
        assert_eq!(found, None, "{}", file.display());
    }
}

/// The runner of the tests does not run examples in comments: rustdoc builds each as a program of its own.
#[test]
fn no_comment_has_an_example_that_nobody_runs() {
    for (file, text) in sources() {
        let mut is_open = false;
        for line in text.lines().map(str::trim_start) {
            let comment = line.strip_prefix("///").or(line.strip_prefix("//!"));
            let Some(kind) = comment.and_then(|text| text.trim_start().strip_prefix("```")) else {
                continue;
            };
            is_open = !is_open;
            let is_code = is_open && !kind.starts_with("text") && !kind.starts_with("yaml");
            assert!(!is_code, "{}: {line}", file.display());
        }
    }
}

#[test]
fn what_points_nowhere_is_found() {
    let file = root().join("docs/glossary.md");
    let found = |line| citations(&file, line).iter().all(|one| one.1);
    assert!(found("// docs/measuring.md §4, `docs/measuring.md` §5."));
    assert!(found("[here](measuring.md#4-definitions), README.md"));
    assert!(found(
        "<https://example.org/a.md>, `*.md`, DDSI-RTPS 2.5 §9.6"
    ));
    assert!(!found("// docs/measuring.md §44"));
    assert!(!found("// docs/nowhere.md §4"));
    assert!(!found("[a link from the root](docs/measuring.md)"));
    assert!(!found("[here](measuring.md#4-definition)"));
    assert!(!found("// MEASURING §4"));
}
