//! Pages in a real browser, shared by the tests of pages.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// The page as the browser's document after its script ran, or `None` without a browser.
pub fn opened(page: &Path) -> Option<String> {
    let Some(chromium) = chromium() else {
        stowplan_testkit::skip!("no Chromium in PATH (Debian: apt-get install chromium)");
        return None;
    };
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(chromium);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .args(["--window-size=1280,2000", "--dump-dom"])
        // The page makes no request; a browser that tried any would find no proxy.
        .args(["--proxy-server=127.0.0.1:9", "--virtual-time-budget=10000"])
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
        document.matches("role=\"img\"").count(),
        document.matches("aria-describedby=\"reading").count()
    );
}
