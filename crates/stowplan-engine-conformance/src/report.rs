//! What came of the cases, as data.

use serde::{Deserialize, Serialize};

use crate::Checked;
use crate::trial::Stop;

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The engine does what the case asks.
    Passed,
    /// It does not; why.
    Failed(String),
    /// It says that it cannot, by this capability.
    Unsupported(String),
}

/// A case and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name of the case.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl CaseResult {
    pub(crate) fn new(name: &str, checked: Checked) -> Self {
        Self {
            name: name.to_owned(),
            outcome: match checked {
                Ok(()) => Outcome::Passed,
                Err(Stop::Unsupported(capability)) => Outcome::Unsupported(capability),
                Err(Stop::Failed(why)) => Outcome::Failed(why),
            },
        }
    }
}

/// All cases of one engine and variant on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Engine.
    pub engine: String,
    /// Variant.
    pub variant: Option<String>,
    /// Host.
    pub host: String,
    /// Cases in the order of the suite.
    pub cases: Vec<CaseResult>,
}

impl Report {
    /// Cases that failed: name and why.
    #[must_use]
    pub fn failures(&self) -> Vec<(&str, &str)> {
        self.cases
            .iter()
            .filter_map(|case| match &case.outcome {
                Outcome::Failed(why) => Some((case.name.as_str(), why.as_str())),
                _ => None,
            })
            .collect()
    }

    /// Lines of the cases that did not pass, with why.
    #[must_use]
    pub fn others(&self) -> Vec<String> {
        let others = self.cases.iter().filter_map(|case| match &case.outcome {
            Outcome::Passed => None,
            Outcome::Failed(why) => Some(format!("{} failed: {why}", case.name)),
            Outcome::Unsupported(what) => Some(format!("{} unsupported({what})", case.name)),
        });
        others.collect()
    }

    /// One line a case, for a committed matrix: name and `passed`, `failed` or `unsupported(CAPABILITY)`.
    #[must_use]
    pub fn matrix(&self) -> String {
        self.cases
            .iter()
            .map(|case| {
                let outcome = match &case.outcome {
                    Outcome::Passed => "passed".to_owned(),
                    Outcome::Failed(_) => "failed".to_owned(),
                    Outcome::Unsupported(capability) => format!("unsupported({capability})"),
                };
                format!("{} {outcome}\n", case.name)
            })
            .collect()
    }

    /// The document of `conformance --json`.
    ///
    /// # Errors
    /// Never in practice: the report has nothing that JSON cannot hold.
    pub fn to_json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Document<'a> {
            schema: &'static str,
            #[serde(flatten)]
            report: &'a Report,
        }
        serde_json::to_string_pretty(&Document {
            schema: "stowplan.conformance/1",
            report: self,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_document_and_a_matrix() {
        let report = Report {
            engine: "bare".to_owned(),
            variant: None,
            host: "h".to_owned(),
            cases: vec![
                CaseResult {
                    name: "life.start".to_owned(),
                    outcome: Outcome::Passed,
                },
                CaseResult {
                    name: "life.pause".to_owned(),
                    outcome: Outcome::Unsupported("pause".to_owned()),
                },
                CaseResult {
                    name: "ends.exit".to_owned(),
                    outcome: Outcome::Failed("no event".to_owned()),
                },
            ],
        };
        assert_eq!(
            report.matrix(),
            "life.start passed\nlife.pause unsupported(pause)\nends.exit failed\n"
        );
        assert_eq!(report.failures(), [("ends.exit", "no event")]);
        assert_eq!(
            report.others(),
            [
                "life.pause unsupported(pause)",
                "ends.exit failed: no event"
            ]
        );
        let text = report.to_json().unwrap();
        assert!(text.starts_with("{\n  \"schema\": \"stowplan.conformance/1\""));
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
