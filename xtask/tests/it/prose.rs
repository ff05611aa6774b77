//! Pages for users read easily: few long sentences, a short README, and a table of contents with every page.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{files, root};
use crate::tidy::has_section;

/// Words beyond which a sentence is long.
const LONG: usize = 30;

/// Long sentences that a page may have.
const MOST: usize = 3;

/// Ends of words that do not end a sentence.
const ABBREVIATIONS: [&str; 4] = ["al.", "e.g.", "i.e.", "vs."];

/// The README has fewer lines.
const README_LINES: usize = 120;

/// A line without its link targets, and with each span of code as one word.
fn plain(line: &str) -> String {
    let mut text = String::new();
    for (number, part) in line.split('`').enumerate() {
        text += if number % 2 == 0 { part } else { "code" };
    }
    let mut parts = text.split("](");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown += "]";
        shown += part.split_once(')').map_or("", |(_, after)| after);
    }
    shown
}

/// Paragraphs and items of lists, without headings, tables and code.
fn paragraphs(page: &str) -> Vec<String> {
    let (mut found, mut is_fenced, mut was_blank) = (vec![String::new()], false, true);
    for line in page.lines() {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        let is_indented = line.starts_with("    ") && was_blank;
        let is_item = text.starts_with("- ") || text.starts_with("* ") || is_numbered(text);
        if is_fenced
            || is_fence
            || is_indented
            || text.is_empty()
            || text.starts_with(['#', '|', '<'])
        {
            found.push(String::new());
        } else {
            if is_item {
                found.push(String::new());
            }
            let last = found.last_mut().unwrap();
            last.push_str(if is_item {
                text.split_once(' ').unwrap().1
            } else {
                text
            });
            last.push(' ');
        }
        was_blank = text.is_empty() || is_indented;
    }
    found.retain(|one| !one.is_empty());
    found
}

/// Whether a line begins an item of a numbered list.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

/// The number of words of each sentence of a page, with its first words.
fn sentences(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for paragraph in paragraphs(page) {
        let mut sentence: Vec<&str> = Vec::new();
        let paragraph = plain(&paragraph);
        for word in paragraph.split_whitespace() {
            if word.contains(char::is_alphanumeric) {
                sentence.push(word);
            }
            let bare = word.trim_end_matches(['*', '_', '"', ')', ']']);
            if bare.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&bare) {
                found.push(counted(&sentence));
                sentence.clear();
            }
        }
        found.push(counted(&sentence));
    }
    found.retain(|(words, _)| *words > 0);
    found
}

fn counted(sentence: &[&str]) -> (usize, String) {
    let begin: Vec<&str> = sentence.iter().take(8).copied().collect();
    (sentence.len(), begin.join(" "))
}

/// All pages below `docs/`, as paths from there.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let pages = files(&docs, "md").into_iter();
    let pages = pages.map(|path| path.strip_prefix(&docs).unwrap().to_owned());
    pages.collect()
}

fn page(path: &Path) -> String {
    fs::read_to_string(root().join("docs").join(path)).unwrap()
}

#[test]
fn no_page_has_many_long_sentences() {
    for path in pages().into_iter().chain([PathBuf::from("../README.md")]) {
        let mut long = sentences(&page(&path));
        long.retain(|(words, _)| *words > LONG);
        assert!(long.len() <= MOST, "{}: {long:#?}", path.display());
    }
}

#[test]
fn the_readme_is_short() {
    let lines = page(Path::new("../README.md")).lines().count();
    assert!(lines < README_LINES, "{lines} lines");
}

#[test]
fn every_page_stands_in_the_summary() {
    let summary = page(Path::new("SUMMARY.md"));
    for path in pages() {
        let is_listed = summary.contains(&format!("]({})", path.display()));
        assert!(
            is_listed || path.ends_with("SUMMARY.md"),
            "{}",
            path.display()
        );
    }
}

/// The site has nothing but what is below `docs/`, and no page of the summary itself.
#[test]
fn every_link_of_a_page_leads_to_a_place_of_the_site() {
    let docs = root().join("docs").canonicalize().unwrap();
    let pages = pages();
    for path in pages.iter().filter(|path| !path.ends_with("SUMMARY.md")) {
        let text = page(path);
        let links = text.split("](").skip(1);
        let links = links.filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (target, anchor) = link.find('#').map_or((link, ""), |at| link.split_at(at));
            let file = docs.join(path);
            let file = if target.is_empty() {
                file
            } else {
                file.with_file_name(target)
            };
            let file = file.canonicalize().unwrap_or_default();
            let is_there = file.starts_with(&docs) && !file.ends_with("SUMMARY.md");
            assert!(is_there, "{}: {link}", path.display());
            let has_anchor = anchor.is_empty() || has_section(&page(&file), anchor);
            assert!(has_anchor, "{}: {link}", path.display());
        }
    }
}

#[test]
fn words_of_sentences_are_counted() {
    let counts = |text: &str| -> Vec<usize> { sentences(text).into_iter().map(|s| s.0).collect() };
    assert_eq!(counts("One two three. Four five?\nSix seven"), [3, 2, 2]);
    assert_eq!(counts("One two\nthree.\n\nFour (five.) Six"), [3, 2, 1]);
    assert_eq!(counts("Betz et al. 2024 says 3.5 ms – no more."), [9]);
    assert_eq!(
        counts("Run `cargo test. Now` [at once](https://a.b/c d)."),
        [4]
    );
    assert_eq!(counts("- one two\n- three\n  four\n2. five"), [2, 2, 1]);
    assert_eq!(counts("# A title\n| a | b |\n<!-- none -->\nOne."), [1]);
    assert_eq!(
        counts("One:\n\n    code code\n\nTwo.\n```sh\ncode\n```\n"),
        [1, 1]
    );
}
