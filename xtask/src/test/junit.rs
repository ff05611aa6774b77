//! The outcomes as JUnit's XML, which CI servers read.

use std::fmt::Write as _;
use std::path::Path;

use super::run::Outcome;
use super::told::{Record, WAITED};

/// Writes the file.
pub(super) fn write(path: &Path, outcomes: &[Outcome], records: &[Record]) -> Result<(), String> {
    std::fs::write(path, text(outcomes, records))
        .map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn text(outcomes: &[Outcome], records: &[Record]) -> String {
    let failures = outcomes.iter().filter(|o| o.failure.is_some()).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"stowplan\" tests=\"{}\" failures=\"{failures}\">\n",
        outcomes.len()
    );
    for outcome in outcomes {
        let (class, name) = outcome.id.rsplit_once('/').unwrap_or(("", &outcome.id));
        let _ = write!(
            xml,
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
            escaped(class),
            escaped(name),
            outcome.seconds
        );
        if let Some(said) = &outcome.failure {
            let _ = write!(xml, "<failure>{}</failure>", escaped(said));
        }
        let own = |record: &&Record| record.test == outcome.id && record.kind != WAITED;
        for record in records.iter().filter(own) {
            let message = escaped(&format!("{}: {}", record.kind, record.reason));
            let _ = write!(xml, "<skipped message=\"{message}\"/>");
        }
        xml.push_str("</testcase>\n");
    }
    xml + "</testsuite>\n"
}

/// Text in XML: characters that mean something there are named, and those that may not be there are left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_written_with_what_was_said() {
        let outcome = |id: &str, failure: Option<&str>| Outcome {
            id: id.to_owned(),
            seconds: 1.25,
            failure: failure.map(str::to_owned),
        };
        let record = Record {
            test: "p/it/b::c".to_owned(),
            kind: "skip".to_owned(),
            reason: "no \"root\"".to_owned(),
        };
        let outcomes = [
            outcome("p/a", Some("1 < 2 & \u{1b}[31mred")),
            outcome("p/it/b::c", None),
        ];
        assert_eq!(
            text(&outcomes, &[record]),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuite name=\"stowplan\" tests=\"2\" failures=\"1\">\n  \
             <testcase classname=\"p\" name=\"a\" time=\"1.250\"><failure>1 &lt; 2 &amp; [31mred</failure></testcase>\n  \
             <testcase classname=\"p/it\" name=\"b::c\" time=\"1.250\"><skipped message=\"skip: no &quot;root&quot;\"/></testcase>\n\
             </testsuite>\n"
        );
    }
}
