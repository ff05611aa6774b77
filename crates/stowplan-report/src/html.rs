//! One HTML file that holds everything it needs.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::ReportError;

const SCRIPT: &str = include_str!("../assets/report.js");
const STYLE: &str = include_str!("../assets/report.css");
/// Licences of what is bundled into the script.
const LICENCES: &str = include_str!("../assets/licences.txt");

/// What a page shows.
pub(crate) struct Content<'a> {
    /// Its heading.
    pub title: &'a str,
    /// The data of its figures, JSON.
    pub data: &'a str,
    /// Version of the program that measured.
    pub version: &'a str,
    /// The command that gives the same as text.
    pub as_text: &'a str,
    /// What stands after it, as HTML.
    pub after: &'a str,
}

/// A page that holds everything it needs.
pub(crate) fn page(content: &Content<'_>) -> String {
    let data = in_script(content.data);
    let title = escape(content.title);
    // Scripts run only if they are this one; styles that figures set on their marks are inline.
    let hash = base64(&Sha256::digest(SCRIPT.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    let licences = escape(LICENCES);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"stowplan {version}\">\n\
         <title>{title} – Stowplan</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"app\"><h1>{title}</h1></div>\n{after}\
         <noscript><p>The figures of this report are drawn by the script in this file, which is switched off. \
         <code>{as_text}</code> gives the same figures as text.</p></noscript>\n\
         <template id=\"licences\"><pre>{licences}</pre></template>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        version = escape(content.version),
        as_text = escape(content.as_text),
        after = content.after,
    )
}

/// Writes a page, beside its place first: a reader never finds half of it.
pub(crate) fn write(page: &str, out: &Path) -> Result<(), ReportError> {
    let mut name = out.as_os_str().to_owned();
    name.push(".new");
    std::fs::write(&name, page)
        .and_then(|()| std::fs::rename(&name, out))
        .map_err(|source| {
            // Half a page is of no use, and a full disk needs the space.
            let _ = std::fs::remove_file(&name);
            ReportError::Write {
                path: out.to_owned(),
                source,
            }
        })
}

/// JSON that cannot end the script element it stands in.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// RFC 4648 base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= chunk.len() {
                let value = bits >> (18 - 6 * digit) & 63;
                text.push(char::from(DIGITS[value as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("report.html");
        std::fs::create_dir(&taken).unwrap();
        let error = write("page", &taken).unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        let left = std::fs::read_dir(folder.path()).unwrap();
        let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["report.html"]);
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(in_script("\"</script>\""), "\"\\u003c/script>\"");
        assert_eq!(escape("<a&\">"), "&lt;a&amp;&quot;&gt;");
    }

    #[test]
    fn the_bundle_cannot_end_its_element() {
        assert!(!SCRIPT.to_ascii_lowercase().contains("</script"));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }
}
