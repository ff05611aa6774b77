//! What conversion collects on its way: problems, assumptions, and where everything stands.

use std::collections::{BTreeMap, HashMap};

use stowplan_model::{Distribution, Name};
use stowplan_plan::{Finding, Subject, nearest};

use crate::at::{At, Mark};
use crate::error::{Problem, SpecError};
use crate::kind::KindOr;
use crate::quantity::{Measure, Quantity, Unit};

/// A parameter that nobody published: its value, its range, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumption {
    /// Where it stands in the file, as `kinds.work.filter.iterations`.
    pub path: String,
    /// The value; the mean where it is a distribution.
    pub value: f64,
    /// Least plausible value.
    pub low: f64,
    /// Greatest plausible value.
    pub high: f64,
    /// Unit of the three.
    pub unit: Unit,
    /// Why this value and range.
    pub because: String,
    /// Line in the file.
    pub line: u64,
}

/// Collects while a file is converted.
pub(crate) struct Context {
    file: String,
    problems: Vec<Problem>,
    pub assumptions: Vec<Assumption>,
    /// Values in place of assumed ones, by path.
    values: BTreeMap<String, f64>,
    marks: HashMap<Subject, Mark>,
}

impl Context {
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            problems: Vec::new(),
            assumptions: Vec::new(),
            values: BTreeMap::new(),
            marks: HashMap::new(),
        }
    }

    /// With these values in place of assumed ones.
    pub fn with_values(file: &str, values: &BTreeMap<String, f64>) -> Self {
        Self {
            values: values.clone(),
            ..Self::new(file)
        }
    }

    pub fn problem(&mut self, mark: Mark, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(Problem {
            file: self.file.clone(),
            line: mark.line,
            column: mark.column,
            message: message.into(),
            hint,
        });
    }

    /// Remembers where `subject` stands.
    pub fn mark(&mut self, subject: Subject, mark: Mark) {
        self.marks.insert(subject, mark);
    }

    /// Adds what a check of the converted stack found, each at the place of its subject.
    pub fn findings(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let mut subject = Some(finding.subject);
            let mark = loop {
                match subject {
                    None => break Mark::default(),
                    Some(s) => match self.marks.get(&s) {
                        Some(mark) if mark.line > 0 => break *mark,
                        _ => subject = s.parent(),
                    },
                }
            };
            self.problem(mark, finding.message, finding.hint);
        }
    }

    /// Whether nothing was found so far.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// `Err` with everything found so far in the order of the file, or nothing.
    pub fn finish(&mut self) -> Result<(), SpecError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let mut problems = std::mem::take(&mut self.problems);
        problems.sort_by_key(|p| (p.line, p.column));
        Err(SpecError::Invalid(problems))
    }

    /// The text as a name, or a problem.
    pub fn name(&mut self, text: &At<String>) -> Option<Name> {
        match Name::new(text.value.clone()) {
            Ok(name) => Some(name),
            Err(error) => {
                self.problem(text.mark, error.to_string(), None);
                None
            }
        }
    }

    /// The names among the texts.
    pub fn names(&mut self, texts: &[At<String>]) -> Vec<Name> {
        texts.iter().filter_map(|t| self.name(t)).collect()
    }

    /// The distribution of a quantity; its assumption is noted under `path`, and gives way to a value for it.
    pub fn spread<M: Measure, const SPREAD: bool>(
        &mut self,
        path: &str,
        quantity: &At<Quantity<M, SPREAD>>,
    ) -> Distribution {
        let distribution = quantity.value.value;
        let Some(range) = &quantity.value.assumed else {
            return distribution;
        };
        let mean = distribution.mean();
        self.assumptions.push(Assumption {
            path: path.to_owned(),
            value: mean,
            low: range.low,
            high: range.high,
            unit: M::UNIT,
            because: range.because.clone(),
            line: quantity.mark.line,
        });
        match self.values.get(path) {
            Some(value) if mean > 0.0 => distribution.scaled(value / mean),
            Some(value) => Distribution::Constant(*value),
            None => distribution,
        }
    }

    /// The value of a quantity that must be one value; `default` where left out.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "values are parsed as u64 and given as numbers between two such"
    )]
    pub fn fixed<M: Measure>(
        &mut self,
        path: &str,
        quantity: Option<&At<Quantity<M, false>>>,
        default: u64,
    ) -> u64 {
        quantity.map_or(default, |quantity| {
            self.spread(path, quantity).mean() as u64
        })
    }

    /// The converted value itself, or that of the kind it names; `None` after a problem.
    pub fn kind<T, V: Clone>(
        &mut self,
        what: &str,
        kinds: &HashMap<String, V>,
        at: &At<KindOr<T>>,
        convert: impl FnOnce(&mut Self, &T, Mark) -> V,
    ) -> Option<V> {
        let name = match &at.value {
            KindOr::Here(value) => return Some(convert(self, value, at.mark)),
            KindOr::Named(name) => name,
        };
        let found = kinds.get(name).cloned();
        if found.is_none() {
            self.problem(
                at.mark,
                format!("there is no '{name}' under kinds.{what}"),
                nearest::hint(name, kinds.keys().map(String::as_str)),
            );
        }
        found
    }
}
