//! What conversion collects on its way: problems, assumptions, and where everything stands.

use std::collections::{BTreeMap, HashMap};

use stowplan_model::{Distribution, FIRST_LEVEL_BYTES, Name, WorkSpeed};
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

/// Work that a file gives as an execution time, and what it became.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedWork {
    /// Where it stands in the file, as `kinds.work.filter.iterations`.
    pub path: String,
    /// Nanoseconds; the mean where it is a distribution.
    pub ns: f64,
    /// Iterations of the work kernel; the mean where it is a distribution.
    pub iterations: f64,
    /// Nanoseconds that an iteration was taken for.
    pub ns_per_iteration: f64,
    /// Line in the file.
    pub line: u64,
}

/// Without a calibration an iteration is taken for a nanosecond.
const NOMINAL: WorkSpeed = WorkSpeed::everywhere(1.0);

/// Collects while a file is converted.
pub(crate) struct Context {
    file: String,
    problems: Vec<Problem>,
    pub assumptions: Vec<Assumption>,
    pub timed_work: Vec<TimedWork>,
    /// What makes work in time iterations.
    speed: WorkSpeed,
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
            timed_work: Vec::new(),
            speed: NOMINAL,
            values: BTreeMap::new(),
            marks: HashMap::new(),
        }
    }

    /// With these values in place of assumed ones, and work in time at this speed.
    pub fn with_values(
        file: &str,
        values: &BTreeMap<String, f64>,
        speed: Option<&WorkSpeed>,
    ) -> Self {
        Self {
            values: values.clone(),
            speed: speed.cloned().unwrap_or(NOMINAL),
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

    /// The distribution of a quantity; its assumption is noted under `path`, and gives way to a value for it. Work in
    /// time is within the first-level cache.
    pub fn spread<M: Measure, const SPREAD: bool>(
        &mut self,
        path: &str,
        quantity: &At<Quantity<M, SPREAD>>,
    ) -> Distribution {
        self.spread_over(path, quantity, FIRST_LEVEL_BYTES)
    }

    /// As [`Self::spread`], with work in time over so many bytes.
    pub fn spread_over<M: Measure, const SPREAD: bool>(
        &mut self,
        path: &str,
        quantity: &At<Quantity<M, SPREAD>>,
        working_set_bytes: u64,
    ) -> Distribution {
        let (distribution, factor) = self.counted(path, quantity, working_set_bytes);
        let Some(range) = &quantity.value.assumed else {
            return distribution;
        };
        let mean = distribution.mean();
        self.assumptions.push(Assumption {
            path: path.to_owned(),
            value: mean,
            low: range.low * factor,
            high: range.high * factor,
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

    /// What a file gives, with times of work as iterations, and the factor that made it so.
    fn counted<M: Measure, const SPREAD: bool>(
        &mut self,
        path: &str,
        quantity: &At<Quantity<M, SPREAD>>,
        working_set_bytes: u64,
    ) -> (Distribution, f64) {
        let given = quantity.value.value;
        if !quantity.value.in_time {
            return (given, 1.0);
        }
        let ns_per_iteration = self.speed.ns_of(working_set_bytes);
        let factor = ns_per_iteration.recip();
        let counted = given.scaled(factor).rounded();
        self.timed_work.push(TimedWork {
            path: path.to_owned(),
            ns: given.mean(),
            iterations: counted.mean(),
            ns_per_iteration,
            line: quantity.mark.line,
        });
        (counted, factor)
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
