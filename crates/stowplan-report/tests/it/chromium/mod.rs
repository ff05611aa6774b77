//! Pages in a real browser, shared by the tests of pages.
mod session;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use session::{Session, Window};

/// The page makes no request; a browser that tried any would find no proxy.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--proxy-server=127.0.0.1:9",
];

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("STOWPLAN_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).collect::<Vec<_>>();
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

/// The browser; `None`, and a test that says so, without one.
fn found() -> Option<PathBuf> {
    let found = chromium();
    if found.is_none() {
        stowplan_testkit::skip!("no Chromium in PATH (Debian: apt-get install chromium)");
    }
    found
}

/// The page as the browser's document after its script ran, or `None` without a browser.
pub fn opened(page: &Path) -> Option<String> {
    let chromium = found()?;
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(chromium);
    command
        .args(ARGUMENTS)
        .args(["--window-size=1280,2000", "--dump-dom"])
        .arg("--virtual-time-budget=10000")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The tag of the figure with this id.
fn tag<'a>(document: &'a str, id: &str) -> &'a str {
    let at = document.find(&format!("<figure id=\"{id}\""));
    let from = at.unwrap_or_else(|| panic!("no figure '{id}'"));
    let end = document[from..].find('>').unwrap();
    &document[from..from + end]
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let from = tag.find(&format!("{name}=\""))? + name.len() + 2;
    tag[from..].split('"').next()
}

/// Fails the test unless each of these figures has marks and no error.
pub fn assert_figures(document: &str, figures: &[&str]) {
    for id in figures {
        let tag = tag(document, id);
        assert_eq!(attribute(tag, "data-error"), None, "{id}");
        let marks: u32 = attribute(tag, "data-marks").unwrap_or("0").parse().unwrap();
        assert!(marks >= 3, "{id} has {marks} marks");
    }
    // Readable without eyes: a role, a name and a description for every drawing.
    assert_eq!(
        document.matches("role=\"group\"").count(),
        document.matches("aria-describedby=\"reading").count()
    );
}
